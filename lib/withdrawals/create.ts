import { Prisma } from '#lib/db/client.ts'
import { type AccountRef, accountSql } from '#lib/db/columns.ts'
import { type Once, onceCtes } from '#lib/db/once.ts'
import { queryRows } from '#lib/db/rows.ts'
import { retried } from '#lib/db/transaction.ts'
import { wake } from '#lib/db/wake.ts'
import { databaseFault, TrocoError } from '#lib/errors.ts'
import { gatewayOf } from '#lib/gateway/choose.ts'
import { newId } from '#lib/ids.ts'
import { refuseOverdraft, transferCtes } from '#lib/ledger/transfer.ts'
import type { Mode } from '#lib/mode.ts'
import type { PixKeyType } from '#lib/pix/pix-key.ts'
import { withdrawalAsJson } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

export interface WithdrawalOrder {
  amount: number
  pixKeyType: PixKeyType
  /** As the merchant wrote it, and as the bank's directory wants it. */
  pixKey: string
  dictKey: string
  webhookUrl?: string
  externalId?: string
  /** When the books say it was asked for; now, but for the demo world's past. */
  bookedAt?: Date
}

/**
 * Writes the withdrawal and holds its amount in one statement, before anybody is asked to send
 * it: a crash leaves both or neither, and a balance that is too small refuses both.
 */
export async function createWithdrawal(
  account: AccountRef,
  mode: Mode,
  order: WithdrawalOrder,
  once?: Once,
): Promise<WithdrawalRow> {
  if (gatewayOf(mode).isDownFor?.(order.dictKey)) {
    throw new TrocoError('service_unavailable', 'Service unavailable')
  }
  const id = once?.id ?? newId()
  const bookedAt = order.bookedAt ?? null
  const [row] = await retried(() =>
    queryRows<WithdrawalRow>(Prisma.sql`
      WITH ${onceCtes(once)} made AS (
        INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key,
          dict_key, webhook_url, external_id, due_at, created_at)
        VALUES (${accountSql(account)}, ${id}::uuid, ${mode}, 'pending', ${order.amount}::bigint,
          ${order.pixKeyType}, ${order.pixKey}, ${order.dictKey}, ${order.webhookUrl ?? null},
          ${order.externalId ?? null}, now(), COALESCE(${bookedAt}::timestamptz, now()))
        RETURNING *
      ), source AS (
        SELECT account_id, mode, id, amount, ${bookedAt}::timestamptz AS booked_at FROM made
      ), ${transferCtes('withdrawal_held', 'source')}
      SELECT ${withdrawalAsJson}::text AS json FROM made w`),
  ).catch(refuseTaken)
  if (!row) throw new Error('The withdrawal was not written')
  wake('withdrawals')
  return row
}

function refuseTaken(error: unknown): never {
  if (databaseFault(error).constraint === 'withdrawals_account_id_mode_external_id_key') {
    throw new TrocoError('external_id_used', 'external_id already used')
  }
  return refuseOverdraft(error)
}
