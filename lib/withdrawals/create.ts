import type { AccountRef } from '#lib/db/columns.ts'
import type { Once } from '#lib/db/once.ts'
import { wake } from '#lib/db/wake.ts'
import { TrocoError } from '#lib/errors.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import type { Mode } from '#lib/mode.ts'
import { insertWithdrawal, type WithdrawalOrder } from '#lib/withdrawals/insert.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

/** Holds the amount before anybody is asked to send it, and lets the worker know. */
export async function createWithdrawal(
  account: AccountRef,
  mode: Mode,
  order: WithdrawalOrder,
  once?: Once,
): Promise<WithdrawalRow> {
  if (gatewayOf(mode).isDownFor?.(order.dictKey)) {
    throw new TrocoError('service_unavailable', 'Service unavailable')
  }
  const row = await insertWithdrawal(account, mode, order, once)
  wake('withdrawals')
  return row
}
