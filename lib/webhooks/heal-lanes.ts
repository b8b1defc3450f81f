import { db, Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/rows.ts'
import { wake } from '#lib/db/wake.ts'

/** Receivers per statement: about 10 ms. */
const STEP_MAX = 1_000
/** A lane that is later than its first delivery by less is about to be read by a claim. */
const LATE_AFTER = Prisma.sql`interval '10 seconds'`

interface Receiver {
  account_id: string
  host: string
  due_at: string
  is_lost: boolean
}

/**
 * Restores lanes that are missing or later than their deliveries, because rows were written without
 * the triggers: by a restore, by hand. Calls `rest` between steps. Returns the number restored.
 */
export async function healLanes(rest = async () => {}): Promise<number> {
  let restored = 0
  let receivers = await readReceivers({
    account_id: '00000000-0000-0000-0000-000000000000',
    host: '',
  })
  for (let last = receivers.at(-1); last; last = receivers.at(-1)) {
    restored += await restoreLanes(receivers.filter(({ is_lost }) => is_lost))
    if (receivers.length < STEP_MAX) break
    await rest()
    receivers = await readReceivers(last)
  }
  if (restored > 0) wake('deliveries')
  return restored
}

/** Steps from receiver to receiver, so that the deliveries of none are read completely. */
function readReceivers(after: Pick<Receiver, 'account_id' | 'host'>): Promise<Receiver[]> {
  return queryRows(Prisma.sql`
    WITH RECURSIVE receivers AS (
      (SELECT d.account_id, d.host, d.due_at, 1 AS nth FROM deliveries d
        WHERE d.due_at IS NOT NULL
          AND (d.account_id, d.host) > (${after.account_id}::uuid, ${after.host}::text)
        ORDER BY d.account_id, d.host, d.due_at LIMIT 1)
      UNION ALL
      SELECT n.account_id, n.host, n.due_at, r.nth + 1 FROM receivers r CROSS JOIN LATERAL (
        SELECT d.account_id, d.host, d.due_at FROM deliveries d
        WHERE d.due_at IS NOT NULL AND (d.account_id, d.host) > (r.account_id, r.host)
        ORDER BY d.account_id, d.host, d.due_at LIMIT 1) n
      WHERE r.nth < ${STEP_MAX}
    )
    SELECT json_build_object('account_id', r.account_id, 'host', r.host, 'due_at', r.due_at, 'is_lost',
      l.host IS NULL OR a.account_id IS NULL OR r.due_at < now() - ${LATE_AFTER}
        AND greatest(l.due_at, a.due_at) > now() AND NOT (l.is_full OR a.is_full))::text AS json
    FROM receivers r
    LEFT JOIN delivery_lanes l ON l.account_id = r.account_id AND l.host = r.host
    LEFT JOIN delivery_accounts a ON a.account_id = r.account_id
    ORDER BY r.nth`)
}

/** Locks in the order of prisma/functions/troco_touch_lanes.sql: by account and host, lanes first. */
async function restoreLanes(lost: Receiver[]): Promise<number> {
  if (lost.length === 0) return 0
  const columns = Prisma.sql`
    unnest(${lost.map(({ account_id }) => account_id)}::uuid[], ${lost.map(({ host }) => host)}::text[],
      ${lost.map(({ due_at }) => due_at)}::timestamptz[]) AS t (account_id, host, due_at)`
  await db().$executeRaw`
    INSERT INTO delivery_lanes AS l (account_id, host, due_at)
    SELECT t.account_id, t.host, t.due_at FROM ${columns} ORDER BY t.account_id, t.host
    ON CONFLICT (account_id, host) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
    WHERE l.due_at > EXCLUDED.due_at`
  await db().$executeRaw`
    INSERT INTO delivery_accounts AS a (account_id, due_at)
    SELECT t.account_id, min(t.due_at) FROM ${columns} GROUP BY t.account_id ORDER BY t.account_id
    ON CONFLICT (account_id) DO UPDATE SET due_at = EXCLUDED.due_at, is_full = false
    WHERE a.due_at > EXCLUDED.due_at`
  return lost.length
}
