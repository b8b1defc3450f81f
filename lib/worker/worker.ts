import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { warnOfCertificates } from '#lib/accounts/connections.ts'
import { serializePixNotice } from '#lib/api-pix/wire.ts'
import { type BankNotice, claimNotices, endNotices, QUESTIONS_MAX } from '#lib/banks/notices.ts'
import { listServed } from '#lib/banks/served.ts'
import { createDisputeReader } from '#lib/charges/disputes/read-list.ts'
import { createVerifier, expireDueCharges } from '#lib/charges/due.ts'
import { serializeChargeEvent } from '#lib/charges/list.ts'
import {
  askAboutPayments,
  createPaymentReader,
  hastenCharges,
  hastenReading,
} from '#lib/charges/read-payments.ts'
import { refundOrders } from '#lib/charges/refunds/refund.ts'
import { indexCharges, indexLateCharges } from '#lib/charges/search.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { newId } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { increment } from '#lib/core/metrics.ts'
import { releaseLeases } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'
import { listenForWakeUps, onWake, type Topic, wake, wakeLocal } from '#lib/db/wake.ts'
import { findClaimed } from '#lib/differences/differences.ts'
import { checkLedgers } from '#lib/ledger/check.ts'
import { sendDueMails } from '#lib/mail/queue.ts'
import { returnOrders } from '#lib/operator/differences/differences.ts'
import { createDayReconciler } from '#lib/operator/reconciliation/reconcile.ts'
import { createRestoreReader } from '#lib/operator/restore.ts'
import { hastenOrders, type RulesByKind } from '#lib/orders/order.ts'
import { askAboutEnded, askAboutReturned, createOrderSender } from '#lib/orders/send.ts'
import { continueTrials, noteTrialNotices } from '#lib/trials/trial.ts'
import { createDeliverer } from '#lib/webhooks/deliver.ts'
import { resumeDeliveries } from '#lib/webhooks/endpoints.ts'
import { healQueues } from '#lib/webhooks/queue.ts'
import { expireWaitingWithdrawals, mailApprovers } from '#lib/withdrawals/approval.ts'
import { createReturnsReader, withdrawalOrders } from '#lib/withdrawals/outcome.ts'
import { serializeWithdrawalEvent } from '#lib/withdrawals/queries.ts'
import {
  pruneAttemptBodies,
  pruneChallenges,
  pruneEvents,
  pruneFailedMails,
  pruneGatewayCalls,
  pruneIdempotencyKeys,
  pruneRequestCounts,
  pruneSessions,
  pruneSignInAttempts,
  pruneTestUsage,
  rotateRequestLog,
} from '#lib/worker/prune.ts'

interface Job {
  name: string
  /** Does one batch of due work and returns its size. A long batch may pause with `rest`. */
  run: (rest: () => Promise<void>) => Promise<number>
  /** Sleep after a run that found nothing due, unless the job is woken. */
  idleMs: number
  wakesOn?: Topic
  /** Pauses between batches, because much may be due at once and requests come first. */
  shouldYield?: boolean
}

/** Polling interval, because a wake-up may be lost. */
const POLL_MS = 1_000
/** Longer than POLL_MS: indexing slows creating charges; a search also scans unindexed ones. */
const INDEX_INTERVAL_MS = 2_000
const MAIL_APPROVERS_MS = 10_000
/** A person waits for the next step of a trial. */
const CONTINUE_TRIALS_MS = 5_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Shorter than the pauses with which a bank makes a statement. */
const RECONCILE_MS = 5_000
const HEARTBEAT_MS = 10_000
/** Pause per unit of work: shorter makes requests wait, longer makes a sweep take too long. */
const REST_RATIO = 0.4
/** Time for running work to finish at shutdown; then it is aborted and its leases released. */
const SHUTDOWN_TIMEOUT_MS = 5_000
/** Age at which the heartbeat of a killed worker is deleted. */
const HEARTBEAT_RETENTION = '1 day'

export interface Worker {
  /** Names of the jobs that it runs. */
  jobs: string[]
  stop: () => Promise<void>
}

/** Runs the jobs until stopped. Several workers may run: each row is claimed by one of them. */
export function startWorker(): Worker {
  const id = newId()
  const stopping = new AbortController()
  const { signal } = stopping
  const serializers = {
    transaction: serializeChargeEvent,
    withdrawal: serializeWithdrawalEvent,
    apiPix: serializePixNotice,
  }
  const deliverer = createDeliverer(serializers, () => wakeLocal('deliveries'))
  const verifier = createVerifier(() => wakeLocal('charges'))
  const orders = createOrderSender(ORDER_RULES, () => wakeLocal('orders'))
  const payments = createPaymentReader()
  const lists = [createDisputeReader(), createReturnsReader()]
  const days = createDayReconciler()
  const restored = createRestoreReader(ORDER_RULES)
  // 0 makes a job sleep until the next wake-up or poll: one run claims everything that may start.
  const jobs = listJobs({
    signal,
    expire: rest => expireDueCharges(verifier, rest),
    deliver: () => deliverer.run(signal).then(() => 0),
    send: () => orders.run().then(() => 0),
    receive: () => payments.run(signal).then(() => 0),
    list: () => Promise.all(lists.map(reader => reader.run(signal))).then(() => 0),
    reconcile: () => days.run(signal).then(() => 0),
    restore: () => restored.run(signal).then(() => 0),
  })
  const running = new Map(jobs.map(job => [job.name, runJob(job, signal)]))
  const background = Promise.all([sendHeartbeats(id, signal), listenForWakeUps(signal)])
  return {
    jobs: [...running.keys()],
    async stop() {
      stopping.abort()
      const callers = [deliverer, verifier, orders, payments, ...lists, days, restored]
      const finished = Promise.all(running.values()).then(() =>
        Promise.all([awaitQuestions(), ...callers.map(({ idle }) => idle())]),
      )
      await Promise.race([finished, sleep(SHUTDOWN_TIMEOUT_MS, undefined, { ref: false })])
      deliverer.abort()
      await releaseLeases().catch(() => {})
      await background
      await db()
        .workerHeartbeat.deleteMany({ where: { id } })
        .catch(() => {})
    },
  }
}

