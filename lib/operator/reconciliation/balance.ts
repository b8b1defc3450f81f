import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { homeZone, queryRows } from '#lib/db/sql.ts'
import { outstandingSql } from '#lib/differences/corrections.ts'
import { endOf, shiftDay } from '#lib/operator/reconciliation/claim-day.ts'

/**
 * Returns the books of a connection at a time: the sum of what moved through it. Each day that is closed
 * stores it, so that only transfers since the last one that ended before are read.
 */
export async function readBooks(connectionId: string, until: Date): Promise<bigint> {
  const [last] = await db().$queryRaw<{ day: string; books: bigint }[]>`
    SELECT day::text AS day, books FROM reconciled_days
    WHERE connection_id = ${connectionId}::uuid AND books IS NOT NULL
      AND ((day + 1)::timestamp AT TIME ZONE ${homeZone}) < ${until}::timestamptz
    ORDER BY day DESC LIMIT 1`
  const since = last ? endOf(last.day) : new Date(0)
  return (last?.books ?? 0n) + (await sumTransfers(connectionId, since, until))
}

async function sumTransfers(connectionId: string, since: Date, until: Date): Promise<bigint> {
  const [row] = await db().$queryRaw<{ moved: bigint }[]>`
    SELECT COALESCE(sum(CASE debit WHEN 'external' THEN amount ELSE -amount END), 0)::bigint AS moved
    FROM ledger_transfers
    WHERE mode = 'live' AND connection_id = ${connectionId}::uuid
      AND created_at >= ${since}::timestamptz AND created_at < ${until}::timestamptz
      AND 'external' IN (debit, credit)`
  return row?.moved ?? 0n
}

/** Returns what the bank had before the first day that was read, beyond the books: money of the operator. */
async function readOpening(connectionId: string): Promise<bigint | null> {
  const first = await db().reconciledDay.findFirst({
    where: { connectionId, opening: { not: null } },
    orderBy: { day: 'asc' },
  })
  if (!first || first.opening === null) return null
  const before = shiftDay(first.day.toISOString().slice(0, 10), -1)
  return first.opening - (await readBooks(connectionId, endOf(before)))
}

/**
 * In cents, with the sign of what they change at the bank. opening: what the bank had before the first day
 * that was read. books: what moved through the connection since. payouts, refunds: sent and not ended, also
 * of trials; refunds with what people give back. payments, fees, others: in open items, as the bank's day
 * has them and the books do not. acknowledged: in items that people have acknowledged without an entry.
 */
export const BALANCE_TERMS = [
  'opening',
  'books',
  'payouts',
  'refunds',
  'payments',
  'fees',
  'others',
  'acknowledged',
] as const
type BalanceTerm = (typeof BALANCE_TERMS)[number]
type ItemTerm = 'payments' | 'fees' | 'others' | 'acknowledged'

interface ConnectionBalance {
  terms: Record<BalanceTerm, number>
  /** Sum of the terms. */
  expected: number
  /** The bank's balance of now; null if it does not report one, or not now. */
  bank: number | null
  /** What the bank has more: fees of a day without a statement, or what nobody has found. */
  rest: number | null
}

/** Explains the balance of a connection term by term. Its cost does not grow with the books. */
export async function readConnectionBalance(
  connectionId: string,
  now = new Date(),
): Promise<ConnectionBalance> {
  const gateway = await gatewayOfConnection(connectionId)
  const answer = await withConnectionJournal({ id: connectionId, gateway }).getBalance?.()
  const bank = answer?.outcome === 'ok' ? answer.value.available : null
  const [opening, books] = [await readOpening(connectionId), await readBooks(connectionId, now)]
  const [onTheWay] = await queryRows<Record<'payouts' | 'refunds', number>>(
    onTheWaySql(connectionId),
  )
  const [items] = await queryRows<Record<ItemTerm, number>>(itemsSql(connectionId))
  const terms = {
    opening: Number(opening ?? 0n),
    books: Number(books),
    payouts: onTheWay?.payouts ?? 0,
    refunds: onTheWay?.refunds ?? 0,
    ...(items ?? { payments: 0, fees: 0, others: 0, acknowledged: 0 }),
  }
  const expected = Object.values(terms).reduce((sum, amount) => sum + amount, 0)
  return { terms, expected, bank, rest: bank === null ? null : bank - expected }
}

function onTheWaySql(connectionId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT json_build_object('payouts', -COALESCE(sum(o.amount) FILTER (WHERE o.operation = 'payout'), 0),
      'refunds', -COALESCE(sum(o.amount) FILTER (WHERE o.operation = 'refund'), 0))::text AS json
    FROM bank_orders o
    WHERE o.connection_id = ${connectionId}::uuid AND o.due_at IS NOT NULL AND o.sent_at IS NOT NULL`
}

/** What the bank has more than the books by the items of days; an order that is pending here is on its way. */
function itemsSql(connectionId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT json_build_object(
      'payments', COALESCE(sum(m.amount) FILTER (WHERE m.is_open AND m.what = 'payment'), 0),
      'fees', COALESCE(sum(m.amount) FILTER (WHERE m.is_open AND m.what LIKE 'fee%'), 0),
      'others', COALESCE(sum(m.amount) FILTER (WHERE m.is_open AND m.what <> 'payment'
        AND m.what NOT LIKE 'fee%'), 0),
      'acknowledged', COALESCE(sum(m.amount) FILTER (WHERE NOT m.is_open), 0)
    )::text AS json
    FROM (
      SELECT i.facts ->> 'what' AS what, i.resolved_at IS NULL AS is_open, ${outstandingSql} AS amount
      FROM differences i
      WHERE i.connection_id = ${connectionId}::uuid AND i.day IS NOT NULL
        AND (i.resolved_at IS NULL OR i.resolution = 'acknowledge') AND i.kind <> 'day_balance'
        AND (i.facts -> 'ours' ->> 'state') IS DISTINCT FROM 'pending') m`
}
