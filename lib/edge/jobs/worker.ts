import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { releaseLeases } from '#lib/base/db/claim.ts'
import { db } from '#lib/base/db/client.ts'
import { listenForWakeUps } from '#lib/base/db/listen.ts'
import { onWake, type Topic, wakeLocal } from '#lib/base/db/wake.ts'
import { newId } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import {
  forgetChallenges,
  forgetKeys,
  forgetMails,
  forgetSessions,
  forgetTries,
  pruneAttemptBodies,
  pruneEvents,
  pruneGatewayCalls,
} from '#lib/edge/jobs/prune.ts'
import { expireDueCharges } from '#lib/rooms/charges/expire.ts'
import { chargeColumns, tellCharge } from '#lib/rooms/charges/queries.ts'
import { sendDueRefunds } from '#lib/rooms/charges/refunds/send.ts'
import { registerCharges, registerLateCharges } from '#lib/rooms/charges/register.ts'
import { tellWithdrawal } from '#lib/rooms/withdrawals/queries.ts'
import { sendDueWithdrawals } from '#lib/rooms/withdrawals/send.ts'
import { gatewayOf } from '#lib/services/gateway/choose.ts'
import { checkLedgers } from '#lib/services/ledger/check.ts'
import { sendDueMails } from '#lib/services/mail/send.ts'
import { createDeliverer } from '#lib/services/webhooks/deliver.ts'
import { resumeDeliveries } from '#lib/services/webhooks/endpoints.ts'

interface Job {
  name: string
  /** Does one batch of due work and returns its size. A job that yields may pause with `rest`. */
  run: (rest: () => Promise<void>) => Promise<number>
  /** Sleep after a run that found nothing due, unless the job is woken. */
  restsMs: number
  wakesOn?: Topic
  /** Pauses between batches, because much may be due at once and requests come first. */
  yields?: boolean
}

/** Polling interval, for wake-ups that were lost. */
const POLL_MS = 1_000
/** Rare, to spare requests that create charges: search also reads charges not yet registered. */
const REGISTER_MS = 2_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const HEARTBEAT_MS = 10_000
/** Rest per unit of work: less makes requests wait, more makes a sweep take too long. */
const REST_SHARE = 1.1
/** Time for running work to finish at shutdown; then it is aborted and its leases released. */
const END_WITHIN_MS = 5_000
/** Age at which the heartbeat of a killed worker is deleted. */
const FORGOTTEN_AFTER = '1 day'

export interface Worker {
  stop: () => Promise<void>
}

/** Runs the jobs until stopped. Several workers may run: each row is claimed by one of them. */
export function startWorker(): Worker {
  const id = newId()
  const stopping = new AbortController()
  const { signal } = stopping
  const tellers = { transaction: tellCharge, withdrawal: tellWithdrawal }
  const deliverer = createDeliverer(tellers, () => wakeLocal('deliveries'))
  // One run claims everything that may start: more becomes due only with the next wake-up.
  const deliver = () => deliverer.run().then(() => 0)
  const working = listJobs(deliver).map(job => work(job, signal))
  const others = Promise.all([beat(id, signal), listenForWakeUps(signal)])
  return {
    async stop() {
      stopping.abort()
      const ended = Promise.all([...working, deliverer.idle()])
      await Promise.race([ended, sleep(END_WITHIN_MS)])
      deliverer.abort()
      await releaseLeases().catch(() => {})
      await others
      await db()
        .workerHeartbeat.deleteMany({ where: { id } })
        .catch(() => {})
    },
  }
}

function listJobs(deliver: () => Promise<number>): Job[] {
  const polled = { restsMs: POLL_MS }
  const refund = () => sendDueRefunds(chargeColumns)
  const withdraw = () => sendDueWithdrawals()
  const expire: Job['run'] = rest => expireDueCharges(gatewayOf, rest)
  // Limits itself to a share of each minute, so it never counts as having more to do.
  const checkBooks = () => checkLedgers().then(() => 0)
  return [
    { name: 'expire charges', run: expire, wakesOn: 'charges', yields: true, ...polled },
    { name: 'send withdrawals', run: withdraw, wakesOn: 'withdrawals', ...polled },
    { name: 'send refunds', run: refund, wakesOn: 'refunds', ...polled },
    { name: 'deliver webhooks', run: deliver, wakesOn: 'deliveries', ...polled },
    { name: 'send mails', run: sendDueMails, ...polled },
    { name: 'index charges', run: () => registerCharges(), restsMs: REGISTER_MS, yields: true },
    { name: 'index late charges', run: registerLateCharges, restsMs: MINUTE_MS },
    { name: 'resume endpoints', run: resumeDeliveries, restsMs: MINUTE_MS },
    { name: 'prune idempotency keys', run: forgetKeys, restsMs: MINUTE_MS },
    { name: 'prune sign-in attempts', run: forgetTries, restsMs: MINUTE_MS },
    { name: 'prune challenges', run: forgetChallenges, restsMs: MINUTE_MS },
    { name: 'prune sessions', run: forgetSessions, restsMs: HOUR_MS },
    { name: 'prune failed mails', run: forgetMails, restsMs: HOUR_MS },
    { name: 'prune attempt bodies', run: pruneAttemptBodies, restsMs: HOUR_MS },
    { name: 'prune events', run: pruneEvents, restsMs: HOUR_MS },
    { name: 'prune gateway calls', run: pruneGatewayCalls, restsMs: HOUR_MS },
    { name: 'check ledgers', run: checkBooks, restsMs: MINUTE_MS },
  ]
}

async function work(job: Job, stopped: AbortSignal): Promise<void> {
  const alarm = new Alarm(job.wakesOn)
  let began = 0
  const rest = async () => {
    await sleep((performance.now() - began) * REST_SHARE)
    began = performance.now()
  }
  while (!stopped.aborted) {
    alarm.set()
    began = performance.now()
    const done = await job.run(rest).catch(error => {
      log().error({ err: error, job: job.name }, 'job failed, will be retried')
      return 0
    })
    if (done === 0) await alarm.sleep(job.restsMs, stopped)
    else if (job.yields) await rest()
  }
  alarm.off()
}

/** Interrupts a sleep when the job is woken, also if that happened during the last run. */
class Alarm {
  readonly off: () => void
  #rings = new AbortController()

  constructor(topic: Topic | undefined) {
    this.off = topic ? onWake(topic, () => this.#rings.abort()) : () => {}
  }

  set(): void {
    if (this.#rings.signal.aborted) this.#rings = new AbortController()
  }

  async sleep(durationMs: number, stopped: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([this.#rings.signal, stopped])
    await sleep(durationMs, undefined, { signal }).catch(() => {})
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
      log().error({ err: error, workerId: id }, 'worker heartbeat failed')
    }
    await sleep(HEARTBEAT_MS, undefined, { signal: stopped }).catch(() => {})
  }
}
