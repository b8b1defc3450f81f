import { Prisma } from '#lib/base/db/client.ts'
import { utcText } from '#lib/base/db/columns.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { env } from '#lib/base/env.ts'
import { isDatabaseUnavailable } from '#lib/base/errors.ts'
import { log } from '#lib/base/log.ts'
import { countStaff, isStaffFactorRequired } from '#lib/services/people/factors.ts'
import {
  examineDatabase,
  examineDurability,
  examineMigrations,
  examineSessions,
} from '#lib/views/admin/database.ts'
import { examineQueue } from '#lib/views/admin/queues.ts'
import {
  type Check,
  type CheckName,
  type Finding,
  type Health,
  QUEUES,
  type WorkerLine,
} from '#lib/views/admin/schema.ts'
import { listStuck } from '#lib/views/admin/stuck.ts'
import { examineGateways, examineMailServer, examineReceivers } from '#lib/views/admin/traffic.ts'

/** Three heartbeats missed; workers send one every 10 s. */
const SILENT_S = 30
const DEAD_S = 60
/** Twice the interval of the ledger checks, one hour: beyond it they have stopped. */
const UNCHECKED_S = 2 * 3_600

const STUCK_MAX = 25
/** Time for all checks: when the database responds too slowly, the rest are skipped. */
const LOOKS_FOR_MS = 6_000

/**
 * Checks the whole system. The checks run one after the other to use few connections; one that
 * fails is itself a finding and hides no other.
 */
export async function readHealth(choose?: Parameters<typeof examineGateways>[0]): Promise<Health> {
  const checks: Check[] = []
  const began = performance.now()
  const look = async (name: CheckName, examine: () => Promise<Finding | Finding[]>) => {
    const isTooLate = performance.now() - began > LOOKS_FOR_MS
    const found = isTooLate ? UNREADABLE : await examine().catch(error => tell(error, name))
    checks.push(...[found].flat().map(finding => ({ name, ...finding })))
  }
  const workers = await listWorkers().catch(error => {
    if (isDatabaseUnavailable(error)) throw error
    return []
  })
  await look('workers', async () => judgeWorkers(workers))
  for (const name of QUEUES) await look(name, () => examineQueue(name))
  await look('receivers', examineReceivers)
  await look('gateway', () => examineGateways(choose))
  await look('mail_server', examineMailServer)
  await look('database', examineDatabase)
  // Called inside a check, so that an unreachable database fails only that check.
  let asked: ReturnType<typeof examineSessions> | undefined
  const sessions = () => (asked ??= examineSessions())
  await look('connections', async () => (await sessions()).connections)
  await look('transactions', async () => (await sessions()).transactions)
  await look('durability', examineDurability)
  await look('migrations', examineMigrations)
  await look('ledger', examineBooks)
  await look('address', async () => examineAddress())
  await look('staff', examineStaff)
  const jobs = await listStuck(STUCK_MAX).catch(() => [])
  return { at: new Date().toISOString(), checks, workers, jobs }
}

const UNREADABLE: Finding = { level: 'problem', state: 'unreadable', figures: {} }

function tell(error: unknown, name: CheckName): Finding {
  log().error({ err: error, check: name }, 'health check failed')
  return UNREADABLE
}

/** Lists workers, also dead ones: the row of a killed worker remains for a day. */
function listWorkers(): Promise<WorkerLine[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', id, 'host', host, 'pid', pid, 'started_at', ${utcText('started_at')},
      'silent_s', greatest(0, extract(epoch FROM now() - beat_at)::int))::text AS json
    FROM worker_heartbeats ORDER BY beat_at DESC LIMIT 50`)
}

function judgeWorkers(workers: WorkerLine[]): Finding {
  const alive = workers.filter(({ silent_s }) => silent_s <= SILENT_S).length
  if (alive > 0) return { level: 'ok', state: 'workers_alive', figures: { alive } }
  const [last] = workers
  if (!last) return { level: 'problem', state: 'no_worker', figures: {} }
  const level = last.silent_s <= DEAD_S ? 'warning' : 'problem'
  return { level, state: 'worker_silent', figures: { silent_s: last.silent_s } }
}

interface Books {
  accounts: number
  wrong: number
  names: string | null
  latest_s: number | null
  /** Longest time since the last check of an account's books. */
  waits_s: number | null
}

async function examineBooks(): Promise<Finding> {
  const [books] = await queryRows<Books>(Prisma.sql`
    SELECT json_build_object('accounts', count(*), 'wrong', count(k.wrong),
      'names', (SELECT string_agg(w.name || ' (' || w.id || ')', ', ') FROM (
        SELECT b.name, b.id FROM ledger_checks c JOIN accounts b ON b.id = c.account_id
        WHERE c.wrong IS NOT NULL ORDER BY b.id LIMIT 5) w),
      'latest_s', extract(epoch FROM now() - max(k.checked_at))::int,
      'waits_s', max(extract(epoch FROM now() - COALESCE(k.checked_at, a.created_at)))::int)::text
      AS json
    FROM accounts a LEFT JOIN ledger_checks k ON k.account_id = a.id`)
  const { accounts, wrong, names, latest_s, waits_s } = books as Books
  const figures = {
    ...{ accounts, wrong, names: names ?? '' },
    ...{ latest_s: latest_s ?? waits_s ?? 0, waits_s: waits_s ?? 0 },
  }
  if (wrong > 0) return { level: 'problem', state: 'books_wrong', figures }
  if (accounts === 0) return { level: 'ok', state: 'books_none', figures }
  return (waits_s ?? 0) > UNCHECKED_S
    ? { level: 'warning', state: 'books_unchecked', figures }
    : { level: 'ok', state: 'books_right', figures }
}

function examineAddress(): Finding {
  const { PUBLIC_URL: address, TROCO_ENV } = env()
  const figures = { address }
  if (address.startsWith('https:')) return { level: 'ok', state: 'address_sure', figures }
  return TROCO_ENV === 'production'
    ? { level: 'warning', state: 'address_plain', figures }
    : { level: 'ok', state: 'address_local', figures }
}

async function examineStaff(): Promise<Finding> {
  const figures = await countStaff()
  if (figures.unguarded === 0) return { level: 'ok', state: 'staff_guarded', figures }
  return isStaffFactorRequired()
    ? { level: 'warning', state: 'staff_unguarded', figures }
    : { level: 'ok', state: 'staff_local', figures }
}
