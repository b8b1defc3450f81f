import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { CHANNEL, heardFromOthers } from '#lib/db/wake.ts'
import { env } from '#lib/env.ts'
import { log } from '#lib/log.ts'

const AGAIN_AFTER_MS = 5_000

/**
 * Hears what other processes say there is to do, on a connection of its own, until it is told to
 * stop. Without one (it was lost, or a pooler allows none) a worker still looks by itself.
 */
export async function listenToOthers(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await listenOnce(stopped).catch(error =>
      log().warn({ err: error }, 'the worker cannot be woken by other processes just now'),
    )
    await sleep(AGAIN_AFTER_MS, undefined, { signal: stopped }).catch(() => {})
  }
}

/** Returns when it is told to stop, fails when the connection is lost. */
async function listenOnce(stopped: AbortSignal): Promise<void> {
  const client = new Client({
    connectionString: env().DATABASE_URL,
    keepAlive: true,
    application_name: 'troco worker',
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
    await over
  } finally {
    await client.end().catch(() => {})
  }
}
