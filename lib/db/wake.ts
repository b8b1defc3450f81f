import { randomInt, randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Pool } from 'pg'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma, pool, UtcClient } from '#lib/db/client.ts'
import { isPooled } from '#lib/db/server.ts'

/** Tables whose new work wakes the jobs. */
const TOPICS = ['charges', 'orders', 'deliveries', 'notices'] as const
export type Topic = (typeof TOPICS)[number]
/** Topic, within the process only, that ends open event streams on shutdown. */
const SHUTDOWN_TOPIC = 'leaving'

/** NOTIFY channel between processes. Payload: sender id, a space, topics separated by commas. */
export const CHANNEL = 'troco'
/** NOTIFY in each transaction that moves money would halve the commit rate. */
const NOTIFY_EVERY_MS = 20

interface Bus {
  /** Id of this process, to ignore its own notifications. */
  senderId: string
  emitter: EventEmitter
  pendingTopics: Set<Topic>
  /** Pool of the last `wake`: `pool()` in the timer could open a new pool after shutdown. */
  notifyPool: Pool | null
  timer: NodeJS.Timeout | null
}

const bus = processWide<Bus>('wake', () => ({
  senderId: randomUUID(),
  emitter: new EventEmitter(),
  pendingTopics: new Set(),
  notifyPool: null,
  timer: null,
}))

/** Call after the commit. The signal reaches other processes in 20 ms; if lost, workers poll. */
export function wake(topic: Topic): void {
  wakeLocal(topic)
  bus.pendingTopics.add(topic)
  bus.notifyPool = pool()
  bus.timer ??= setTimeout(notifyOtherProcesses, NOTIFY_EVERY_MS).unref()
}

export function wakeLocal(topic: string): void {
  bus.emitter.emit(topic)
}

/** Wakes the topics of a notification, unless this process sent it. */
export function handleNotification(message: string): void {
  const [senderId, topics = ''] = message.split(' ')
  if (senderId !== bus.senderId) for (const topic of topics.split(',')) wakeLocal(topic)
}

/** Ends open event streams. Called on shutdown, before waiting for open requests. */
export function announceShutdown(): void {
  wakeLocal(SHUTDOWN_TOPIC)
}

export function onShutdown(listener: () => void): () => void {
  return subscribe(SHUTDOWN_TOPIC, listener)
}

export function onWake(topic: Topic, listener: () => void): () => void {
  return subscribe(topic, listener)
}

function subscribe(topic: string, listener: () => void): () => void {
  bus.emitter.on(topic, listener)
  return () => bus.emitter.off(topic, listener)
}

function notifyOtherProcesses(): void {
  const { pendingTopics, notifyPool } = bus
  const topics = [...pendingTopics].join(',')
  pendingTopics.clear()
  bus.timer = null
  notifyPool
    ?.query({ text: 'SELECT pg_notify($1, $2)', values: [CHANNEL, `${bus.senderId} ${topics}`] })
    .catch(error => log().debug({ err: error, topics }, 'waking other processes failed'))
}

/** Shorter than RETURN_MAX_MS, after which other processes take over keys. */
const RECONNECT_MIN_MS = 200
const RECONNECT_MAX_MS = 5_000
/** Time limit for a connection and for each statement on it. */
const RESPONSE_MAX_MS = 5_000
const PING_MS = 5_000
const CLOSE_MAX_MS = 1_000

interface SharedListener {
  listeners: number
  abortController: AbortController
  closed: Promise<void>
}

const shared = processWide('listener', () => ({ listener: null as SharedListener | null }))

/**
 * Listeners share one connection, which also shows that the process lives. While it is lost or a pooler
 * refuses it, jobs only poll.
 */
export async function listenForWakeUps(stopSignal: AbortSignal): Promise<void> {
  if (stopSignal.aborted) return
  shared.listener ??= openSharedListener()
  const { listener } = shared
  listener.listeners += 1
  await new Promise(resolve => stopSignal.addEventListener('abort', resolve, { once: true }))
  listener.listeners -= 1
  if (listener.listeners > 0) return
  if (shared.listener === listener) shared.listener = null
  listener.abortController.abort()
  await listener.closed
}

/** Starts listening, so that other processes can detect this one's death. */
export function startListening(): () => Promise<void> {
  const stopping = new AbortController()
  const listening = listenForWakeUps(stopping.signal)
  return () => {
    stopping.abort()
    return listening
  }
}

