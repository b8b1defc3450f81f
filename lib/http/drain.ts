import { once } from 'node:events'
import type { Server } from 'node:http'
import { announceShutdown } from '#lib/db/wake.ts'

/** Time limit for open requests at the end; then their connections are closed. */
const CLOSE_MAX_MS = 4_000

const draining = new WeakSet<Server>()

/** Returns whether the server is about to stop: it still serves, but is not ready. */
export function isDraining(server: Server): boolean {
  return draining.has(server)
}

/**
 * Serves until `noticed`, when balancers have seen that the server is not ready, then lets open
 * requests end and closes it.
 */
export async function drain(server: Server, noticed: Promise<unknown>): Promise<void> {
  draining.add(server)
  await noticed
  announceShutdown()
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cutTimer = setTimeout(() => server.closeAllConnections(), CLOSE_MAX_MS)
  await closed
  clearTimeout(cutTimer)
}
