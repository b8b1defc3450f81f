import { setTimeout as sleep } from 'node:timers/promises'
import { UtcClient } from '#lib/base/db/utc-client.ts'
import { CHANNEL, handleNotification, TOPICS, wakeLocal } from '#lib/base/db/wake.ts'
import { env } from '#lib/base/env.ts'
import { log } from '#lib/base/log.ts'
import { processWide } from '#lib/base/process-wide.ts'

const RECONNECT_AFTER_MS = 5_000

interface SharedListener {
  listeners: number
  abortController: AbortController
  closed: Promise<void>
}

const shared = processWide('listener', () => ({ listener: null as SharedListener | null }))

/** Listeners share one connection. While it is lost or a pooler refuses it, jobs only poll. */
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

function openSharedListener(): SharedListener {
  const controller = new AbortController()
  return {
    listeners: 0,
    abortController: controller,
    closed: listenUntilAborted(controller.signal),
  }
}

async function listenUntilAborted(stopSignal: AbortSignal): Promise<void> {
  while (!stopSignal.aborted) {
    await listenOnce(stopSignal).catch(error =>
      log().warn({ err: error }, 'wake-up connection failed, polling until it reconnects'),
    )
    await sleep(RECONNECT_AFTER_MS, undefined, { signal: stopSignal }).catch(() => {})
  }
}

async function listenOnce(stopSignal: AbortSignal): Promise<void> {
  const { DATABASE_DIRECT_URL, DATABASE_URL } = env()
  const client = new UtcClient({
    connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
    keepAlive: true,
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
    // Notifications sent before LISTEN are lost, so every topic is woken once.
    for (const topic of TOPICS) wakeLocal(topic)
    await ended
  } finally {
    await client.end().catch(() => {})
  }
}
