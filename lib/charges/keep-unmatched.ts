import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { chargeColumns } from '#lib/charges/queries.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, columnsOf, queryRows, utcText } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { keepUnmatchedSql } from '#lib/differences/unmatched.ts'
import { recordEvent } from '#lib/ledger/book.ts'

/** A payment that was not credited: of a charge, or of none that is known at the connection. */
export type StrayPayment = { payment: ReceivedPayment } & (
  | { accountId: string; chargeId: string }
  | { connectionId: string; mode: Mode }
)

interface Kept {
  id: string
  reason: string
  /** Of the charge; null if the payment is of none. */
  accountId: string | null
}

/**
 * Moves payments to `unmatched` of the operator, with a difference each, and records the event of those of another
 * amount than their charge's. Leaves those that are booked, and those that may still pay their charge. Locks the
 * charges, so that none of them is credited with the payment meanwhile. Called twice, it does nothing.
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
  const kept = await transaction(async tx => {
    const rows = await queryRows<Kept>(statement, tx)
    await recordMismatches(
      tx,
      rows.filter(({ reason }) => reason === 'payment_amount'),
    )
    return rows
  })
  if (kept.some(({ reason }) => reason === 'payment_amount')) wake('deliveries')
  return kept
}

/** The event sequences are locked last. The subject is the charge, so the events of one come in order. */
async function recordMismatches(tx: Tx, kept: Kept[]): Promise<void> {
  if (kept.length === 0) return
  const ids = kept.map(({ id }) => id)
  const eventIds = kept.map(({ accountId }) => newRoutableId(accountId ?? OPERATOR_ACCOUNT_ID))
  const statement = recordEvent({
    ctes: {
      mismatched: Prisma.sql`
        SELECT c.*, k.event_id, json_build_object('end_to_end_id', p.end_to_end_id, 'amount', p.amount,
          'paid_at', ${utcText('p.paid_at')}) AS payment
        FROM unnest(${ids}::uuid[], ${eventIds}::uuid[]) AS k (id, event_id)
        JOIN unmatched_payments p ON p.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND p.id = k.id
        JOIN charges c ON c.account_id = p.charge_account_id AND c.id = p.charge_id`,
    },
    source: {
      from: Prisma.sql`mismatched c`,
      columns: {
        ...columnsOf('c', ['account_id', 'mode', 'webhook_url', 'webhook_host', 'event_id']),
        subject_id: Prisma.sql`c.id`,
        resource: asJson(Prisma.sql`${chargeColumns}, c.payment`),
        trace: Prisma.sql`${currentCause()}::text`,
      },
    },
    event: 'transaction.amount_mismatch',
    returning: Prisma.sql`json_build_object('id', c.id)`,
  })
  await queryRows(statement, tx)
}
