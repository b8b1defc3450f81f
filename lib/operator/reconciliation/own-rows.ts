import { db, Prisma } from '#lib/db/client.ts'
import { queryRows, utcText } from '#lib/db/sql.ts'
import { endOf, startOf } from '#lib/operator/reconciliation/calendar.ts'
import { OWN_SOURCES, PAYOUTS } from '#lib/operator/reconciliation/own-sources.ts'
import type { BankRow, OwnRow, OwnSource } from '#lib/operator/reconciliation/schema.ts'

/** Payments of one question. */
const BATCH_MAX = 5_000

/**
 * Lists what was booked through the connection on a day, and what has a payment or id of these rows of the
 * bank, booked or not. Only the rows that nothing else finds are looked for by the id of a withdrawal: its
 * index begins with the account.
 */
export async function listOwnRows(
  connectionId: string,
  day: string,
  bank: BankRow[],
): Promise<OwnRow[]> {
  const found = new Map<string, OwnRow>()
  const read = async (source: OwnSource, condition: Prisma.Sql) => {
    for (const { id, at, ...row } of await queryRows<JsonRow>(ownRowsSql(source, condition)))
      found.set(`${source.movement} ${id}`, { ...row, at: at === null ? null : new Date(at) })
  }
  const isOfDay = Prisma.sql`t.mode = 'live' AND t.connection_id = ${connectionId}::uuid
    AND t.created_at >= ${startOf(day)}::timestamptz AND t.created_at < ${endOf(day)}::timestamptz`
  const payments = [
    ...new Set(bank.flatMap(({ payment, keys }) => [...keys, payment ?? []].flat())),
  ]
  for (const source of OWN_SOURCES) {
    await read(source, isOfDay)
    for (let start = 0; start < payments.length; start += BATCH_MAX)
      await read(source, source.byKeys(payments.slice(start, start + BATCH_MAX), connectionId))
  }
  const known = new Set([...found.values()].flatMap(({ keys }) => keys))
  const unknown = bank
    .filter(({ what, keys }) => what === 'payout' && !keys.some(key => known.has(key)))
    .flatMap(({ keys }) => keys.filter(key => /^[0-9a-f]{32}$/.test(key)))
  if (unknown.length > 0)
    await read(
      PAYOUTS,
      Prisma.sql`(s.account_id, s.id) IN (
        SELECT a.id, k::uuid FROM accounts a CROSS JOIN unnest(${unknown}::text[]) k)`,
    )
  return [...found.values(), ...(await listFees(connectionId, day))]
}

type JsonRow = Omit<OwnRow, 'at'> & { id: string; at: string | null }

function ownRowsSql(
  { what, movement, sign, ...source }: OwnSource,
  condition: Prisma.Sql,
): Prisma.Sql {
  const { from, keys, rejected = Prisma.sql`false`, facts } = source
  const { amount = Prisma.sql`COALESCE(t.amount, s.amount)` } = source
  const {
    booked = Prisma.sql`LEFT JOIN ledger_transfers t
      ON t.account_id = s.account_id AND t.kind = ${movement} AND t.subject_id = s.id`,
  } = source
  return Prisma.sql`
    SELECT json_build_object('id', s.id, 'what', ${what}::text, 'keys', array_remove(${keys}, NULL),
      'amount', ${sign}::bigint * ${amount}, 'at', ${utcText('t.created_at')},
      'state', CASE WHEN t.created_at IS NOT NULL THEN 'booked' WHEN ${rejected} THEN 'rejected'
        ELSE 'pending' END,
      'facts', json_strip_nulls(json_build_object(${facts})))::text AS json
    FROM ${from} ${booked} WHERE ${condition}`
}

/** Fees are booked from the statement, with the time at the bank. */
async function listFees(connectionId: string, day: string): Promise<OwnRow[]> {
  const charged = { gte: startOf(day), lt: endOf(day) }
  const fees = await db().bankFee.findMany({ where: { connectionId, chargedAt: charged } })
  return fees.map(({ id, bankId, isReturn, amount, chargedAt: at }) => ({
    ...{ what: isReturn ? ('fee_return' as const) : ('fee' as const), keys: [bankId], at },
    ...{ amount: isReturn ? Number(amount) : 0 - Number(amount), state: 'booked' as const },
    facts: { fee_id: id },
  }))
}
