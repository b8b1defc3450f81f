import { readArchiver, readDatabaseAge, readLastRuns } from '#lib/backup/records.ts'
import { readClosures } from '#lib/banks/closures.ts'
import { listBanks } from '#lib/banks/served.ts'
import { logFailure } from '#lib/core/log.ts'
import type { Reading } from '#lib/core/metrics.ts'
import { Prisma } from '#lib/db/client.ts'
import { measureOffset } from '#lib/db/clock.ts'
import { queryRows } from '#lib/db/sql.ts'
import { readLargestTables } from '#lib/operator/database.ts'
import { countAlive, examineLedgers, listWorkers, readQueue } from '#lib/operator/health.ts'

/** Read one after the other, to use one connection. One that fails does not hide the others. */
const PARTS: Record<string, () => Promise<Reading[]>> = {
  workers: readWorkers,
  queues: readQueues,
  banks: readBanks,
  ledger: readLedger,
  backups: readBackups,
  tables: readTables,
}

/** What a process reports whose database cannot be reached in time. */
export const DATABASE_DOWN: Reading[] = [{ name: 'troco_database_up', value: 0 }]

/** Reads what the database knows, by the same statements as the health page. Never throws. */
export async function readDatabaseMetrics(): Promise<Reading[]> {
  const clock = await readPart('clock', readClock)
  if (!clock) return DATABASE_DOWN
  const readings: Reading[] = [{ name: 'troco_database_up', value: 1 }, ...clock]
  for (const [part, read] of Object.entries(PARTS)) {
    const found = await readPart(part, read)
    readings.push(...(found ?? []))
    readings.push({ name: 'troco_metrics_unread', labels: [part], value: found ? 0 : 1 })
  }
  return readings
}

function readPart(part: string, read: () => Promise<Reading[]>): Promise<Reading[] | null> {
  return read().catch(error => {
    logFailure(error, 'reading metrics failed', { part })
    return null
  })
}

async function readClock(): Promise<Reading[]> {
  return [{ name: 'troco_clock_offset_seconds', value: (await measureOffset()) / 1_000 }]
}

async function readWorkers(): Promise<Reading[]> {
  const workers = await listWorkers()
  const [newest] = workers
  const alive: Reading = { name: 'troco_workers', value: countAlive(workers) }
  if (!newest) return [alive]
  return [alive, { name: 'troco_worker_heartbeat_age_seconds', value: newest.silent_s }]
}

/** Without the search index, whose reading takes a step per account. */
const MEASURED_QUEUES = [
  'charges',
  'withdrawals',
  'refunds',
  'deliveries',
  'notices',
  'mails',
] as const

async function readQueues(): Promise<Reading[]> {
  const readings: Reading[] = []
  for (const queue of MEASURED_QUEUES) {
    const { due, oldestS } = await readQueue(queue)
    const labels = [queue]
    readings.push({ name: 'troco_queue_due', labels, value: due })
    readings.push({ name: 'troco_queue_oldest_due_seconds', labels, value: oldestS ?? 0 })
  }
  return readings
}

interface ConnectionState {
  id: string
  isResting: boolean
  blocked: number
}

/** Of open connections for production: others serve no account. */
async function readBanks(): Promise<Reading[]> {
  const states = await queryRows<ConnectionState>(Prisma.sql`
    SELECT json_build_object('id', connection_id, 'isResting', opened_at IS NOT NULL,
      'blocked', (SELECT count(*) FROM jsonb_object_keys(blocks)))::text AS json
    FROM connection_states`)
  const closures = await readClosures()
  const serving = (await listBanks()).filter(
    ({ connection, isClosed }) => connection.environment === 'production' && !isClosed,
  )
  return serving.flatMap(({ connection: { id, name }, gateway }): Reading[] => {
    const state = states.find(each => each.id === id)
    const labels = [name]
    const endsAt = gateway?.certificateEndsAt?.getTime()
    const end: Reading[] = endsAt
      ? [{ name: 'troco_bank_certificate_end_seconds', labels, value: endsAt / 1_000 }]
      : []
    return [
      { name: 'troco_bank_resting', labels, value: state?.isResting ? 1 : 0 },
      { name: 'troco_bank_money_out_closed', labels, value: closures.has(id) ? 1 : 0 },
      { name: 'troco_bank_blocked_operations', labels, value: state?.blocked ?? 0 },
      ...end,
    ]
  })
}

async function readLedger(): Promise<Reading[]> {
  const [merchants, operator] = await examineLedgers()
  const { wrong = 0, waits_s = 0 } = merchants?.figures ?? {}
  return [
    { name: 'troco_ledger_accounts_wrong', value: Number(wrong) + (operator ? 1 : 0) },
    { name: 'troco_ledger_check_age_seconds', value: Number(waits_s) },
  ]
}

async function readBackups(): Promise<Reading[]> {
  const backup = (await readLastRuns()).find(
    ({ kind, problem }) => kind === 'backup' && problem === null,
  )
  const { failing_s } = await readArchiver()
  // Without a backup, all that the database holds would be lost.
  const age_s = backup?.age_s ?? (await readDatabaseAge())
  return [
    { name: 'troco_backup_age_seconds', value: age_s },
    { name: 'troco_wal_archive_failing_seconds', value: failing_s ?? 0 },
  ]
}

const TABLES_MEASURED_MAX = 15

async function readTables(): Promise<Reading[]> {
  const largest = await readLargestTables(TABLES_MEASURED_MAX)
  return largest.map(({ table, bytes }) => ({
    name: 'troco_table_bytes',
    labels: [table],
    value: bytes,
  }))
}
