import type { AccountRef } from '#lib/base/db/columns.ts'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import { wake } from '#lib/base/db/wake.ts'
import { refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import { insertWithdrawal } from '#lib/rooms/withdrawals/insert.ts'
import type { WithdrawalOrder, WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { connectionIn, gatewayOfConnection } from '#lib/services/gateway/served.ts'

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
  const connectionId = connectionIn(mode, order.connectionId)
  if (!connectionId) throw refuse('withdrawals_disabled')
  const gateway = await gatewayOfConnection(connectionId)
  const { outcome } = await gateway.checkPayout(order.dictKey)
  if (outcome !== 'ok') throw refuse('service_unavailable')
  const row = await insertWithdrawal(account, mode, order, once)
  wake('orders')
  return row
}
