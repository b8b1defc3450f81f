import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { db, Prisma } from '#lib/db/client.ts'
import {
  type ClockLevel,
  describeOffset,
  isAloneWrong,
  isWrong,
  levelOf,
  measureOffset,
  type ProcessClock,
} from '#lib/db/clock.ts'
import { queryRows } from '#lib/db/rows.ts'

const MEASURE_MS = 10_000
/** Three measurements missed: the process has ended, or does not reach the database. */
const KNOWN_FOR = '30 s'
const RETENTION = '1 hour'

const id = newId()
let own: ProcessClock | null = null

/** Measures this process's clock regularly, for `findClockFault`, the log and the health page. */
export function watchClock({ serves }: Pick<ProcessClock, 'serves'>): {
  stop: () => Promise<void>
} {
  const stopping = new AbortController()
  const watching = watch(serves, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await watching
      await db().$executeRaw`DELETE FROM process_clocks WHERE id = ${id}::uuid`.catch(() => {})
    },
  }
}

async function watch(serves: boolean, signal: AbortSignal): Promise<void> {
  const known = { host: hostname(), pid: process.pid, machine: readMachine(), serves }
  let logged: ClockLevel = 'right'
  while (!signal.aborted) {
    try {
      const offsetMs = await measureOffset()
      own = { ...known, offsetMs }
      logged = logChange(logged, offsetMs)
      await storeClock(own)
    } catch (error) {
      log().error({ err: error }, 'clock could not be compared with the database')
    }
    await sleep(MEASURE_MS, undefined, { signal }).catch(() => {})
  }
}

/** Returns the boot id, which all containers of a machine read, as they do its clock; else the host name. */
function readMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return hostname()
  }
}

/** Logs only a change: the health page shows what lasts. */
function logChange(logged: ClockLevel, offsetMs: number): ClockLevel {
  const level = levelOf(offsetMs)
  if (level === logged) return level
  if (level === 'right') log().info({ offsetMs }, 'clock agrees with the database')
  else log().warn({ offsetMs }, 'clock differs from the database')
  return level
}

async function storeClock(clock: ProcessClock): Promise<void> {
  const { host, pid, machine, serves, offsetMs } = clock
  await db().$executeRaw`
    INSERT INTO process_clocks (id, host, pid, machine, serves, offset_ms)
    VALUES (${id}::uuid, ${host}, ${pid}, ${machine}, ${serves}, ${offsetMs})
    ON CONFLICT (id) DO UPDATE SET offset_ms = EXCLUDED.offset_ms, measured_at = now()`
  await db().$executeRaw`
    DELETE FROM process_clocks WHERE measured_at < now() - ${RETENTION}::interval`
}

/** Lists the clocks of all running processes. */
export function listClocks(): Promise<ProcessClock[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('host', host, 'pid', pid, 'machine', machine, 'serves', serves,
      'offsetMs', offset_ms)::text AS json
    FROM process_clocks WHERE measured_at > now() - ${KNOWN_FOR}::interval ORDER BY host, pid`)
}

/** Returns why the clock of this process takes it out of service; null if it does not. */
export async function findClockFault(): Promise<string | null> {
  if (own === null || !isWrong(own) || !isAloneWrong(own, await listClocks())) return null
  return `the clock ${describeOffset(own.offsetMs)}`
}
