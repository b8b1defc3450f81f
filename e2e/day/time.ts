import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { wake } from '#lib/db/wake.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** A single wait has no limit of its own: a busy machine is slow. */
const STANDSTILL_MAX_MS = 240_000
const POLL_MS = 150
const WORK_MAX_MS = 250
const WORK_POLL_MS = 40

let progressedAt = Date.now()

/** Notes that the day goes on: a request had its response, money moved, or something ended. */
export function noteProgress(): void {
  progressedAt = Date.now()
}

/** Whether nothing of the day has gone on for long. */
export function hasStopped(): boolean {
  return Date.now() - progressedAt > STANDSTILL_MAX_MS
}

/**
 * Lets time pass for the rows of a database without waiting, by moving their times back as the owner.
 * Rows that a worker holds stay: their leases are renewed by the true time.
 */
export class Time {
  readonly #client: Client
  /** How much has passed beside the true time. */
  passedMs = 0
  #seen = ''

  private constructor(client: Client) {
    this.#client = client
  }

  static async open(): Promise<Time> {
    const client = new Client({ connectionString: ownerUrlOf() })
    await client.connect()
    return new Time(client)
  }

  async pass(ms: number): Promise<void> {
    this.passedMs += ms
    for (const statement of PASSING) await this.#client.query(statement, [ms / 1_000])
    for (const topic of WAKEFUL) wake(topic)
    await this.#noteProgress()
  }

  async #noteProgress(): Promise<void> {
    const { rows } = await this.#client.query<{ moved: string }>(MOVED)
    // Leases come and go also of work that never ends.
    const open = Object.entries(await this.listOpen()).filter(([kind]) => !kind.endsWith('held'))
    const seen = JSON.stringify([rows, open])
    if (seen !== this.#seen) noteProgress()
    this.#seen = seen
  }

  /** Waits until workers have done what is due, but not long: a row may belong to one that was killed. */
  async waitForWork(): Promise<void> {
    for (const began = Date.now(); Date.now() - began < WORK_MAX_MS; ) {
      await sleep(WORK_POLL_MS)
      const { rows } = await this.#client.query<{ is_busy: boolean }>(IS_BUSY)
      if (!rows[0]?.is_busy) return
    }
  }

  /** Lets time pass until the next row is due, or longer, if nothing happens meanwhile: at most a day. */
  async passToNext(): Promise<void> {
    const { rows } = await this.#client.query<{ ms: number | null }>(NEXT_DUE)
    const leastMs = findLeastMs(Object.keys(await this.listOpen()))
    await this.pass(Math.min(DAY_MS, Math.max(leastMs, rows[0]?.ms ?? 0)))
  }

  /** Returns what is not done, by its kind; rows of the work that never ends excepted. */
  async listOpen(): Promise<Record<string, number>> {
    const { rows } = await this.#client.query<{ kind: string; count: number }>(OPEN)
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]))
  }

  close(): Promise<void> {
    return this.#client.end()
  }
}

/** Least time that passes at once: little while a row is held, a day for the last questions. */
function findLeastMs(open: string[]): number {
  if (open.some(kind => /held/.test(kind))) return 10 * SECOND_MS
  if (open.some(kind => /notices|opening/.test(kind))) return 60 * SECOND_MS
  if (open.some(kind => /^(bank_orders|withdrawals|refunds)/.test(kind))) return 120 * SECOND_MS
  return open.includes('charges pending') ? HOUR_MS : DAY_MS
}

/** Skips rows that are being changed: they are a little younger. */
function moveBack(table: string, key: string, columns: string[], condition: string): string {
  const moved = columns.map(column => `${column} = t.${column} - make_interval(secs => $1::float8)`)
  const keys = key.split(', ')
  return `WITH free AS MATERIALIZED (SELECT ${key} FROM ${table} WHERE ${condition} FOR UPDATE SKIP LOCKED)
    UPDATE ${table} t SET ${moved.join(', ')} FROM free
    WHERE ${keys.map(name => `t.${name} = free.${name}`).join(' AND ')}`
}

