import { refuse } from '#lib/core/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'
import { maskWithdrawalRead, serializeWithdrawal, WithdrawalRead } from '#lib/withdrawals/wire.ts'

export const GET = endpoint({
  method: 'GET',
  operationId: 'getWithdrawal',
  isCompressible: true,
  summary: 'Read a withdrawal',
  description: 'Returns the withdrawal with its current status, by `id` or `external_id`.',
  allow: 'withdrawals:read',
  hasEtag: true,
  response: WithdrawalRead,
  mask: maskWithdrawalRead,
  errorCodes: ['withdrawal_not_found'],
  async handle({ account, mode, params }) {
    const withdrawal = await findWithdrawal(account.id, mode, params.id ?? '')
    if (!withdrawal) throw refuse('withdrawal_not_found')
    return { data: serializeWithdrawal(withdrawal) }
  },
})