function openSharedListener(): SharedListener {
  const controller = new AbortController()
  return {
    listeners: 0,
    abortController: controller,
    closed: listenUntilAborted(controller.signal),
  }
}

async function listenUntilAborted(stopSignal: AbortSignal): Promise<void> {
  let pauseMs = RECONNECT_MIN_MS
  const onConnected = () => {
    pauseMs = RECONNECT_MIN_MS
  }
  while (!stopSignal.aborted) {
    await listenOnce(stopSignal, onConnected).catch(error =>
      log().warn({ err: error }, 'wake-up connection failed, polling until it reconnects'),
    )
    await sleep(pauseMs, undefined, { signal: stopSignal }).catch(() => {})
    pauseMs = Math.min(2 * pauseMs, RECONNECT_MAX_MS)
  }
}

async function listenOnce(stopSignal: AbortSignal, onConnected: () => void): Promise<void> {
  const { DATABASE_DIRECT_URL, DATABASE_URL } = env()
  const client = new UtcClient({
    connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
    keepAlive: true,
    connectionTimeoutMillis: RESPONSE_MAX_MS,
    query_timeout: RESPONSE_MAX_MS,
    application_name: 'troco listener',
  })
  const ended = new Promise<void>((resolve, reject) => {
    client.on('error', reject)
    client.on('end', resolve)
    stopSignal.addEventListener('abort', () => resolve(), { once: true })
  })
  ended.catch(() => {})
  client.on('notification', ({ payload }) => handleNotification(payload ?? ''))
  try {
    await client.connect()
    await client.query(`LISTEN ${CHANNEL}`)
    await showPresence(client)
    onConnected()
    // Notifications sent before LISTEN are lost, so every topic is woken once.
    for (const topic of TOPICS) wakeLocal(topic)
    await Promise.race([ended, ping(client, stopSignal)])
  } finally {
    hidePresence()
    await Promise.race([client.end().catch(() => {}), sleep(CLOSE_MAX_MS)])
    client.connection.stream.destroy()
  }
}

/** Fails when the server no longer responds, which an idle connection would not notice for hours. */
async function ping(client: UtcClient, stopSignal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(PING_MS, undefined, { signal: stopSignal })
    await client.query('SELECT')
    await checkPresence()
  }
}

/** First number of the advisory locks that mark living processes; the second is the process's own. */
export const PRESENCE_LOCKS = 1_349_677_672
/** A process that is not seen for this long is dead: one that lives connects again sooner. */
export const RETURN_MAX_MS = 1_500
/** PostgreSQL notices within 11 s that the machine of a process is gone; the default is two hours. */
const KEEPALIVES = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3`

const state = processWide('presence', () => ({ number: randomInt(1, 2 ** 31), isShown: false }))

/**
 * Shows on a connection that this process lives: PostgreSQL releases the lock when the connection ends,
 * as it does with the process. Behind a pooler, which keeps the session, nothing is shown.
 */
export async function showPresence(client: Client): Promise<void> {
  if (await isPooled(client)) return
  await client.query(KEEPALIVES)
  // Shared, because the connection before this one may still have it.
  await client.query('SELECT pg_advisory_lock_shared($1, $2)', [PRESENCE_LOCKS, state.number])
  await checkPresence()
}

/** The lock counts only where the keys are: its connection may lead to another server or database. */
export async function checkPresence(): Promise<void> {
  const isSeen = isSeenSql(Prisma.sql`${state.number}::integer`)
  const rows = await db().$queryRaw<{ isSeen: boolean }[]>`SELECT ${isSeen} AS "isSeen"`.catch(
    () => null,
  )
  if (rows) state.isShown = rows[0]?.isSeen ?? false
}

export function hidePresence(): void {
  state.isShown = false
}

/** Returns the number under which this process is seen; null if it is not. */
export function presence(): number | null {
  return state.isShown ? state.number : null
}

/** Condition: the process of the number in `column` is another one, and not seen any more. */
export function isGoneSql(column: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${column} IS NOT NULL AND ${column} <> ${state.number} AND NOT ${isSeenSql(column)})`
}

function isSeenSql(number: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${PRESENCE_LOCKS}::oid AND objid = ${number}::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`
}
