import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Pool } from 'pg'
import { pool } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'

/** What a worker may be woken for, by the table that holds the work. */
export const TOPICS = ['charges', 'withdrawals', 'refunds', 'deliveries'] as const
export type Topic = (typeof TOPICS)[number]
/** Said to what goes on for as long as somebody listens: the process is about to end. */
const LEAVING = 'leaving'

/** The channel on which processes wake each other: who speaks, and after a blank the topics. */
export const CHANNEL = 'troco'
/** Inside the transaction that moves money a NOTIFY would halve the commits; few are enough. */
const TELL_OTHERS_EVERY_MS = 20

interface Bus {
  /** Our own words come back to us as well. */
  speaker: string
  emitter: EventEmitter
  waiting: Set<Topic>
  /** Of whoever called last: none is opened for this after the process has closed its own. */
  through: Pool | null
  timer: NodeJS.Timeout | null
}

const HOLDER = Symbol.for('troco.wake')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Bus }

/** One per process, shared by the native modules and Next's copy of them. */
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
 * Says, after the commit, that there is work: at once to this process, a moment later to others.
 * Nothing is lost where it is not heard, since workers also look by themselves.
 */
export function wake(topic: Topic): void {
  wakeHere(topic)
  const { waiting } = bus()
  waiting.add(topic)
  bus().through = pool()
  bus().timer ??= setTimeout(tellOthers, TELL_OTHERS_EVERY_MS).unref()
}

/** The same without the others. */
export function wakeHere(topic: string): void {
  bus().emitter.emit(topic)
}

/** What another process said. */
export function heardFromOthers(message: string): void {
  const [speaker, topics = ''] = message.split(' ')
  if (speaker !== bus().speaker) for (const topic of topics.split(',')) wakeHere(topic)
}

/** Before the last answers are waited for. */
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
    .catch(error => log().debug({ err: error }, 'other workers could not be woken'))
}
