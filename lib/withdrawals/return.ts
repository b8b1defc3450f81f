import type { PayoutReturn } from '#lib/banks/lists.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { claimPaymentsSql } from '#lib/differences/unmatched.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { lockBooks } from '#lib/ledger/owed.ts'
import { lockOrder } from '#lib/orders/order.ts'
import { keepUnmatchedReturn } from '#lib/withdrawals/keep-unmatched-return.ts'
import { withdrawalEventColumns } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

/**
 * Credits what came back of an approved withdrawal, once per id of the return. A return above the amount
 * that was sent moves to `unmatched` of the operator as a whole, with a difference. Returns null if
 * nothing was credited. After a crash, a repeated report books what is missing.
 */
export async function returnPayout(
  withdrawal: { accountId: string; withdrawalId: string },
  payoutReturn: PayoutReturn,
  outerTx?: Tx,
): Promise<WithdrawalRow | null> {
  const work = async (tx: Tx) => {
    await lockWithdrawal(tx, withdrawal)
    const [row] = await queryRows<WithdrawalRow>(creditSql(withdrawal, payoutReturn), tx)
    if (!row) await keepUnmatchedReturn(withdrawal, payoutReturn, tx)
    return row ?? null
  }
  if (outerTx) return work(outerTx)
  const row = await transaction(work)
  if (row) wake('deliveries')
  return row
}

/**
 * Credits the rest of a withdrawal whose payout the bank reports as failed after it had reported it as done. The id of
 * this return is that of the payment. Of one that people ended as sent, the report is a contradiction, for people.
 */
export async function returnFailedPayout(
  withdrawal: Parameters<typeof returnPayout>[0],
): Promise<WithdrawalRow | null> {
  const { accountId, withdrawalId } = withdrawal
  const [failed] = await db().$queryRaw<{ id: string; amount: number }[]>`
    SELECT w.end_to_end_id AS id, (w.amount - w.returned_amount)::float8 AS amount
    FROM withdrawals w JOIN bank_orders o USING (account_id, id)
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${withdrawalId}::uuid AND w.status = 'approved'
      AND w.returned_amount < w.amount AND w.end_to_end_id IS NOT NULL AND o.ended_at IS NULL`
  return failed ? returnPayout(withdrawal, { ...failed, returnedAt: new Date() }) : null
}

/** Locks the order of a withdrawal, then the books of its account, before a transaction moves its money. */
export async function lockWithdrawal(
  tx: Tx,
  { accountId, withdrawalId: id }: { accountId: string; withdrawalId: string },
): Promise<void> {
  const mode = await lockOrder(tx, { accountId, id })
  if (mode) await lockBooks(tx, accountId, mode)
}

function creditSql(
  { accountId, withdrawalId }: Parameters<typeof returnPayout>[0],
  { id: returnId, amount, returnedAt }: PayoutReturn,
): Prisma.Sql {
  return bookMovement({
    ctes: {
      locked: Prisma.sql`
        SELECT w.account_id, ${newRoutableId(accountId)}::uuid AS id, w.connection_id,
          ${returnId}::text AS end_to_end_id
        FROM withdrawals w
        WHERE w.account_id = ${accountId}::uuid AND w.id = ${withdrawalId}::uuid
          AND w.status = 'approved' AND w.returned_amount + ${amount}::bigint <= w.amount
        FOR UPDATE`,
      claimed: claimPaymentsSql('locked'),
      returned: Prisma.sql`
        INSERT INTO payout_returns (account_id, id, withdrawal_id, connection_id, return_id, amount,
          returned_at)
        SELECT account_id, id, ${withdrawalId}::uuid, connection_id, end_to_end_id, ${amount}::bigint,
          ${returnedAt}::timestamptz
        FROM locked JOIN claimed USING (account_id, id)
        RETURNING account_id, id, withdrawal_id, amount`,
      changed: Prisma.sql`
        UPDATE withdrawals w SET returned_amount = w.returned_amount + r.amount, updated_at = now()
        FROM returned r WHERE w.account_id = r.account_id AND w.id = r.withdrawal_id
        RETURNING w.*`,
    },
    source: {
      from: Prisma.sql`changed w JOIN returned r USING (account_id)`,
      columns: {
        ...withdrawalEventColumns,
        ...columnsOf('r', ['id', 'amount']),
        ...columnsOf('w', ['connection_id']),
        event_id: Prisma.sql`${newRoutableId(accountId)}::uuid`,
      },
    },
    movement: 'payout_returned',
    event: 'withdrawal.returned',
  })
}
