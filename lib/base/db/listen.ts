import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { CHANNEL, heardFromOthers, TOPICS, wakeHere } from '#lib/base/db/wake.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'

const AGAIN_AFTER_MS = 5_000

interface Ear {
  /** How many want to hear. */
  listeners: number
  deafen: AbortController
  closed: Promise<void>
}

const HOLDER = Symbol.for('troco.ear')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Ear }

/**
 * Hears what other processes say there is to do, until it is told to stop: on one connection of its
 * own, however many in this process want to hear. Without one (it was lost, or a pooler allows
 * none) they still look by themselves.
 */
export async function listenToOthers(stopped: AbortSignal): Promise<void> {
  if (stopped.aborted) return
  holder[HOLDER] ??= openEar()
  const ear = holder[HOLDER]
  ear.listeners += 1
  await new Promise(done => stopped.addEventListener('abort', done, { once: true }))
  ear.listeners -= 1
  if (ear.listeners > 0) return
  if (holder[HOLDER] === ear) delete holder[HOLDER]
  ear.deafen.abort()
  await ear.closed
}

function openEar(): Ear {
  const deafen = new AbortController()
  return { listeners: 0, deafen, closed: listenOn(deafen.signal) }
}

async function listenOn(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await listenOnce(stopped).catch(error =>
      log().warn({ err: error }, 'this process cannot be woken by others just now'),
    )
    await sleep(AGAIN_AFTER_MS, undefined, { signal: stopped }).catch(() => {})
  }
}

/** Returns when it is told to stop, fails when the connection is lost. */
async function listenOnce(stopped: AbortSignal): Promise<void> {
  const client = new Client({
    connectionString: env().DATABASE_URL,
    keepAlive: true,
    application_name: 'troco listener',
  })
  const over = new Promise<void>((resolve, reject) => {
    client.on('error', reject)
    client.on('end', resolve)
    stopped.addEventListener('abort', () => resolve(), { once: true })
  })
  over.catch(() => {})
  client.on('notification', ({ payload }) => heardFromOthers(payload ?? ''))
  try {
    await client.connect()
    await client.query(`LISTEN ${CHANNEL}`)
    // What was said before could not be heard.
    for (const topic of TOPICS) wakeHere(topic)
    await over
  } finally {
    await client.end().catch(() => {})
  }
}
