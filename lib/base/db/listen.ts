import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { CHANNEL, heardFromOthers, TOPICS, wakeHere } from '#lib/base/db/wake.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'

const AGAIN_AFTER_MS = 5_000

interface Ear {
  listeners: number
  deafen: AbortController
  closed: Promise<void>
}

const HOLDER = Symbol.for('troco.ear')
const holder = globalThis as typeof globalThis & { [HOLDER]?: Ear }

/**
 * Receives wake-ups of other processes until aborted. All listeners of a process share one separate
 * connection. Without it (lost, or refused by a pooler) they still find work by polling.
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
      log().warn({ err: error }, 'wake-up connection failed, polling until it reconnects'),
    )
    await sleep(AGAIN_AFTER_MS, undefined, { signal: stopped }).catch(() => {})
  }
}

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
    // Notifications sent before LISTEN are lost, so wake every topic once.
    for (const topic of TOPICS) wakeHere(topic)
    await over
  } finally {
    await client.end().catch(() => {})
  }
}
