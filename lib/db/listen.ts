import { setTimeout as sleep } from 'node:timers/promises'
import { log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import { checkPresence, hidePresence, showPresence } from '#lib/db/presence.ts'
import { UtcClient } from '#lib/db/utc-client.ts'
import { CHANNEL, handleNotification, TOPICS, wakeLocal } from '#lib/db/wake.ts'

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