const ROW = 'account_id, id'
const IS_FREE = 'due_at IS NOT NULL AND lease IS NULL'
const PASSING = [
  moveBack('charges', ROW, ['due_at', 'created_at', 'updated_at', 'expires_at'], IS_FREE),
  moveBack('bank_orders', ROW, ['due_at', 'created_at', 'sent_at', 'slot_until'], IS_FREE),
  moveBack('withdrawals', ROW, ['created_at'], `status = 'pending'`),
  moveBack('refunds', ROW, ['created_at'], `status = 'pending'`),
  moveBack('payment_readings', 'connection_id, pace', ['due_at', 'paused_until'], 'lease IS NULL'),
  moveBack('bank_notices', 'connection_id, kind, id', ['due_at', 'asked_at', 'created_at'], 'true'),
  moveBack('connection_states', 'connection_id', ['opened_at', 'probe_until'], 'true'),
  // After several failed probes a rest takes a minute, in which merchants would only repeat requests.
  'UPDATE connection_states SET retry_at = now() - make_interval(secs => $1::float8) WHERE retry_at > now()',
  moveBack('order_queues', 'connection_id, operation', ['paused_until'], 'true'),
  moveBack(
    'idempotency_keys',
    'account_id, mode, path, key',
    ['locked_until'],
    'locked_until IS NOT NULL',
  ),
  // Later calls of the journal decide nothing.
  moveBack('gateway_calls', 'id', ['created_at'], `outcome IS NULL OR outcome = 'unknown'`),
]

/** Jobs that need not wait until they poll. */
const WAKEFUL = ['charges', 'orders', 'notices'] as const
const DUE_TABLES = ['charges', 'bank_orders'] as const
const NEXT_DUE = `SELECT extract(epoch FROM min(due_at) - now())::float8 * 1000 AS ms FROM (
  ${DUE_TABLES.map(table => `SELECT due_at FROM ${table} WHERE ${IS_FREE}`).join(' UNION ALL ')}
  UNION ALL SELECT due_at FROM bank_notices) due`
/** A due payout may have to wait for a slot at the bank. */
const IS_BUSY = `SELECT EXISTS (SELECT FROM (
  ${DUE_TABLES.map(table => `SELECT lease, due_at, '${table}' AS kind FROM ${table} WHERE due_at IS NOT NULL`).join(' UNION ALL ')}
  UNION ALL SELECT NULL, due_at, 'notices' FROM bank_notices) open
  WHERE lease IS NOT NULL OR due_at <= now() AND kind <> 'bank_orders') AS is_busy`
const MOVED = 'SELECT count(*) AS moved FROM ledger_transfers'
const OPEN = `SELECT kind, count(*)::int AS count FROM (
  ${DUE_TABLES.map(table => `SELECT '${table} due' AS kind FROM ${table} WHERE due_at IS NOT NULL`).join(' UNION ALL ')}
  UNION ALL ${DUE_TABLES.map(table => `SELECT '${table} held' FROM ${table} WHERE lease IS NOT NULL`).join(' UNION ALL ')}
  UNION ALL SELECT 'charges opening' FROM charges WHERE status = 'opening'
  UNION ALL SELECT 'charges pending' FROM charges WHERE status = 'pending'
  UNION ALL SELECT 'withdrawals pending' FROM withdrawals WHERE status = 'pending'
  UNION ALL SELECT 'refunds pending' FROM refunds WHERE status = 'pending'
  UNION ALL SELECT 'notices' FROM bank_notices
  UNION ALL SELECT 'readings held' FROM payment_readings WHERE lease IS NOT NULL) open
  GROUP BY kind`

export async function waitFor(what: string, isReached: () => Promise<boolean>): Promise<void> {
  for (; !(await isReached()); await sleep(POLL_MS))
    if (hasStopped()) throw new Error(`Nothing goes on, while waiting for ${what}`)
  noteProgress()
}
