import { personOf, recordAudit } from '#lib/audit/record.ts'
import {
  type BankRefusal,
  ENDED_UNSENT,
  type Rejection,
  rejectionAssignments,
} from '#lib/banks/gateway.ts'
import { isPastRefund, REFUND_WINDOW_DAYS } from '#lib/charges/states.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { HOME_TIME_ZONE, type Locale } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { csvFile, csvTimeFormatter, recordExport } from '#lib/dashboard/exports.ts'
import { dayInZone } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { type Page, readPage, sqlIfDefined, walkPages } from '#lib/db/page.ts'
import { asJson, queryRows, utc, utcText } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { itemsSql, modeOfItem } from '#lib/differences/differences.ts'
import {
  creditUnmatched,
  type Decision,
  lockItem,
  lockUnmatched,
  releaseUnmatched,
  resolveItem,
} from '#lib/differences/resolve.ts'
import { lockBooks } from '#lib/ledger/owed.ts'
import {
  type DifferenceFilters,
  type DifferenceLine,
  type DifferenceSummary,
  differenceQuery,
} from '#lib/operator/differences/schema.ts'
import {
  endOrderSql,
  insertOrderSql,
  type OrderKey,
  type OrderRules,
  type PeoplesEnd,
} from '#lib/orders/order.ts'
import { MESSAGES } from '#messages/words.ts'

/** Cents at a path of the facts; null if there is no number. */
function centsAt(path: string): Prisma.Sql {
  const [value, text] = ['#>', '#>>'].map(get => Prisma.raw(`i.facts ${get} '{${path}}'`))
  return Prisma.sql`CASE WHEN json_typeof(${value}) = 'number' THEN (${text})::numeric::bigint END`
}

/** Of a day: the amount of the bank, else that of the books, or what its balances differ by. */
const amountOfFacts = Prisma.sql`COALESCE(${centsAt('amount')},
  CASE WHEN i.kind LIKE 'day%' THEN COALESCE(${centsAt('bank,amount')}, ${centsAt('ours,amount')},
    ${centsAt('bank,difference')}, ${centsAt('bank,opening')} - ${centsAt('ours,closing')}) END)`

/** Columns of a DifferenceLine. */
export const lineColumns = Prisma.sql`
  i.id, i.kind, json_build_object('id', n.id, 'name', n.name) AS connection,
  ${modeOfItem} AS mode,
  COALESCE(r.amount, ${amountOfFacts}) AS amount,
  r.id IS NOT NULL AND i.resolved_at IS NULL AS is_held,
  EXISTS (SELECT FROM unmatched_returns b WHERE b.item_id = i.id AND b.status = 'pending')
    AS is_giving_back,
  ${utc('i.created_at')}, ${utc('i.resolved_at')}, i.resolution`

/** Returns items, newest first. */
export function listItems(
  filters: DifferenceFilters & { cursor?: string; limit: number },
): Promise<Page<DifferenceLine>> {
  const { state, kind, connection, age, cursor, limit } = filters
  const stateSql = Prisma.sql`AND CASE WHEN i.resolved_at IS NULL THEN 'open'
    WHEN i.resolution = 'acknowledge' THEN 'acknowledged' ELSE 'resolved' END = ${state}`
  return readPage<DifferenceLine>(
    Prisma.sql`
      SELECT ${asJson(lineColumns)}::text AS json FROM ${itemsSql}
      WHERE true ${sqlIfDefined(state, stateSql)}
        ${sqlIfDefined(kind, Prisma.sql`AND i.kind = ${kind}`)}
        ${sqlIfDefined(connection, Prisma.sql`AND i.connection_id = ${connection}::uuid`)}
        ${sqlIfDefined(age, Prisma.sql`AND i.created_at < now() - make_interval(days => ${Number(age)}::int)`)}
        ${sqlIfDefined(cursor, Prisma.sql`AND i.id < ${cursor}::uuid`)}
      ORDER BY i.id DESC LIMIT ${limit + 1}`,
    limit,
  )
}