/** Jobs that call other servers, and do not await the responses. */
type Callers = Record<
  'expire' | 'deliver' | 'send' | 'receive' | 'list' | 'reconcile' | 'restore',
  Job['run']
>

function listJobs({
  signal,
  expire,
  deliver,
  send,
  receive,
  ...banks
}: Callers & { signal: AbortSignal }): Job[] {
  const polled = { idleMs: POLL_MS }
  // 0 makes the job sleep, so that a burst of withdrawals causes one mail per interval.
  const mail = () => mailApprovers().then(() => 0)
  // 0 makes the job sleep: one run warns of all certificates.
  const warn = () => warnOfCertificates().then(() => 0)
  // 0 makes the job sleep until the next minute: one run reads all queues.
  const heal: Job['run'] = rest => healQueues(rest).then(() => 0)
  // 0 makes the job sleep: one run makes and drops all partitions.
  const rotate = () => rotateRequestLog().then(() => 0)
  // 0 makes the job sleep until the next minute: the checks limit themselves to a share of each.
  const runLedgerChecks = () => checkLedgers(undefined, signal).then(() => 0)
  return [
    { name: 'expire charges', run: expire, wakesOn: 'charges', shouldYield: true, ...polled },
    { name: 'read payments', run: receive, ...polled },
    { name: 'send orders', run: send, wakesOn: 'orders', ...polled },
    { name: 'expire waiting withdrawals', run: expireWaitingWithdrawals, idleMs: MINUTE_MS },
    { name: 'ask about ended orders', run: () => askAboutEnded(ORDER_RULES), idleMs: MINUTE_MS },
    { name: 'mail approvers', run: mail, idleMs: MAIL_APPROVERS_MS },
    { name: 'warn of certificates', run: warn, idleMs: HOUR_MS },
    { name: 'read disputes and returns', run: banks.list, idleMs: MINUTE_MS },
    { name: 'reconcile days', run: banks.reconcile, idleMs: RECONCILE_MS },
    { name: 'read banks after a restore', run: banks.restore, idleMs: RECONCILE_MS },
    { name: 'continue connection trials', run: continueTrials, idleMs: CONTINUE_TRIALS_MS },
    { name: 'ask about notices', run: askAboutNotices, wakesOn: 'notices', ...polled },
    { name: 'deliver webhooks', run: deliver, wakesOn: 'deliveries', ...polled },
    { name: 'send mails', run: sendDueMails, ...polled },
    {
      name: 'index charges',
      run: () => indexCharges(),
      idleMs: INDEX_INTERVAL_MS,
      shouldYield: true,
    },
    { name: 'index late charges', run: indexLateCharges, idleMs: MINUTE_MS },
    { name: 'heal webhook queues', run: heal, idleMs: MINUTE_MS },
    { name: 'resume endpoints', run: resumeDeliveries, idleMs: MINUTE_MS },
    { name: 'prune idempotency keys', run: pruneIdempotencyKeys, idleMs: MINUTE_MS },
    { name: 'prune sign-in attempts', run: pruneSignInAttempts, idleMs: MINUTE_MS },
    { name: 'prune challenges', run: pruneChallenges, idleMs: MINUTE_MS },
    { name: 'prune sessions', run: pruneSessions, idleMs: HOUR_MS },
    { name: 'prune test usage', run: pruneTestUsage, idleMs: HOUR_MS },
    { name: 'prune request counts', run: pruneRequestCounts, idleMs: HOUR_MS },
    { name: 'rotate request log', run: rotate, idleMs: HOUR_MS },
    { name: 'prune failed mails', run: pruneFailedMails, idleMs: HOUR_MS },
    { name: 'prune attempt bodies', run: pruneAttemptBodies, idleMs: HOUR_MS },
    { name: 'prune events', run: pruneEvents, idleMs: HOUR_MS },
    { name: 'prune gateway calls', run: pruneGatewayCalls, idleMs: HOUR_MS },
    { name: 'check ledgers', run: runLedgerChecks, idleMs: MINUTE_MS },
  ]
}

