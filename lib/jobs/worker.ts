import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expireDueCharges } from '#lib/charges/expire.ts'
import { chargeColumns } from '#lib/charges/queries.ts'
import { db } from '#lib/db/client.ts'
import { newId } from '#lib/ids.ts'
import { log } from '#lib/log.ts'
import { sendDueRefunds } from '#lib/refunds/send.ts'
import { sendDueWithdrawals } from '#lib/withdrawals/send.ts'

interface Job {
  name: string
  /** Does what is due now, some of it at a time, and says how many it did. */
  run: () => Promise<number>
}

const JOBS: Job[] = [
  { name: 'expire charges', run: expireDueCharges },
  { name: 'send withdrawals', run: sendDueWithdrawals },
  { name: 'send refunds', run: () => sendDueRefunds(chargeColumns) },
]

const POLL_MS = 1_000
const HEARTBEAT_MS = 10_000
/** A heartbeat that nobody took away, because its worker was killed. */
const FORGOTTEN_AFTER = '1 day'

export interface Worker {
  stop: () => Promise<void>
}

/** Works off the jobs until it is stopped. Any number may run at once: each row is claimed by one. */
export function startWorker(): Worker {
  const id = newId()
  const stopping = new AbortController()
  const running = Promise.all([work(stopping.signal), beat(id, stopping.signal)])
  return {
    async stop() {
      stopping.abort()
      await running
      await db()
        .workerHeartbeat.deleteMany({ where: { id } })
        .catch(() => {})
    },
  }
}

async function work(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    let done = 0
    for (const job of JOBS) {
      if (!stopped.aborted) done += await runJob(job)
    }
    if (done === 0) await pause(POLL_MS, stopped)
  }
}

async function runJob(job: Job): Promise<number> {
  try {
    return await job.run()
  } catch (error) {
    log().error({ err: error, job: job.name }, 'a job failed and will be tried again')
    return 0
  }
}

async function beat(id: string, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      await db().$executeRaw`
        INSERT INTO worker_heartbeats (id, host, pid) VALUES (${id}::uuid, ${hostname()}, ${process.pid})
        ON CONFLICT (id) DO UPDATE SET beat_at = now()`
      await db().$executeRaw`
        DELETE FROM worker_heartbeats WHERE beat_at < now() - ${FORGOTTEN_AFTER}::interval`
    } catch (error) {
      log().error({ err: error }, 'the worker could not leave its heartbeat')
    }
    await pause(HEARTBEAT_MS, stopped)
  }
}

async function pause(durationMs: number, stopped: AbortSignal): Promise<void> {
  await sleep(durationMs, undefined, { signal: stopped }).catch(() => {})
}
