import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { outstandingSql } from '#lib/differences/corrections.ts'
import { readBooks, readOpening } from '#lib/operator/reconciliation/books.ts'

/**
 * In cents, with the sign of what they change at the bank. opening: what the bank had before the first day
 * that was read. books: what moved through the connection since. payouts, refunds: sent and not ended, also
 * of trials; refunds with what people give back. payments, fees, others: in open items, as the bank's day
 * has them and the books do not. acknowledged: in items that people have acknowledged without an entry.
 */
export const BALANCE_TERMS = [
  ...(['opening', 'books', 'payouts', 'refunds', 'payments', 'fees', 'others'] as const),
  'acknowledged',
] as const
export type BalanceTerm = (typeof BALANCE_TERMS)[number]
type ItemTerm = 'payments' | 'fees' | 'others' | 'acknowledged'

export interface ConnectionBalance {
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
    ...{ opening: Number(opening ?? 0n), books: Number(books) },
    ...{ payouts: onTheWay?.payouts ?? 0, refunds: onTheWay?.refunds ?? 0 },
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
