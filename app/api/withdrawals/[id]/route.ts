import { refuse } from '#lib/base/errors.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { findWithdrawal } from '#lib/rooms/withdrawals/queries.ts'
import { createWithdrawalReceiptUrl } from '#lib/rooms/withdrawals/receipt-url.ts'
import { WithdrawalRead, withdrawalSerializerFor } from '#lib/rooms/withdrawals/wire.ts'

export const GET = endpoint({
  method: 'GET',
  summary: 'Read a withdrawal',
  description: 'Returns the current state of the withdrawal, by `id` or `external_id`.',
  allow: 'withdrawals:read',
  response: WithdrawalRead,
  errorCodes: ['withdrawal_not_found'],
  allowsRememberedCaller: true,
  async handle({ account, mode, params, showsDocuments }) {
    const withdrawal = await findWithdrawal(account.ref, mode, params.id ?? '')
    if (!withdrawal) throw refuse('withdrawal_not_found')
    const receipt_url = await createWithdrawalReceiptUrl(account.id, withdrawal)
    const data = withdrawalSerializerFor(showsDocuments)(withdrawal)
    return { data: { ...data, ...(receipt_url && { receipt_url }) } }
  },
})
