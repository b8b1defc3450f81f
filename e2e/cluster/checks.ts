import { setTimeout as sleep } from 'node:timers/promises'
import type { Acknowledged } from '#e2e/cluster/load.ts'
import { databaseUrl } from '#e2e/cluster/settings.ts'
import type { WebhookReceiver } from '#e2e/cluster/webhook-receiver.ts'
import { connect, type Database } from '#lib/db/client.ts'
import { PRESENCE_LOCKS } from '#lib/db/wake.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { query } from '#lib/testing/embedded.ts'

/** Retries of webhooks after 5 s and the leases of a killed worker end within it. */
const SETTLE_MAX_MS = 60_000
/** Statements and locks older than this hang. */
const OLD = `interval '10 seconds'`

interface Findings {
  /** Acknowledged and not found, and events that were not delivered. */
  lost: string[]
  /** Keys with two effects. */
  doubled: string[]
  /** The ledger, and what was left behind in PostgreSQL. */
  wrong: string[]
  /** Deliveries whose next attempt comes later. */
  waiting: number
}

/** Compares what clients and receivers were told with the database. Nothing may be in progress. */
export async function examine(
  accountId: string,
  acknowledged: readonly Acknowledged[],
  receiver: WebhookReceiver,
  settleMaxMs = SETTLE_MAX_MS,
): Promise<Findings> {
  // A superuser, whom no limit of a role cuts off on a busy machine.
  const database = connect({ url: databaseUrl('postgres', 'balancer'), connectTimeoutMs: 30_000 })
  try {
    const waiting = await waitUntilSettled(database, accountId, settleMaxMs)
    const { findings } = await verifyLedger(database, accountId)
    return {
      lost: [
        ...(await listLost(database, accountId, acknowledged)),
        ...(await listUndelivered(database, accountId, receiver)),
      ],
      doubled: await listDoubled(database, accountId),
      wrong: [
        ...findings.filter(({ violation }) => violation).map(finding => JSON.stringify(finding)),
        ...(await listLeftBehind()),
      ],
      waiting,
    }
  } finally {
    await database.$disconnect()
  }
}

/** Returns how many deliveries, withdrawals and refunds still wait. */
async function waitUntilSettled(
  database: Database,
  accountId: string,
  maxMs: number,
): Promise<number> {
  for (const deadline = Date.now() + maxMs; ; await sleep(500)) {
    const [row] = await database.$queryRaw<{ count: number }[]>`
      SELECT (SELECT count(*) FROM deliveries WHERE account_id = d.account_id AND status = 'pending')::int
        + (SELECT count(*) FROM withdrawals WHERE account_id = d.account_id AND status = 'pending')::int
        + (SELECT count(*) FROM refunds WHERE account_id = d.account_id AND status = 'pending')::int AS count
      FROM (VALUES (${accountId}::uuid)) AS d (account_id)`
    const count = row?.count ?? 0
    if (count === 0 || Date.now() > deadline) return count
  }
}

async function listLost(
  database: Database,
  accountId: string,
  acknowledged: readonly Acknowledged[],
): Promise<string[]> {
  const rows = await database.$queryRaw<{ found: string }[]>`
    SELECT 'charge ' || id AS found FROM charges WHERE account_id = ${accountId}::uuid
    UNION ALL SELECT 'payment ' || subject_id FROM ledger_transfers
      WHERE account_id = ${accountId}::uuid AND kind = 'charge_paid'
    UNION ALL SELECT 'refund ' || id FROM refunds WHERE account_id = ${accountId}::uuid
    UNION ALL SELECT 'withdrawal ' || id FROM withdrawals WHERE account_id = ${accountId}::uuid`
  const found = new Set(rows.map(row => row.found))
  return acknowledged.map(({ kind, id }) => `${kind} ${id}`).filter(each => !found.has(each))
}

/** Each customer has one charge, one payment, and at most one refund and one withdrawal. */
async function listDoubled(database: Database, accountId: string): Promise<string[]> {
  const rows = await database.$queryRaw<{ doubled: string }[]>`
    SELECT 'charge of ' || client_name AS doubled FROM charges
      WHERE account_id = ${accountId}::uuid GROUP BY client_name HAVING count(*) > 1
    UNION ALL SELECT 'payment ' || subject_id FROM ledger_transfers
      WHERE account_id = ${accountId}::uuid AND kind = 'charge_paid'
      GROUP BY subject_id HAVING count(*) > 1
    UNION ALL SELECT 'refund of ' || charge_id FROM refunds
      WHERE account_id = ${accountId}::uuid GROUP BY charge_id HAVING count(*) > 1
    UNION ALL SELECT 'withdrawal of ' || amount FROM withdrawals
      WHERE account_id = ${accountId}::uuid GROUP BY amount HAVING count(*) > 1
    UNION ALL SELECT 'order at the bank: ' || o.id FROM simulator_orders o
      WHERE o.kind <> 'charge' AND NOT EXISTS (
        SELECT FROM withdrawals w WHERE replace(w.id::text, '-', '') = replace(o.id, '-', '')
        UNION ALL SELECT FROM refunds r WHERE replace(r.id::text, '-', '') = replace(o.id, '-', ''))
    UNION ALL SELECT 'event ' || type || ' of ' || subject_id FROM events
      WHERE account_id = ${accountId}::uuid GROUP BY type, subject_id HAVING count(*) > 1`
  return rows.map(row => row.doubled)
}

/** Every event was received or will be sent again, and no event was received that does not exist. */
async function listUndelivered(
  database: Database,
  accountId: string,
  receiver: WebhookReceiver,
): Promise<string[]> {
  const rows = await database.$queryRaw<{ id: string; status: string | null }[]>`
    SELECT e.id, d.status FROM events e
    LEFT JOIN deliveries d ON d.account_id = e.account_id AND d.event_id = e.id
    WHERE e.account_id = ${accountId}::uuid
      AND e.created_at > (SELECT created_at FROM webhook_endpoints w WHERE w.account_id = e.account_id)`
  const known = new Set(rows.map(({ id }) => id))
  return [
    ...rows
      .filter(({ id, status }) => status !== 'pending' && !receiver.ids.has(id))
      .map(({ id, status }) => `event ${id} (${status})`),
    ...[...receiver.ids].filter(id => !known.has(id)).map(id => `received event ${id}`),
  ]
}

async function listLeftBehind(): Promise<string[]> {
  const rows = await query(
    databaseUrl('postgres', 'balancer'),
    `SELECT format('%s %s for %s: %s', usename, state, now() - xact_start, left(query, 80)) AS left
     FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
       AND xact_start < now() - ${OLD}
     UNION ALL SELECT format('lock %s %s of %s', l.locktype, l.mode, l.pid) FROM pg_locks l
     WHERE NOT granted AND waitstart < now() - ${OLD} OR locktype = 'advisory'
       AND classid <> ${PRESENCE_LOCKS} AND NOT EXISTS (
       SELECT FROM pg_stat_activity a WHERE a.pid = l.pid AND a.xact_start >= now() - ${OLD})`,
  )
  return rows.map(row => String(row.left))
}
