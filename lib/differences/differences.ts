import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, type Ctes, columnsOf, queryRows, utc, utcText } from '#lib/db/sql.ts'
import { bookMovement } from '#lib/ledger/book.ts'

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

/** Resolves the item of an unmatched payment of which nothing is left: the operator has nothing to do. */
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

interface Difference {
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

/**
 * Builds the INSERT that claims payments: of all statements about one payment, a single one gets its
 * row back and books it. Reads `connection_id`, `end_to_end_id`, `account_id` and `id` of `source`.
 * Ids of PIX have 32 characters and are unique across banks; another id is unique at its connection.
 * In the order of ids, so that two statements cannot deadlock.
 */
export function claimPaymentsSql(source: string): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
    SELECT CASE WHEN length(end_to_end_id) = 32 AND end_to_end_id !~ '[^A-Za-z0-9]' THEN end_to_end_id
      ELSE connection_id || ' ' || end_to_end_id END, connection_id, account_id, id
    FROM ${Prisma.raw(source)} ORDER BY end_to_end_id
    ON CONFLICT DO NOTHING
    RETURNING account_id, subject_id AS id`
}

/** Returns which of the payments that a connection lists are claimed. */
export async function findClaimed(connectionId: string, ids: string[]): Promise<Set<string>> {
  const keyOf = new Map(ids.flatMap(id => [id, `${connectionId} ${id}`].map(key => [key, id])))
  const claims = await db().bookedPayment.findMany({
    where: { endToEndId: { in: [...keyOf.keys()] } },
    select: { endToEndId: true },
  })
  return new Set(claims.flatMap(({ endToEndId }) => keyOf.get(endToEndId) ?? []))
}

/**
 * Builds the statement that moves payments to `unmatched` of the operator, each once, with a
 * difference. The CTE `strays` has one row per payment: id, item_id, mode, connection_id, end_to_end_id, txid,
 * amount, paid_at, `reason` (kind of the item), charge_account_id, charge_id, `facts` (further ones).
 */
export function keepUnmatchedSql(ctes: Ctes & { strays: Prisma.Sql }): Prisma.Sql {
  const { strays, ...before } = ctes
  return bookMovement({
    ctes: {
      ...before,
      strays: Prisma.sql`
        SELECT ${OPERATOR_ACCOUNT_ID}::uuid AS account_id, s.* FROM (${strays}) s`,
      claimed: claimPaymentsSql('strays'),
      suspended: Prisma.sql`
        INSERT INTO unmatched_payments (account_id, id, mode, connection_id, end_to_end_id, txid, amount, paid_at,
          reason, charge_account_id, charge_id)
        SELECT account_id, id, mode, connection_id, end_to_end_id, txid, amount, paid_at, reason,
          charge_account_id, charge_id
        FROM strays JOIN claimed USING (account_id, id)
        RETURNING *`,
      items: Prisma.sql`
        SELECT s.item_id, s.connection_id, s.reason AS kind, s.end_to_end_id AS key,
          jsonb_strip_nulls(s.facts || jsonb_build_object('payment_id', s.id, 'mode', s.mode,
            'end_to_end_id', s.end_to_end_id, 'txid', s.txid, 'amount', s.amount,
            'paid_at', ${utcText('s.paid_at')}))::json AS facts
        FROM strays s JOIN claimed USING (account_id, id)`,
      noted: insertItemsSql('items'),
    },
    source: {
      from: Prisma.sql`suspended r`,
      columns: {
        ...columnsOf('r', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
      },
    },
    movement: 'unmatched_received',
    returning: Prisma.sql`json_build_object('id', r.id, 'reason', r.reason, 'accountId', r.charge_account_id)`,
  })
}

interface BankFee {
  connectionId: string
  mode: Mode
  /** The bank's id of the fee. */
  bankId: string
  amount: number
  at: Date
  /** Whether the bank gave a fee back. */
  isReturn: boolean
}

/** Fees of one statement. */
const BATCH_MAX = 500

/**
 * Books fees of banks to the operator, and those that were given back, never to a merchant. Returns how many
 * were not booked before. After a crash, a repeated call books the rest.
 */
export async function payFees(fees: BankFee[]): Promise<number> {
  let booked = 0
  for (const movement of ['fee_paid', 'fee_returned'] as const) {
    const wanted = fees.filter(({ isReturn }) => isReturn === (movement === 'fee_returned'))
    for (let start = 0; start < wanted.length; start += BATCH_MAX) {
      const statement = payFeesSql(movement, wanted.slice(start, start + BATCH_MAX))
      booked += (await retryOnConflict(() => queryRows(statement))).length
    }
  }
  return booked
}

/** In the order of ids, so that two statements cannot deadlock. */
function payFeesSql(movement: 'fee_paid' | 'fee_returned', fees: BankFee[]): Prisma.Sql {
  const list = <Value>(pick: (fee: BankFee) => Value) => fees.map(pick)
  return bookMovement({
    ctes: {
      charged: Prisma.sql`
        INSERT INTO bank_fees (account_id, id, mode, connection_id, bank_id, amount, charged_at, is_return)
        SELECT ${OPERATOR_ACCOUNT_ID}::uuid, f.*, ${movement === 'fee_returned'}::boolean
        FROM unnest(${list(() => newRoutableId(OPERATOR_ACCOUNT_ID))}::uuid[], ${list(({ mode }) => mode)}::text[],
          ${list(({ connectionId }) => connectionId)}::uuid[], ${list(({ bankId }) => bankId)}::text[],
          ${list(({ amount }) => amount)}::bigint[], ${list(({ at }) => at)}::timestamptz[])
          AS f (id, mode, connection_id, bank_id, amount, charged_at)
        ORDER BY f.connection_id, f.bank_id
        ON CONFLICT (connection_id, bank_id) DO NOTHING
        RETURNING *`,
    },
    source: {
      from: Prisma.sql`charged f`,
      columns: {
        ...columnsOf('f', ['account_id', 'mode', 'id', 'amount', 'connection_id']),
      },
    },
    movement,
    returning: Prisma.sql`json_build_object('id', f.id)`,
  })
}
