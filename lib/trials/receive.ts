import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { columnsOf } from '#lib/db/statement.ts'
import { retryOnConflict } from '#lib/db/transaction.ts'
import { claimPaymentsSql } from '#lib/differences/unmatched.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { insertOrderSql } from '#lib/orders/order.ts'

/** A payment as a bank names it. */
export interface TrialPayment {
  endToEndId: string
  amount: number
  paidAt: Date
  txid: string | null
}

const SUBJECT_ID = /^[0-9a-f]{32}$/

/** Ids of payments: booked now, or of a trial that waits for them at another connection. */
interface TrialPayments {
  booked: Set<string>
  elsewhere: Set<string>
}

/**
 * Books payments of trials of these connections to the operator, each once: the first payment of a trial that
 * waits for it. What is paid with another amount, again, or after the end of the trial is none, and left to
 * the caller.
 */
export async function receiveTrialPayments(
  connectionIds: string[],
  payments: TrialPayment[],
): Promise<TrialPayments> {
  const waiting = await findWaitingTrials(payments)
  const [booked, elsewhere] = [new Set<string>(), new Set<string>()]
  for (const payment of payments) {
    const connectionId = waiting.get(payment.txid ?? '')
    if (connectionId === undefined) continue
    const { endToEndId } = payment
    if (!connectionIds.includes(connectionId)) elsewhere.add(endToEndId)
    else if (await receiveTrialPayment(connectionIds, payment)) booked.add(endToEndId)
  }
  return { booked, elsewhere }
}

/**
 * Most payments are of charges: of a whole page, one look-up finds those of trials. Returns the connections
 * by txid.
 */
async function findWaitingTrials(payments: TrialPayment[]): Promise<Map<string, string>> {
  const txids = payments.flatMap(({ txid }) => (txid && SUBJECT_ID.test(txid) ? [txid] : []))
  if (txids.length === 0) return new Map()
  const trials = await db().$queryRaw<{ txid: string; connectionId: string }[]>`
    SELECT replace(t.id::text, '-', '') AS txid, t.connection_id AS "connectionId" FROM connection_trials t
    WHERE t.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND t.id = ANY(${txids}::uuid[])
      AND t.status IN ('opening', 'open')`
  return new Map(trials.map(({ txid, connectionId }) => [txid, connectionId]))
}

async function receiveTrialPayment(
  connectionIds: string[],
  { txid, endToEndId, amount, paidAt }: TrialPayment,
): Promise<boolean> {
  const statement = bookMovement({
    ctes: {
      locked: Prisma.sql`
        SELECT t.account_id, t.id, t.connection_id, ${endToEndId}::text AS end_to_end_id
        FROM connection_trials t
        WHERE t.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND t.id = ${txid}::uuid
          AND t.status IN ('opening', 'open') AND t.amount = ${amount}::bigint
          AND t.connection_id = ANY(${connectionIds}::uuid[])
        FOR UPDATE`,
      claimed: claimPaymentsSql('locked'),
      paid: Prisma.sql`
        UPDATE connection_trials t SET status = 'paid', end_to_end_id = ${endToEndId}, problem = NULL, problems = NULL,
          paid_at = ${paidAt}::timestamptz, received_at = now(), refund_status = 'pending',
          due_at = CASE WHEN t.lease IS NULL THEN now() ELSE t.due_at END
        FROM claimed k WHERE t.account_id = k.account_id AND t.id = k.id
          AND t.status IN ('opening', 'open')
        RETURNING t.*`,
      ordered: insertOrderSql(
        ['trial', 'refund'],
        Prisma.sql`(SELECT account_id, refund_id AS id, mode, connection_id, amount, end_to_end_id FROM paid) s`,
        { target: Prisma.sql`s.end_to_end_id` },
      ),
    },
    source: {
      from: Prisma.sql`paid t`,
      columns: columnsOf('t', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
    },
    movement: 'trial_received',
    returning: Prisma.sql`json_build_object('id', t.id)`,
  })
  return (await retryOnConflict(() => queryRows(statement))).length > 0
}

/** Of ids of the connection's notices, notes those about the payment of a trial and makes the trial due. */
export async function noteTrialNotices(
  connectionId: string,
  kind: 'charge' | 'payout' | 'refund' | 'payment',
  ids: string[],
): Promise<void> {
  const isNamed =
    kind === 'payment'
      ? Prisma.sql`t.end_to_end_id = ANY(${ids}::text[])`
      : Prisma.sql`${ID_COLUMNS[kind]} = ANY(${ids.filter(id => SUBJECT_ID.test(id))}::uuid[])`
  const isOfPayment = kind === 'charge' || kind === 'payment'
  await db().$executeRaw`
    UPDATE connection_trials t SET due_at = CASE WHEN t.lease IS NULL THEN now() ELSE t.due_at END,
      noticed_at = CASE WHEN ${isOfPayment}::boolean THEN COALESCE(t.noticed_at, now())
        ELSE t.noticed_at END
    WHERE t.connection_id = ${connectionId}::uuid AND t.ended_at IS NULL AND ${isNamed}`
}

const ID_COLUMNS = {
  charge: Prisma.raw('t.id'),
  payout: Prisma.raw('t.payout_id'),
  refund: Prisma.raw('t.refund_id'),
} as const
