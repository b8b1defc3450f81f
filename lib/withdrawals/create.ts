import { connectionIn, gatewayOfConnection } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import type { AccountRef } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { insertWithdrawal } from '#lib/withdrawals/insert.ts'
import type { WithdrawalOrder, WithdrawalRow } from '#lib/withdrawals/schema.ts'

/**
 * Creates a withdrawal: holds the amount before the bank is called, and wakes the worker. An amount
 * above the balance is refused by `insertWithdrawal`.
 */
export async function createWithdrawal(
  account: AccountRef,
  mode: Mode,
  order: WithdrawalOrder,
  once?: IdempotentRequest,
): Promise<WithdrawalRow> {
  const connectionId = order.connectionId ?? connectionIn(mode, null)
  if (!connectionId) throw refuse('withdrawals_disabled')
  const gateway = await gatewayOfConnection(connectionId)
  const { outcome } = await gateway.checkPayout(order.dictKey)
  if (outcome !== 'ok') throw refuse('service_unavailable')
  const row = await insertWithdrawal(account, mode, order, once)
  wake('orders')
  return row
}
