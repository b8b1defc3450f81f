import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Pool } from 'pg'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { pool } from '#lib/db/client.ts'

/** Tables whose new work wakes the jobs. */
export const TOPICS = ['charges', 'orders', 'deliveries', 'notices'] as const
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
