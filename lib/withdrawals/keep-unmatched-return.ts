import type { PayoutReturn } from '#lib/banks/lists.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, retryOnConflict, type Tx } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { keepUnmatchedSql } from '#lib/differences/unmatched.ts'

/** A withdrawal, or the connection of a payout that is none of ours. */
type Origin = { accountId: string; withdrawalId: string } | { connectionId: string; mode: Mode }

/**
 * Moves a return to `unmatched` of the operator, with a difference, if it belongs to no withdrawal or
 * is more than is left of it. Called twice, or for a return that was credited, it does nothing.
 */
export async function keepUnmatchedReturn(
  origin: Origin,
  payoutReturn: PayoutReturn,
  tx?: Tx,
): Promise<void> {
  const statement = keepUnmatchedSql({ strays: strayReturnSql(origin, payoutReturn) })
  await (tx ? queryRows(statement, tx) : retryOnConflict(() => queryRows(statement)))
}

function strayReturnSql(
  origin: Origin,
  { id: returnId, amount, returnedAt }: PayoutReturn,
): Prisma.Sql {
  const payment = Prisma.sql`${newRoutableId(OPERATOR_ACCOUNT_ID)}::uuid AS id,
    ${newRoutableId(OPERATOR_ACCOUNT_ID)}::uuid AS item_id, ${returnId}::text AS end_to_end_id,
    NULL::text AS txid, ${amount}::bigint AS amount, ${returnedAt}::timestamptz AS paid_at,
    NULL::uuid AS charge_account_id, NULL::uuid AS charge_id`
  if ('connectionId' in origin) {
    return Prisma.sql`
      SELECT ${payment}, ${origin.mode}::text AS mode, ${origin.connectionId}::uuid AS connection_id,
        'return_unmatched' AS reason, '{}'::jsonb AS facts`
  }
  return Prisma.sql`
    SELECT ${payment}, w.mode, w.connection_id, 'return_above_payout' AS reason,
      jsonb_build_object('account_id', w.account_id, 'withdrawal_id', w.id, 'sent_amount',
        CASE w.status WHEN 'approved' THEN w.amount ELSE 0 END,
        'returned_amount', w.returned_amount) AS facts
    FROM withdrawals w
    WHERE w.account_id = ${origin.accountId}::uuid AND w.id = ${origin.withdrawalId}::uuid
      -- A pending one is settled first; then its returns are reported again.
      AND w.status <> 'pending'
      AND (w.status = 'rejected' OR w.returned_amount + ${amount}::bigint > w.amount)`
}
