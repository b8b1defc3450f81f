import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

/**
 * What a person must decide. payment_amount: paid to a charge of another amount. payment_repeated:
 * paid to a charge that another payment has paid. payment_unmatched: no or unknown txid.
 * payment_unreadable: without an id, amount or time that can be read, and so not booked.
 * return_above_payment: the bank gave back more of a payment than is left of it.
 * return_above_payout: more came back of a withdrawal than was sent. return_unmatched: of no order of Troco's.
 * dispute_unmatched: of no charge, of more than its amount, or of one of which nothing is left.
 * dispute_contradicted: reported otherwise before, or of more than is left of the charge.
 * removal_unconfirmed: an expired charge that the bank did not remove within a week.
 * order_contradicted: people ended an order, and the bank reports the opposite. payout_unbooked,
 * refund_unbooked: sent before a restore, and missing in the books or different there. day_missing_here: a
 * bank's day has a movement that the books lack; day_missing_there: the opposite; day_different: another amount
 * or state; day_balance: the movements of the bank's day do not add up to its balance, or cannot be read.
 */
export const DIFFERENCE_KINDS = [
  'payment_amount',
  'payment_repeated',
  'payment_unmatched',
  'payment_unreadable',
  'return_above_payment',
  'return_above_payout',
  'return_unmatched',
  'dispute_unmatched',
  'dispute_contradicted',
  'removal_unconfirmed',
  'order_contradicted',
  'payout_unbooked',
  'refund_unbooked',
  'day_missing_here',
  'day_missing_there',
  'day_different',
  'day_balance',
] as const
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number]

/** Whether items of the kind are about a reconciled day. */
export function isDayKind(kind: string): boolean {
  return kind.startsWith('day_')
}

/** Columns of `source`: what an item is about, as the bank names it, and what is known about it. */
export type DifferenceColumn = 'item_id' | 'connection_id' | 'kind' | 'key' | 'facts'

/** Builds the INSERT of one item per row of the CTE `source`; an item is reported once. */
export function insertItemsSql(source: string): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO differences (id, connection_id, kind, key, facts)
    SELECT item_id, connection_id, kind, key, facts FROM ${Prisma.raw(source)}
    ON CONFLICT (connection_id, kind, key) DO NOTHING`
}

interface NewItem {
  connectionId: string
  kind: DifferenceKind
  /** What the item is about, as the bank names it: each is reported once. */
  key: string
  facts: Record<string, string | number | null>
}

export async function noteItem(tx: Tx, item: NewItem): Promise<void> {
  const data = { id: newRoutableId(OPERATOR_ACCOUNT_ID), ...item }
  await tx.difference.createMany({ data, skipDuplicates: true })
}

/** How an item ended that a later report of the bank has explained. */
export const MATCHED_LATER = 'matched_later'

/** How an item about an unmatched payment ended that the bank gave back by itself. */
const RETURNED = 'returned'

/** Resolves the item of an unmatched payment of which nothing is left: it needs nobody. */
export async function resolveReturned(tx: Tx, item: Pick<NewItem, 'connectionId' | 'key'>) {
  const data = { resolvedAt: new Date(), resolution: RETURNED }
  await tx.difference.updateMany({ where: { ...item, resolvedAt: null }, data })
}

/**
 * An item `i` with its connection `n` and its money `r`, of which the bank may have given a part back; what was settled
 * is no longer held.
 */
export const itemsSql = Prisma.sql`
  differences i JOIN connections n ON n.id = i.connection_id
  LEFT JOIN LATERAL (
    SELECT p.id, p.mode, p.paid_at, p.amount - CASE WHEN i.resolved_at IS NULL THEN (
        SELECT COALESCE(sum(k.amount), 0) FROM payment_returns k
        WHERE k.connection_id = p.connection_id AND k.end_to_end_id = p.end_to_end_id)::bigint ELSE 0 END AS amount
    FROM unmatched_payments p
    WHERE p.connection_id = i.connection_id AND p.end_to_end_id = i.key AND p.reason = i.kind) r ON true`

/** The mode of an item of `itemsSql`: that of its money, else of its connection. */
export const modeOfItem = Prisma.sql`
  COALESCE(r.mode, CASE n.environment WHEN 'production' THEN 'live' ELSE 'test' END)`

export interface Difference {
  id: string
  kind: string
  connection: string
  created_at: string
  facts: Record<string, unknown>
  state: 'open' | 'acknowledged'
}

const ITEMS_MAX = 1_000

/** Lists what nobody has resolved, and what people have acknowledged without an entry, oldest first. */
export function listOpenItems(): Promise<Difference[]> {
  const columns = Prisma.sql`i.id, i.kind, c.name AS connection, ${utc('i.created_at')}, i.facts,
    CASE WHEN i.resolved_at IS NULL THEN 'open' ELSE 'acknowledged' END AS state`
  return queryRows(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json
    FROM differences i JOIN connections c ON c.id = i.connection_id
    WHERE i.resolved_at IS NULL OR i.resolution = 'acknowledge'
    ORDER BY i.created_at, i.id LIMIT ${ITEMS_MAX}`)
}

/** An order as a bank lists it. */
interface Listed {
  id: string
  endToEndId: string | null
  amount: number
  orderedAt: Date
}

export type HeldKind = 'payout_unbooked' | 'refund_unbooked'

/**
 * Notes an order that a bank has executed and that the books do not have (`order_unknown`), or have as failed or with
 * another amount (`contradicted`). Money out stays closed while the difference is open. Returns true.
 */
export async function holdOrder(
  kind: HeldKind,
  connectionId: string,
  { id: key, endToEndId, amount, orderedAt }: Listed,
  cause: 'order_unknown' | 'contradicted',
  accountId: string | null = null,
): Promise<true> {
  const facts = {
    cause,
    account_id: accountId,
    order_id: key,
    end_to_end_id: endToEndId,
    amount,
    mode: 'live',
    ordered_at: orderedAt.toISOString(),
  }
  await transaction(tx => noteItem(tx, { connectionId, kind, key, facts }))
  return true
}

/** Notes an order that a bank lists without an amount or time that can be read. */
export async function holdUnread(
  kind: HeldKind,
  connectionId: string,
  { key, sent }: { key: string; sent: string },
): Promise<void> {
  const facts = { cause: 'unreadable', order_id: key, mode: 'live', sent }
  await transaction(tx => noteItem(tx, { connectionId, kind, key, facts }))
}
