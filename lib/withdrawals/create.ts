import { db } from '#lib/db/client.ts'
import { retried } from '#lib/db/transaction.ts'
import { newId } from '#lib/ids.ts'
import { refuseOverdraft, transferCtes } from '#lib/ledger/transfer.ts'
import type { Mode } from '#lib/mode.ts'
import type { PixKeyType } from '#lib/pix/pix-key.ts'
import { withdrawalColumns } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

export interface WithdrawalOrder {
  amount: number
  pixKeyType: PixKeyType
  /** As the merchant wrote it, and as the bank's directory wants it. */
  pixKey: string
  dictKey: string
  /** When the books say it was asked for; now, but for the demo world's past. */
  bookedAt?: Date
}

/**
 * Writes the withdrawal and holds its amount in one statement, before anybody is asked to send
 * it: a crash leaves both or neither, and a balance that is too small refuses both.
 */
export async function createWithdrawal(
  accountId: string,
  mode: Mode,
  order: WithdrawalOrder,
): Promise<WithdrawalRow> {
  const id = newId()
  const bookedAt = order.bookedAt ?? null
  const [row] = await retried(
    () => db().$queryRaw<WithdrawalRow[]>`
      WITH made AS (
        INSERT INTO withdrawals
          (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key, due_at, created_at)
        VALUES (${accountId}::uuid, ${id}::uuid, ${mode}, 'pending', ${order.amount}::bigint,
          ${order.pixKeyType}, ${order.pixKey}, ${order.dictKey}, now(),
          COALESCE(${bookedAt}::timestamptz, now()))
        RETURNING *
      ), source AS (
        SELECT account_id, mode, id, amount, ${bookedAt}::timestamptz AS booked_at FROM made
      ), ${transferCtes('withdrawal_held', 'source')}
      SELECT ${withdrawalColumns} FROM made w`,
  ).catch(refuseOverdraft)
  if (!row) throw new Error('The withdrawal was not written')
  return row
}