export async function summarizeOpen(): Promise<DifferenceSummary> {
  const sum = (mode: string) =>
    Prisma.sql`COALESCE(sum(r.amount) FILTER (WHERE r.mode = ${mode}), 0)`
  const [summary] = await queryRows<DifferenceSummary>(Prisma.sql`
    SELECT json_build_object('count', count(*), 'oldest_at', ${utcText('min(i.created_at)')},
      'amount', json_build_object('test', ${sum('test')}, 'live', ${sum('live')}))::text AS json
    FROM ${itemsSql} WHERE i.resolved_at IS NULL`)
  return summary ?? { count: 0, oldest_at: null, amount: { test: 0, live: 0 } }
}

/** Returns the connections that any item is about, for the filter. */
export function listItemConnections(): Promise<DifferenceLine['connection'][]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', n.id, 'name', n.name)::text AS json FROM connections n
    WHERE EXISTS (SELECT FROM differences i WHERE i.connection_id = n.id) ORDER BY n.name, n.id`)
}

const ANY_STATE = 'all'

/** Reads the filters of the differences from a page's URL: what is open by default. Drops invalid values. */
export function readDifferenceFilters(params: SearchParams) {
  const { query: filters } = readFilters(
    params,
    differenceQuery.omit({ limit: true }),
    HOME_TIME_ZONE,
  )
  return params.state === ANY_STATE ? filters : { ...filters, state: filters.state ?? 'open' }
}

const BATCH_MAX = 500

export async function exportDifferences(
  userId: string,
  { locale, ...filters }: DifferenceFilters & { locale: Locale },
) {
  await recordExport('difference.exported', userId, undefined, {
    ...filters,
    status: filters.state,
  })
  const { differences: t } = MESSAGES[locale]
  const time = csvTimeFormatter(locale, HOME_TIME_ZONE)
  const nameOf = (names: Record<string, string>, key: string) => names[key] ?? key
  const about = [t.column.what, t.column.connection, t.column.mode, t.column.amount]
  const ended = [t.column.resolved, t.column.resolution]
  return csvFile<DifferenceLine>(`${t.file}-${dayInZone(new Date(), HOME_TIME_ZONE)}`, {
    locale,
    head: [t.column.created, ...about, ...ended, t.column.code, 'ID'],
    pages: walkPages(cursor => listItems({ ...filters, cursor, limit: BATCH_MAX })),
    cellsOf: row => [
      time(row.created_at),
      nameOf(t.kind, row.kind),
      nameOf({ simulator: t.simulator }, row.connection.name),
      t.mode[row.mode],
      row.amount === null ? null : { amount: row.amount },
      row.resolved_at && time(row.resolved_at),
      row.resolution && nameOf(t.resolution, row.resolution),
      row.kind,
      row.id,
    ],
  })
}

/** Resolves an item that moves no money of the operator. */
export function acknowledgeItem(decision: Decision): Promise<void> {
  return transaction(async tx => {
    await lockItem(tx, decision.itemId, 'acknowledge')
    await resolveItem(tx, decision, 'acknowledge')
  })
}

/** Makes the money of an item the operator's own. */
export function takeUnmatched(decision: Decision): Promise<void> {
  return transaction(async tx => {
    const { id, mode, amount } = await lockUnmatched(tx, decision.itemId, 'keep')
    await releaseUnmatched(tx, id, 'keep')
    await resolveItem(tx, decision, 'keep', { mode, amount })
  })
}

/** Moves the money of an item to the balance of an account, in the books of both or of neither. */
export function creditAccount(decision: Decision, accountId: string): Promise<void> {
  return transaction(async tx => {
    const payment = await lockUnmatched(tx, decision.itemId, 'credit')
    const account = await tx.account.findUnique({ where: { id: accountId } })
    if (!account) throw invalidInput('account_id', 'must be the id of an account')
    const { id, mode, amount } = payment
    await lockBooks(tx, accountId, mode)
    await creditUnmatched(tx, accountId, payment)
    await releaseUnmatched(tx, id, 'credit', { accountId })
    await resolveItem(tx, decision, 'credit', { accountId, mode, amount })
  })
}

/**
 * Orders the bank to give the money of an item back to its payer. The order is stored before the bank is
 * called; the money stays unmatched, and the item open, until the bank has returned it. Meanwhile every
 * other entry is refused, and so is a second order. After the Pix window, no bank would take the order.
 */
export async function giveBack(decision: Decision): Promise<{ id: string }> {
  const id = newRoutableId(OPERATOR_ACCOUNT_ID)
  const { itemId, reason, actor } = decision
  await transaction(async tx => {
    const payment = await lockUnmatched(tx, itemId, 'give_back')
    const { id: paymentId, mode, connectionId, amount, paidAt, endToEndId } = payment
    if (isPastRefund(paidAt)) throw refuse('refund_window_closed', { days: REFUND_WINDOW_DAYS })
    await tx.$executeRaw`
      WITH made AS (
        INSERT INTO unmatched_returns (account_id, id, payment_id, item_id, mode, connection_id, status,
          amount, requested_by, reason)
        VALUES (${OPERATOR_ACCOUNT_ID}::uuid, ${id}::uuid, ${paymentId}::uuid, ${itemId}::uuid, ${mode},
          ${connectionId}::uuid, 'pending', ${amount}::bigint, ${personOf(actor)}::uuid, ${reason})
        RETURNING *)
      ${insertOrderSql(['return', 'refund'], Prisma.sql`made s`, { target: Prisma.sql`${endToEndId}` })}`
    const after = { mode, amount }
    await recordAudit(tx, {
      actor,
      action: 'difference.return_ordered',
      target: itemId,
      reason,
      after,
    })
  })
  wake('orders')
  return { id }
}

interface EndedReturn {
  paymentId: string
  itemId: string
  mode: Mode
  amount: bigint
  requestedBy: string | null
  reason: string
}

/** What returns of unmatched payments contribute to sending orders: lib/orders. */
export const returnOrders: OrderRules = {
  end: (order, reported, lease) =>
    transaction(tx =>
      reported.state === 'done'
        ? completeReturn(tx, order, reported.endToEndId, { lease })
        : rejectReturn(tx, order, reported, { lease }),
    ),
  endByPeople: (order, outcome, { tx, ...end }) =>
    outcome === 'sent'
      ? completeReturn(tx, order, null, end)
      : rejectReturn(tx, order, ENDED_UNSENT, end),
  // The order names no person, and the payer is unknown.
  hide: async () => ({}),
}

type End = { lease?: string | null } & Partial<Omit<PeoplesEnd, 'tx'>>

/**
 * Lets the money leave `unmatched` after the bank has returned it, and resolves the item in the name of who
 * ordered it. Does nothing if the order has ended or the lease was lost.
 */
async function completeReturn(
  tx: Tx,
  order: OrderKey,
  returnId: string | null,
  end: End,
): Promise<boolean> {
  const ended = await endReturn(tx, 'completed', Prisma.sql`return_id = ${returnId}`, {
    ended: endOrderSql(order, 'done', { bankId: returnId, ...end }),
  })
  if (!ended) return false
  const { paymentId, itemId, mode, amount, requestedBy, reason } = ended
  const actor = requestedBy
    ? ({ type: 'user', id: requestedBy } as const)
    : ({ type: 'command_line' } as const)
  await releaseUnmatched(tx, paymentId, 'give_back')
  await resolveItem(tx, { itemId, reason, actor }, 'give_back', { mode, amount: cents(amount) })
  return true
}

/** Ends an order that was not sent: the money stays unmatched, and the item open. */
async function rejectReturn(
  tx: Tx,
  order: OrderKey,
  reason: Rejection | BankRefusal,
  end: End,
): Promise<boolean> {
  const ended = await endReturn(tx, 'rejected', rejectionAssignments(reason), {
    ended: endOrderSql(order, 'refused', end),
  })
  if (!ended) return false
  const { itemId, mode, amount } = ended
  const actor = { type: 'system' } as const
  const after = { mode, amount: cents(amount), code: reason.code }
  await recordAudit(tx, { actor, action: 'difference.return_rejected', target: itemId, after })
  return true
}

async function endReturn(
  tx: Tx,
  outcome: 'completed' | 'rejected',
  assignments: Prisma.Sql,
  { ended }: { ended: Prisma.Sql },
): Promise<EndedReturn | null> {
  const [row] = await tx.$queryRaw<EndedReturn[]>`
    WITH ended AS (${ended})
    UPDATE unmatched_returns r SET status = ${outcome}, ${assignments},
      ${Prisma.raw(`${outcome}_at`)} = now(), updated_at = now()
    FROM ended e WHERE r.account_id = e.account_id AND r.id = e.id
    RETURNING r.payment_id AS "paymentId", r.item_id AS "itemId", r.mode, r.amount,
      r.requested_by AS "requestedBy", r.reason`
  return row ?? null
}
