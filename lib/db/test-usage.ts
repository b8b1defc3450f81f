import { refuse } from '#lib/core/errors.ts'
import { dayOf } from '#lib/core/locale.ts'
import { log } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'

/**
 * Interval at which a process adds its bytes to those of all processes. Within it, processes do not know
 * of each other, so an account may exceed its quota by what it can send in this time.
 */
const STORE_INTERVAL_MS = 2_000
/** Rows, indexes, ledger entries, events and log of one small request, measured at 3 to 5 KiB. */
const REQUEST_BYTES = 4_096
/** A body is stored with its resource and again with the event of a change. */
const BODY_COPIES = 2

const usage = {
  /** Day of the counts, in the banks' time zone. */
  day: '',
  /** Bytes per account that are not stored yet. */
  pending: new Map<string, number>(),
  /** Bytes per account of all processes, as last read. */
  stored: new Map<string, number>(),
  timer: undefined as NodeJS.Timeout | undefined,
}

/** Refuses further writes in the test world of an account that has used up its bytes of today. */
export function requireTestQuota(accountId: string): void {
  const quota = env().TEST_BYTES_PER_DAY
  if (quota === 0) return
  beginDay()
  const used = (usage.stored.get(accountId) ?? 0) + (usage.pending.get(accountId) ?? 0)
  if (used >= quota) throw refuse('test_quota_exceeded', { retryAfterS: secondsToNextDay() })
}

/** Counts a request of the test world by an estimate: nothing is measured or written here. */
export function countTestRequest(accountId: string, bodyBytes: number): void {
  countTestBytes(accountId, REQUEST_BYTES + BODY_COPIES * bodyBytes)
}

export function countTestBytes(accountId: string, bytes: number): void {
  if (env().TEST_BYTES_PER_DAY === 0) return
  beginDay()
  usage.pending.set(accountId, (usage.pending.get(accountId) ?? 0) + bytes)
  usage.timer ??= setTimeout(storeTestUsage, STORE_INTERVAL_MS).unref()
}

/** Adds the pending bytes and reads those of all processes, in one statement for all accounts. */
export async function storeTestUsage(): Promise<void> {
  clearTimeout(usage.timer)
  usage.timer = undefined
  const { day, pending } = usage
  if (pending.size === 0) return
  usage.pending = new Map()
  // In the order of the key, so that two processes never wait for each other.
  const rows = [...pending].map(([id, bytes]) => ({ id, bytes }))
  try {
    const totals = await db().$queryRaw<{ id: string; bytes: bigint }[]>`
      INSERT INTO test_usage AS u (account_id, day, bytes)
      SELECT r.id, ${day}::date, r.bytes
      FROM json_to_recordset(${JSON.stringify(rows)}::json) AS r (id uuid, bytes bigint)
      ORDER BY r.id
      ON CONFLICT (account_id, day) DO UPDATE SET bytes = u.bytes + excluded.bytes
      RETURNING account_id AS id, bytes`
    if (usage.day !== day) return
    for (const { id, bytes } of totals) usage.stored.set(id, Number(bytes))
  } catch (error) {
    log().warn({ err: error }, 'storing test usage failed')
    if (usage.day !== day) return
    for (const [id, bytes] of pending) countTestBytes(id, bytes)
  }
}

function beginDay(): void {
  const day = dayOf(new Date())
  if (usage.day === day) return
  Object.assign(usage, { day, pending: new Map(), stored: new Map() })
}

/** Brasília has had no summer time since 2019, and is three hours behind UTC. */
function secondsToNextDay(): number {
  const DAY_S = 86_400
  const sinceMidnightS = (Date.now() / 1_000 - 3 * 3_600) % DAY_S
  return Math.max(1, Math.ceil(DAY_S - sinceMidnightS))
}
