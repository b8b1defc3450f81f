import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { OPERATOR_ACCOUNT_ID, smallestIdAt } from '#lib/core/ids.ts'
import { logFailure } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows, utcText } from '#lib/db/sql.ts'
import { accountSubjects, countLiveRequests, countPendingAccounts } from '#lib/operator/accounts.ts'
import {
  examineBackups,
  examineClocks,
  examineDatabase,
  examineDurability,
  examineMigrations,
  examineRole,
  examineSessions,
} from '#lib/operator/database.ts'
import { summarizeOpen } from '#lib/operator/differences/differences.ts'
import { summarizeUnanswered } from '#lib/operator/disputes.ts'
import {
  examineCertificates,
  examineGateways,
  examineMailServer,
  examineReceivers,
} from '#lib/operator/gateways.ts'
import {
  type Check,
  type Finding,
  type Health,
  type JobKind,
  type Level,
  QUEUES,
  type QueueName,
  STAFF_TASKS,
  type StaffTask,
  type WorkerLine,
} from '#lib/operator/schema.ts'
import type { CheckName, FindingSubject } from '#lib/operator/states.ts'
import { countStuckJobs, listStuckJobs } from '#lib/operator/stuck.ts'
import { examineTokens } from '#lib/operator/tokens.ts'
import { countStaff, isStaffFactorRequired } from '#lib/people/factors.ts'
import { queuedAccountsSql } from '#lib/webhooks/queue.ts'
import { findTarget, type ResolveName } from '#lib/webhooks/target.ts'

/** Three heartbeats missed; workers send one every 10 s. */
const ALIVE_WITHIN_S = 30
const DEAD_AFTER_S = 60
/** Twice the interval of ledger checks (one hour): accounts checked longer ago are a warning. */
const UNCHECKED_AFTER_S = 2 * 3_600

const STUCK_MAX = 25
/** Time limit for all checks: if the database is too slow, the remaining checks are skipped. */
const CHECKS_TIMEOUT_MS = 6_000

/** Contradicted orders that are named. */
const CONTRADICTED_NAMED_MAX = 25
/** Later, the check is quiet; the audit log keeps the record. */
const CONTRADICTED_SHOWN_DAYS = 30

/** Runs the checks one after the other to use few connections; a failed check is a finding. */
export async function readHealth(): Promise<Health> {
  const checks: Check[] = []
  const began = performance.now()
  const runCheck = async (name: CheckName, examine: () => Promise<Finding | Finding[]>) => {
    const isTooLate = performance.now() - began > CHECKS_TIMEOUT_MS
    const findings = isTooLate
      ? UNREADABLE
      : await examine().catch(error => logUnreadable(error, name))
    for (const finding of [findings].flat()) checks.push({ name, ...finding })
  }
  const workers = await listWorkers().catch(error => {
    if (isDatabaseUnavailable(error)) throw error
    return []
  })
  await runCheck('workers', async () => assessWorkers(workers))
  for (const name of QUEUES) await runCheck(name, () => examineQueue(name))
  const counted = await countStuck(checks).catch(() => checks)
  checks.splice(0, checks.length, ...counted)
  await runCheck('receivers', examineReceivers)
  await runCheck('endpoints', () => examineEndpoints())
  await runCheck('gateway', examineGateways)
  await runCheck('certificates', () => examineCertificates())
  await runCheck('mail_server', examineMailServer)
  await runCheck('ended', examineEnded)
  await runCheck('database', examineDatabase)
  // Called inside a check, so that an unreachable database fails only that check.
  let sessionsRead: ReturnType<typeof examineSessions> | undefined
  const sessions = () => (sessionsRead ??= examineSessions())
  await runCheck('connections', async () => (await sessions()).connections)
  await runCheck('transactions', async () => (await sessions()).transactions)
  await runCheck('durability', examineDurability)
  await runCheck('clocks', examineClocks)
  await runCheck('migrations', examineMigrations)
  await runCheck('roles', examineRole)
  let backupsRead: ReturnType<typeof examineBackups> | undefined
  const backups = () => (backupsRead ??= examineBackups())
  await runCheck('backups', async () => (await backups()).backups)
  await runCheck('drill', async () => (await backups()).drill)
  await runCheck('ledger', examineLedgers)
  await runCheck('address', async () => examineAddress())
  await runCheck('staff', examineStaff)
  await runCheck('tokens', examineTokens)
  const jobs = await listStuckJobs(STUCK_MAX).catch(() => [])
  return { at: new Date().toISOString(), checks, workers, jobs }
}

