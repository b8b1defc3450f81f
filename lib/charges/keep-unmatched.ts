import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, retryOnConflict } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { keepUnmatchedSql } from '#lib/differences/unmatched.ts'

/** A payment that was not credited: of a charge, or of none that is known at the connection. */
export type StrayPayment = { payment: ReceivedPayment } & (
  | { accountId: string; chargeId: string }
  | { connectionId: string; mode: Mode }
)

/**
 * Moves payments to `unmatched` of the operator, with a difference each. Leaves those that are booked,
 * and those that may still pay their charge. Locks the charges, so that none of them is credited with
 * the payment meanwhile. Called twice, it does nothing.
 */
export async function keepUnmatched(strays: StrayPayment[]): Promise<{ id: string }[]> {
  const list = <Value>(pick: (stray: StrayPayment) => Value) => strays.map(pick)
  const ofCharge = (stray: StrayPayment) => ('chargeId' in stray ? stray : null)
  const ofNone = (stray: StrayPayment) => ('connectionId' in stray ? stray : null)
  const statement = keepUnmatchedSql({
    payments: Prisma.sql`
      SELECT * FROM unnest(${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[], ${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[],
          ${list(({ payment }) => payment.endToEndId)}::text[], ${list(({ payment }) => payment.txid)}::text[],
          ${list(({ payment }) => payment.amount)}::bigint[],
          ${list(({ payment }) => payment.paidAt)}::timestamptz[],
          ${list(stray => ofCharge(stray)?.accountId ?? null)}::uuid[],
          ${list(stray => ofCharge(stray)?.chargeId ?? null)}::uuid[],
          ${list(stray => ofNone(stray)?.connectionId ?? null)}::uuid[],
          ${list(stray => ofNone(stray)?.mode ?? null)}::text[])
        AS p (id, item_id, end_to_end_id, txid, amount, paid_at, charge_account_id, charge_id,
          connection_id, mode)`,
    charged: Prisma.sql`
      SELECT c.* FROM charges c
      WHERE (c.account_id, c.id) IN (SELECT charge_account_id, charge_id FROM payments)
      ORDER BY c.account_id, c.id FOR UPDATE`,
    strays: Prisma.sql`
      SELECT p.id, p.item_id, COALESCE(c.mode, p.mode) AS mode,
        COALESCE(c.connection_id, p.connection_id) AS connection_id, p.end_to_end_id, p.txid, p.amount,
        p.paid_at, p.charge_account_id, p.charge_id, jsonb_build_object('account_id', c.account_id,
          'transaction_id', c.id, 'expected_amount', c.amount) AS facts,
        CASE WHEN c.id IS NULL THEN 'payment_unmatched' WHEN c.status = 'paid' THEN 'payment_repeated'
          ELSE 'payment_amount' END AS reason
      FROM payments p
      LEFT JOIN charged c ON c.account_id = p.charge_account_id AND c.id = p.charge_id
      WHERE (p.charge_id IS NULL OR c.status = 'paid' OR c.amount <> p.amount)
        -- Credited before payments were claimed; the locked row is current.
        AND c.end_to_end_id IS DISTINCT FROM p.end_to_end_id
        AND NOT EXISTS (SELECT FROM charges b WHERE b.end_to_end_id = p.end_to_end_id)`,
  })
  return retryOnConflict(() => queryRows<{ id: string }>(statement))
}
