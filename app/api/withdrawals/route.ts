import { listQuery } from '#lib/core/fields.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { listWithdrawals, readCreatedWithdrawal } from '#lib/withdrawals/queries.ts'
import {
  listIgnoredOfWithdrawal,
  toWithdrawalOrder,
  type WithdrawalRow,
  withdrawalRequest,
} from '#lib/withdrawals/schema.ts'
import { WITHDRAWAL_STATUSES } from '#lib/withdrawals/states.ts'
import {
  createdWithdrawalToWire,
  maskWithdrawal,
  serializeWithdrawal,
  WithdrawalCreated,
  WithdrawalPage,
} from '#lib/withdrawals/wire.ts'

export const POST = endpoint({
  method: 'POST',
  operationId: 'createWithdrawal',
  effect: 'withdrawal',
  summary: 'Create a withdrawal',
  description:
    'Deducts the amount from the balance and sends it to the key. The amount is held before the bank is called. If the balance is too small, nothing changes.',
  allow: 'withdrawals:write',
  proof: 'required',
  body: withdrawalRequest,
  ignoresQuery: true,
  listIgnoredFields: listIgnoredOfWithdrawal,
  responseHeaders: ['X-Ignored-Fields'],
  response: WithdrawalCreated,
  errorCodes: [
    'withdrawals_disabled',
    'limit_exceeded',
    'insufficient_balance',
    'dispute_not_covered',
    'external_id_used',
  ],
  idempotency: {
    retentionS: 30 * 86_400,
    hasDocument: ({ owner_doc }) => Boolean(owner_doc),
    rebuild: async ({ accountId, mode }, id) =>
      createdResponse(await readCreatedWithdrawal(accountId, mode, id)),
  },
  async handle({ account, mode, body, userId: by, responsibleId, formerIssuers, once }) {
    const connectionId = account.payingConnectionId
    const requesters = { requestedBy: responsibleId, formerIssuers }
    const order = { ...toWithdrawalOrder(mode, body), by, ...requesters, connectionId }
    return createdResponse(await createWithdrawal(account.authority, mode, order, once))
  },
})

const SEARCH_DESCRIPTION =
  'Search text: a complete Pix key or id, part of the reference, an amount (`446,54`) or at least four characters of the end of an end-to-end ID.'

function createdResponse(withdrawal: WithdrawalRow) {
  return { message: 'Withdrawal created', data: createdWithdrawalToWire(withdrawal) }
}

export const GET = endpoint({
  method: 'GET',
  operationId: 'listWithdrawals',
  isCompressible: true,
  summary: 'List withdrawals',
  description: "Returns the withdrawals of the account in the token's mode, newest first.",
  allow: 'withdrawals:read',
  query: listQuery(WITHDRAWAL_STATUSES, SEARCH_DESCRIPTION),
  response: WithdrawalPage,
  mask: maskWithdrawal,
  async handle({ account, mode, query, isViewing }) {
    const page = await listWithdrawals(account.id, mode, query, { isViewing })
    return pageResult(page, serializeWithdrawal)
  },
})