const REUSED_MS = 15_000
let recent: { readAt: number; checks: Promise<Check[]> } | null = null

/** The checks take long when the database is slow, and the overview is opened often. */
function readRecentChecks(): Promise<Check[]> {
  const now = performance.now()
  if (!recent || now - recent.readAt > REUSED_MS) {
    const checks = readHealth().then(health => health.checks)
    recent = { readAt: now, checks }
    checks.catch(() => {
      recent = null
    })
  }
  return recent.checks
}

/** Lists what waits for a person, the most urgent first. */
export async function listStaffTasks(): Promise<StaffTask[]> {
  const [checks, disputes, differences, accounts, live] = await Promise.all([
    readRecentChecks(),
    summarizeUnanswered(),
    summarizeOpen(),
    countPendingAccounts(),
    countLiveRequests(),
  ])
  const tasks: Record<StaffTask['name'], Omit<StaffTask, 'name'>> = {
    ...tasksOf(checks),
    disputes: { count: disputes.count, level: 'problem', at: disputes.due_at },
    differences: { count: differences.count, level: 'warning', at: differences.oldest_at },
    accounts: { count: accounts, level: 'warning' },
    live: { count: live, level: 'warning' },
  }
  return STAFF_TASKS.map(name => ({ name, ...tasks[name] })).filter(({ count }) => count > 0)
}

/** Certificates have a task of their own; stuck work is one even if its queue is well. */
export function tasksOf(checks: Check[]) {
  const of = (level: Level, isCertificate: boolean) =>
    checks.filter(
      check => check.level === level && (check.name === 'certificates') === isCertificate,
    ).length
  const ended = of('problem', true)
  return {
    problems: { count: of('problem', false), level: 'problem' },
    warnings: { count: of('warning', false), level: 'warning' },
    certificates: {
      count: ended + of('warning', true),
      level: ended > 0 ? 'problem' : 'warning',
    },
    stuck: { count: checks.reduce((sum, { stuck = 0 }) => sum + stuck, 0), level: 'warning' },
  } satisfies Partial<Record<StaffTask['name'], Omit<StaffTask, 'name'>>>
}

const STUCK_KINDS: Partial<Record<CheckName, JobKind[]>> = {
  charges: ['charge'],
  withdrawals: ['withdrawal'],
  refunds: ['refund', 'return'],
  deliveries: ['delivery'],
  mails: ['mail'],
}

/** Adds to each queue how much of its work is stuck: it need not be overdue. */
function countStuck(checks: Check[]): Promise<Check[]> {
  return Promise.all(
    checks.map(async check => {
      const counts = await Promise.all((STUCK_KINDS[check.name] ?? []).map(countStuckJobs))
      const stuck = counts.reduce((sum, count) => sum + count, 0)
      return stuck > 0 ? { ...check, stuck } : check
    }),
  )
}

const UNREADABLE: Finding = { level: 'problem', state: 'unreadable', figures: {} }

function logUnreadable(error: unknown, name: CheckName): Finding {
  logFailure(error, 'health check failed', { check: name })
  return UNREADABLE
}

