import { smallestIdAt } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import type { Finding, QueueName } from '#lib/operator/schema.ts'

/** Maximum rows counted; more would not change the finding. */
const COUNTED_MAX = 10_000
const DUE_PER_RECEIVER_MAX = 1_000

/** Seconds overdue until a queue is a warning (soon noticeable) and a problem (noticeable), which raises an alert. */
export const OVERDUE_LIMITS_S: Record<QueueName, [warning: number, problem: number]> = {
  charges: [60, 900],
  withdrawals: [60, 300],
  refunds: [60, 300],
  // A slow receiver delays only its own deliveries.
  deliveries: [300, 3_600],
  mails: [180, 1_800],
  search: [120, 1_800],
}

/** Age from which a charge must be indexed: the worker may still be indexing newer charges. */
const INDEXED_AFTER_MS = 10_000

interface QueueFigures {
  due: number
  oldestS: number | null
}

/** Without due rows, `oldestS` is null. Notices of banks are due at once and asked about within seconds. */
export async function readQueue(name: QueueName | 'notices'): Promise<QueueFigures> {
  const [figures] = await queryRows<QueueFigures>(dueSql(name))
  return figures ?? { due: 0, oldestS: null }
}

export async function examineQueue(name: QueueName): Promise<Finding> {
  const { due, oldestS } = await readQueue(name)
  if (oldestS === null) return { level: 'ok', state: 'queue_empty', figures: {} }
  const figures = { due, most: COUNTED_MAX, oldest_s: Math.round(oldestS) }
  const [warning, problem] = OVERDUE_LIMITS_S[name]
  if (oldestS < warning) return { level: 'ok', state: 'queue_moves', figures }
  const level = oldestS < problem ? 'warning' : 'problem'
  const states = {
    deliveries: 'deliveries_wait',
    mails: 'mails_wait',
    search: 'search_waits',
  } as const
  const state = name in states ? states[name as keyof typeof states] : 'queue_waits'
  return { level, state, figures }
}

function dueSql(name: QueueName | 'notices'): Prisma.Sql {
  if (name === 'deliveries') return dueDeliveries
  if (name === 'search') return unindexedCharges()
  const rows = { ...DUE_ROWS, charges: dueCharges, mails: Prisma.raw('mails') }[name]
  return Prisma.sql`
    SELECT json_build_object('due', count(*),
      'oldestS', extract(epoch FROM now() - min(due_at)))::text AS json
    FROM (SELECT due_at FROM ${rows} WHERE due_at <= now() ORDER BY due_at LIMIT ${COUNTED_MAX}) d`
}

const dueOrders = (kind: string) => Prisma.sql`(
  SELECT due_at FROM bank_orders WHERE kind = ${kind}) orders`

const DUE_ROWS = {
  withdrawals: dueOrders('withdrawal'),
  refunds: dueOrders('refund'),
  notices: Prisma.raw('bank_notices'),
}

/** Per connection, as the index of due charges is. */
const dueCharges = Prisma.sql`(
  SELECT c.due_at FROM connections n CROSS JOIN LATERAL (
    SELECT due_at FROM charges WHERE connection_id = n.id AND due_at <= now()
    ORDER BY due_at LIMIT ${COUNTED_MAX}) c) charges`

/** Steps from receiver to receiver, so that a long queue is never read completely. */
const dueDeliveries = Prisma.sql`
  WITH RECURSIVE receivers AS (
    (SELECT d.account_id, d.host FROM deliveries d WHERE d.due_at IS NOT NULL
      ORDER BY d.account_id, d.host LIMIT 1)
    UNION ALL
    SELECT n.account_id, n.host FROM receivers r CROSS JOIN LATERAL (
      SELECT d.account_id, d.host FROM deliveries d
      WHERE d.due_at IS NOT NULL AND (d.account_id, d.host) > (r.account_id, r.host)
      ORDER BY d.account_id, d.host LIMIT 1) n
  )
  SELECT json_build_object('due', least(count(*), ${COUNTED_MAX}::int),
    'oldestS', extract(epoch FROM now() - min(w.due_at)))::text AS json
  FROM (SELECT * FROM receivers LIMIT ${COUNTED_MAX}) r CROSS JOIN LATERAL (
    SELECT d.due_at FROM deliveries d
    WHERE d.account_id = r.account_id AND d.host = r.host AND d.due_at <= now()
    ORDER BY d.due_at, d.sequence LIMIT ${DUE_PER_RECEIVER_MAX}) w`

/** Counts accounts and modes with a charge after their search mark, by the first such charge. */
function unindexedCharges(): Prisma.Sql {
  const endId = smallestIdAt(Date.now() - INDEXED_AFTER_MS)
  return Prisma.sql`
    SELECT json_build_object('due', count(*),
      'oldestS', extract(epoch FROM now() - min(n.created_at)))::text AS json
    FROM accounts a CROSS JOIN (VALUES ('test'), ('live')) AS w (mode)
    LEFT JOIN charge_search_marks m ON m.account_id = a.id AND m.mode = w.mode
    CROSS JOIN LATERAL (
      SELECT c.created_at FROM charges c
      WHERE c.account_id = a.id AND c.mode = w.mode AND c.status <> 'opening'
        AND c.id > COALESCE(m.id, ${smallestIdAt(0)}::uuid) AND c.id < ${endId}::uuid
      ORDER BY c.id LIMIT 1) n`
}
