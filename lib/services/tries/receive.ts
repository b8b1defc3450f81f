import { db, Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/base/ids.ts'
import { bookMovement } from '#lib/services/ledger/book.ts'
import { claimPaymentsSql } from '#lib/services/operator/unmatched.ts'
import { insertOrderSql } from '#lib/services/orders/order.ts'

/** A payment as a bank names it. */
export interface TryPayment {
  endToEndId: string
  amount: number
  paidAt: Date
  txid: string | null
}

const SUBJECT_ID = /^[0-9a-f]{32}$/

/** Ids of payments: booked now, or of a try that waits for them at another connection. */
interface TryPayments {
  booked: Set<string>
  elsewhere: Set<string>
}

/**
 * Books payments of tries of these connections to the operator, each once: the first payment of a try that
 * waits for it. What is paid with another amount, again, or after the end of the try is none, and left to
 * the caller.
 */
export async function receiveTryPayments(
  connectionIds: string[],
  payments: TryPayment[],
): Promise<TryPayments> {
  const waiting = await findWaitingTries(payments)
  const [booked, elsewhere] = [new Set<string>(), new Set<string>()]
  for (const payment of payments) {
    const connectionId = waiting.get(payment.txid ?? '')
    if (connectionId === undefined) continue
    const { endToEndId } = payment
    if (!connectionIds.includes(connectionId)) elsewhere.add(endToEndId)
    else if (await receiveTryPayment(connectionIds, payment)) booked.add(endToEndId)
  }
  return { booked, elsewhere }
}

/**
 * Most payments are of charges: of a whole page, one look-up finds those of tries. Returns the connections
 * by txid.
 */
async function findWaitingTries(payments: TryPayment[]): Promise<Map<string, string>> {
  const txids = payments.flatMap(({ txid }) => (txid && SUBJECT_ID.test(txid) ? [txid] : []))
  if (txids.length === 0) return new Map()
  const tries = await db().$queryRaw<{ txid: string; connectionId: string }[]>`
    SELECT replace(t.id::text, '-', '') AS txid, t.connection_id AS "connectionId" FROM bank_tries t
    WHERE t.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND t.id = ANY(${txids}::uuid[])
      AND t.status IN ('opening', 'open')`
  return new Map(tries.map(({ txid, connectionId }) => [txid, connectionId]))
}

async function receiveTryPayment(
  connectionIds: string[],
  { txid, endToEndId, amount, paidAt }: TryPayment,
): Promise<boolean> {
  const statement = bookMovement({
    ctes: {
      locked: Prisma.sql`
        SELECT t.account_id, t.id, t.connection_id, ${endToEndId}::text AS end_to_end_id
        FROM bank_tries t
        WHERE t.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND t.id = ${txid}::uuid
          AND t.status IN ('opening', 'open') AND t.amount = ${amount}::bigint
          AND t.connection_id = ANY(${connectionIds}::uuid[])
        FOR UPDATE`,
      claimed: claimPaymentsSql('locked'),
      paid: Prisma.sql`
        UPDATE bank_tries t SET status = 'paid', end_to_end_id = ${endToEndId}, problem = NULL, problems = NULL,
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
    movement: 'try_received',
    returning: Prisma.sql`json_build_object('id', t.id)`,
  })
  return (await retryOnConflict(() => queryRows(statement))).length > 0
}

/** Of ids of the connection's notices, notes those about the payment of a try and makes the try due. */
export async function noteTryNotices(
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
    UPDATE bank_tries t SET due_at = CASE WHEN t.lease IS NULL THEN now() ELSE t.due_at END,
      noticed_at = CASE WHEN ${isOfPayment}::boolean THEN COALESCE(t.noticed_at, now())
        ELSE t.noticed_at END
    WHERE t.connection_id = ${connectionId}::uuid AND t.ended_at IS NULL AND ${isNamed}`
}

const ID_COLUMNS = {
  charge: Prisma.raw('t.id'),
  payout: Prisma.raw('t.payout_id'),
  refund: Prisma.raw('t.refund_id'),
} as const
