import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Pool } from 'pg'
import { pool } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'

/** Tables whose new work wakes listeners. */
export const TOPICS = ['charges', 'withdrawals', 'refunds', 'deliveries'] as const
export type Topic = (typeof TOPICS)[number]
/** Local topic for shutdown, so that open event streams end. */
const LEAVING = 'leaving'

/** NOTIFY channel between processes. Payload: sender id, a space, topics separated by commas. */
export const CHANNEL = 'troco'
/** Interval of NOTIFY. Sent inside each transaction that moves money, it would halve the commit rate. */
const TELL_OTHERS_EVERY_MS = 20

interface Bus {
  /** Id of this process, to ignore its own notifications. */
  speaker: string
  emitter: EventEmitter
  waiting: Set<Topic>
  /** Pool of the last caller: the timer must not open a new one after shutdown closed it. */
  through: Pool | null
  timer: NodeJS.Timeout | null
}

const HOLDER = Symbol.for('troco.wake')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Bus }

/** Returns the bus of the process, shared by the native modules and Next's copy of them. */
function bus(): Bus {
  holder[HOLDER] ??= {
    speaker: randomUUID(),
    emitter: new EventEmitter(),
    waiting: new Set(),
    through: null,
    timer: null,
  }
  return holder[HOLDER]
}

/**
 * Signals new work, to this process at once and to others within 20 ms. Call it after the commit. A
 * lost signal is harmless, because workers also poll.
 */
export function wake(topic: Topic): void {
  wakeHere(topic)
  const { waiting } = bus()
  waiting.add(topic)
  bus().through = pool()
  bus().timer ??= setTimeout(tellOthers, TELL_OTHERS_EVERY_MS).unref()
}

export function wakeHere(topic: string): void {
  bus().emitter.emit(topic)
}

/** Handles a notification, ignoring those that this process sent. */
export function heardFromOthers(message: string): void {
  const [speaker, topics = ''] = message.split(' ')
  if (speaker !== bus().speaker) for (const topic of topics.split(',')) wakeHere(topic)
}

/** Ends open event streams. Called on shutdown, before waiting for open requests. */
export function sayLeaving(): void {
  wakeHere(LEAVING)
}

export function onLeaving(listener: () => void): () => void {
  return on(LEAVING, listener)
}

export function onWake(topic: Topic, listener: () => void): () => void {
  return on(topic, listener)
}

function on(topic: string, listener: () => void): () => void {
  bus().emitter.on(topic, listener)
  return () => bus().emitter.off(topic, listener)
}

function tellOthers(): void {
  const { waiting, through } = bus()
  const topics = [...waiting].join(',')
  waiting.clear()
  bus().timer = null
  through
    ?.query({ text: 'SELECT pg_notify($1, $2)', values: [CHANNEL, `${bus().speaker} ${topics}`] })
    .catch(error => log().debug({ err: error, topics }, 'waking other processes failed'))
}