async function runJob(job: Job, stopSignal: AbortSignal): Promise<void> {
  const alarm = new Alarm(job.wakesOn)
  let began = 0
  const rest = async () => {
    await sleep((performance.now() - began) * REST_RATIO)
    began = performance.now()
  }
  while (!stopSignal.aborted) {
    alarm.reset()
    began = performance.now()
    const batchSize = await job.run(rest).catch(error => {
      log().error({ err: error, job: job.name }, 'job failed, will be retried')
      increment('troco_job_failures_total', [job.name])
      return 0
    })
    if (batchSize === 0) await alarm.sleep(job.idleMs, stopSignal)
    else if (job.shouldYield) await rest()
  }
  alarm.unsubscribe()
}

/** Interrupts a sleep when the job is woken. A wake-up during the previous run counts too. */
class Alarm {
  readonly unsubscribe: () => void
  #wakeUp = new AbortController()

  constructor(topic: Topic | undefined) {
    this.unsubscribe = topic ? onWake(topic, () => this.#wakeUp.abort()) : () => {}
  }

  reset(): void {
    if (this.#wakeUp.signal.aborted) this.#wakeUp = new AbortController()
  }

  async sleep(durationMs: number, stopSignal: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([this.#wakeUp.signal, stopSignal])
    await sleep(durationMs, undefined, { signal }).catch(() => {})
  }
}

async function sendHeartbeats(id: string, stopSignal: AbortSignal): Promise<void> {
  while (!stopSignal.aborted) {
    try {
      await db().$executeRaw`
        INSERT INTO worker_heartbeats (id, host, pid) VALUES (${id}::uuid, ${hostname()}, ${process.pid})
        ON CONFLICT (id) DO UPDATE SET beat_at = now()`
      await db().$executeRaw`
        DELETE FROM worker_heartbeats WHERE beat_at < now() - ${HEARTBEAT_RETENTION}::interval`
    } catch (error) {
      log().error({ err: error, workerId: id }, 'worker heartbeat failed')
    }
    await sleep(HEARTBEAT_MS, undefined, { signal: stopSignal }).catch(() => {})
  }
}

/** Questions about payments, by connection. */
const questions = new Pool()

/** Awaits the questions about payments that are in progress. */
const awaitQuestions = () => questions.idle()

/**
 * Turns notices into questions: the named charge or order becomes due, and its job asks the bank. A trial stores
 * that its notice came. A payment that no job covers is asked about by its id, in a pool, so that a slow bank delays
 * no other. Only the ids of a notice are used. Returns how many notices were due.
 */
export async function askAboutNotices(): Promise<number> {
  const due = await claimNotices()
  for (const [connectionId, ofConnection] of Map.groupBy(due, notice => notice.connectionId)) {
    for (const [kind, notices] of Map.groupBy(ofConnection, notice => notice.kind)) {
      const open = await askAbout(
        connectionId,
        kind,
        notices.map(({ id }) => id),
      )
      const isOver = ({ id, attempts }: BankNotice) => !open.has(id) || attempts >= QUESTIONS_MAX
      await endNotices(notices.filter(isOver))
    }
  }
  return due.length
}

/** Returns the ids about which the bank must be asked again if this question finds nothing. */
async function askAbout(
  connectionId: string,
  kind: BankNotice['kind'],
  ids: string[],
): Promise<Set<string>> {
  if (kind === 'return') {
    // The notice of one that has not ended here is kept until it has: it may fail a moment after it was done.
    const open = await hastenOrders(connectionId, ids)
    await askAboutReturned(connectionId, ids)
    return open
  }
  const isPayment = kind === 'payment' || kind === 'payment_return'
  if (kind === 'charge' || isPayment)
    await noteTrialNotices(connectionId, isPayment ? 'payment' : kind, ids)
  if (!isPayment) {
    const isCharge = kind === 'charge'
    const open = await (isCharge ? hastenCharges : hastenOrders)(connectionId, ids)
    if (open.size > 0) wake(isCharge ? 'charges' : 'orders')
    return open
  }
  const booked = await findClaimed(connectionId, ids)
  const unbooked = ids.filter(id => !booked.has(id))
  // Of a payment that is booked, the bank may have given money back.
  const asked = kind === 'payment' ? unbooked : ids
  if (asked.length > 0) await lookFor(connectionId, asked, kind === 'payment' ? 'late' : 'returned')
  return new Set(unbooked)
}

/** While the bank has not answered the last questions, or for homologation, only its list is read. */
async function lookFor(
  connectionId: string,
  ids: string[],
  listed: Parameters<typeof hastenReading>[1],
): Promise<void> {
  const connection = (await listServed()).find(({ id }) => id === connectionId)
  if (!connection || questions.free(connectionId) === 0) return hastenReading(connectionId, listed)
  const logFailure = (err: unknown) =>
    log().error({ err, connectionId }, 'asking about payments failed')
  questions.start(askAboutPayments(connection, ids, listed), logFailure, connectionId)
}

/** All kinds of orders that leave through a bank. */
export const ORDER_RULES = {
  withdrawal: withdrawalOrders,
  refund: refundOrders,
  return: returnOrders,
} satisfies RulesByKind