/** Lists workers, also dead ones: the row of a killed worker remains for a day. */
export function listWorkers(): Promise<WorkerLine[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', id, 'host', host, 'pid', pid, 'started_at', ${utcText('started_at')},
      'silent_s', greatest(0, extract(epoch FROM now() - beat_at)::int))::text AS json
    FROM worker_heartbeats ORDER BY beat_at DESC LIMIT 50`)
}

export function countAlive(workers: WorkerLine[]): number {
  return workers.filter(({ silent_s }) => silent_s <= ALIVE_WITHIN_S).length
}

function assessWorkers(workers: WorkerLine[]): Finding {
  const alive = countAlive(workers)
  if (alive > 0) return { level: 'ok', state: 'workers_alive', figures: { alive } }
  const [last] = workers
  if (!last) return { level: 'problem', state: 'no_worker', figures: {} }
  const level = last.silent_s <= DEAD_AFTER_S ? 'warning' : 'problem'
  return { level, state: 'worker_silent', figures: { silent_s: last.silent_s } }
}

interface LedgerFigures {
  accounts: number
  wrong: number
  /** The first accounts that are wrong. */
  found: { id: string; name: string }[]
  latest_s: number | null
  /** Seconds since the last check of the account that has waited longest. */
  waits_s: number | null
  is_operator_wrong: boolean
}

/** The second finding, if there is one, is about the books of the operator. */
export async function examineLedgers(): Promise<Finding[]> {
  const [ledgerRow] = await queryRows<LedgerFigures>(Prisma.sql`
    SELECT json_build_object('accounts', count(*), 'wrong', count(k.wrong),
      'found', (SELECT COALESCE(json_agg(w), '[]') FROM (
        SELECT b.name, b.id FROM ledger_checks c JOIN accounts b ON b.id = c.account_id
        WHERE c.wrong IS NOT NULL ORDER BY b.id LIMIT 5) w),
      'latest_s', extract(epoch FROM now() - max(k.checked_at))::int,
      'waits_s', max(extract(epoch FROM now() - COALESCE(k.checked_at, a.created_at)))::int,
      'is_operator_wrong', EXISTS (SELECT FROM ledger_checks h
        WHERE h.account_id = ${OPERATOR_ACCOUNT_ID}::uuid AND h.wrong IS NOT NULL))::text AS json
    FROM accounts a LEFT JOIN ledger_checks k ON k.account_id = a.id`)
  const ledgerFigures = ledgerRow as LedgerFigures
  const merchants = assessLedgers(ledgerFigures)
  if (!ledgerFigures.is_operator_wrong) return [merchants]
  return [merchants, { level: 'problem', state: 'operator_books_wrong', figures: {} }]
}

function assessLedgers({ accounts, wrong, found, latest_s, waits_s }: LedgerFigures): Finding {
  const figures = {
    accounts,
    wrong,
    names: found.map(({ id, name }) => `${name} (${id})`).join(', '),
    latest_s: latest_s ?? waits_s ?? 0,
    waits_s: waits_s ?? 0,
  }
  const subjects = accountSubjects(found)
  if (wrong > 0) return { level: 'problem', state: 'books_wrong', figures, subjects }
  if (accounts === 0) return { level: 'ok', state: 'books_none', figures }
  return (waits_s ?? 0) > UNCHECKED_AFTER_S
    ? { level: 'warning', state: 'books_unchecked', figures }
    : { level: 'ok', state: 'books_right', figures }
}

/** Looks for orders that people ended one way and the bank, later, another. */
export async function examineEnded(): Promise<Finding> {
  const contradicted = await db().$queryRaw<
    { id: string; kind: 'withdrawal' | 'refund' | 'return' }[]
  >`
    SELECT id, kind FROM bank_orders
    WHERE contradicted_at > now() - ${CONTRADICTED_SHOWN_DAYS} * interval '1 day'
    ORDER BY contradicted_at DESC`
  if (contradicted.length === 0) return { level: 'ok', state: 'ends_agree', figures: {} }
  const named = contradicted.slice(0, CONTRADICTED_NAMED_MAX)
  const subjects = named.map(({ id, kind }): FindingSubject => ({ kind, id, name: id }))
  const figures = { count: contradicted.length }
  return { level: 'problem', state: 'ends_contradicted', figures, subjects }
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
  const state = isStaffFactorRequired() ? 'staff_unguarded' : 'staff_local'
  return { level: 'warning', state, figures }
}

/** Maximum rows counted; more would not change the finding. */
const COUNTED_MAX = 10_000
const DUE_PER_ACCOUNT_MAX = 1_000

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

async function examineQueue(name: QueueName): Promise<Finding> {
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

/** Per account, so that a long queue is never read completely. */
const dueDeliveries = Prisma.sql`
  SELECT json_build_object('due', least(count(*), ${COUNTED_MAX}::int),
    'oldestS', extract(epoch FROM now() - min(w.due_at)))::text AS json
  FROM (${queuedAccountsSql} LIMIT ${COUNTED_MAX}) q CROSS JOIN LATERAL (
    SELECT d.due_at FROM deliveries d WHERE d.account_id = q.account_id AND d.due_at <= now()
    ORDER BY d.due_at, d.sequence LIMIT ${DUE_PER_ACCOUNT_MAX}) w`

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

/** Endpoints examined at most, newest first: each distinct host costs a DNS query. */
const ENDPOINTS_READ_MAX = 500
const NAMES_MAX = 5
/** The page reads its checks every few seconds; DNS is asked less often. */
const CACHE_MS = 5 * 60_000
/** Time for all queries; those that respond later are in the next result. */
const TIMEOUT_MS = 2_000

interface EndpointRow {
  account_id: string
  account: string
  mode: Mode
  url: string
}

/** Whether an origin is refused, by mode and origin; null while a query runs. */
const verdicts = new Map<string, { until: number; isRefused: boolean | null }>()

/** Finds enabled endpoints whose address is refused, for example since a setting has changed. */
export async function examineEndpoints(resolve?: ResolveName): Promise<Finding> {
  const endpoints = await queryRows<EndpointRow>(Prisma.sql`
    SELECT json_build_object('account_id', a.id, 'account', a.name, 'mode', p.mode, 'url', p.url)::text AS json
    FROM (SELECT * FROM webhook_endpoints WHERE deleted_at IS NULL AND disabled_at IS NULL
      ORDER BY created_at DESC LIMIT ${ENDPOINTS_READ_MAX}) p
    JOIN accounts a ON a.id = p.account_id`)
  const current = new Set(endpoints.map(keyOf))
  for (const key of verdicts.keys()) if (!current.has(key)) verdicts.delete(key)
  const timeout = new Promise(done => setTimeout(done, TIMEOUT_MS).unref())
  const work = Promise.all(endpoints.map(endpoint => refreshVerdict(endpoint, resolve)))
  await Promise.race([work, timeout])
  const refused = endpoints.filter(endpoint => verdicts.get(keyOf(endpoint))?.isRefused)
  if (refused.length === 0) return { level: 'ok', state: 'endpoints_allowed', figures: {} }
  // The path of a URL may contain a secret.
  const named = refused.slice(0, NAMES_MAX)
  const names = named.map(({ account, url }) => `${account} (${new URL(url).origin})`)
  const figures = { refused: refused.length, names: names.join(', ') }
  const subjects = accountSubjects(
    named.map(({ account_id, account }) => ({ id: account_id, name: account })),
  )
  return { level: 'warning', state: 'endpoints_refused', figures, subjects }
}

async function refreshVerdict(endpoint: EndpointRow, resolve?: ResolveName): Promise<void> {
  const key = keyOf(endpoint)
  const known = verdicts.get(key)
  if (known && performance.now() < known.until) return
  const verdict = { until: performance.now() + CACHE_MS, isRefused: known?.isRefused ?? null }
  verdicts.set(key, verdict)
  const found = await findTarget(endpoint.url, endpoint.mode, resolve)
  verdict.isRefused = 'problem' in found && found.isAddressRefused
}

function keyOf({ mode, url }: EndpointRow): string {
  return `${mode} ${new URL(url).origin}`
}
