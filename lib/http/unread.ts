import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { log } from '#lib/core/log.ts'

/** A client that stops reading holds its response, up to 1 MiB of a list, in memory. */
export const UNREAD_TIMEOUT_MS = 20_000
/** Checks per timeout. Counting checks, not time, ignores a suspended or busy process. */
const CHECKS = 20

interface Progress {
  sent: number
  queued: number
  checksWithout: number
}

/**
 * Closes connections that accept no bytes for `timeoutMs` although data waits to be sent. Idle live
 * streams have no waiting data. `socket.setTimeout` would count received bytes as progress.
 */
export function cutUnreadResponses(server: Server, timeoutMs = UNREAD_TIMEOUT_MS): void {
  const connections = new Map<Socket, Progress>()
  server.on('connection', socket => {
    connections.set(socket, { sent: 0, queued: 0, checksWithout: 0 })
    socket.once('close', () => connections.delete(socket))
  })
  const timer = setInterval(() => {
    for (const [socket, progress] of connections) {
      if (hasProgress(socket, progress)) progress.checksWithout = 0
      else if (++progress.checksWithout >= CHECKS) cut(socket)
    }
  }, timeoutMs / CHECKS)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}

/** Returns whether data was sent since the last check, or none waits. */
function hasProgress(socket: Socket, progress: Progress): boolean {
  const sent = socket.bytesWritten - socket.writableLength
  const queued = queuedBytes(socket)
  const hasMoved = sent !== progress.sent || queued !== progress.queued
  Object.assign(progress, { sent, queued })
  return hasMoved || (socket.writableLength === 0 && queued === 0)
}

/** Returns the part of the current write that the kernel has not accepted, as Node's time-outs do. */
function queuedBytes(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0
}

/** Resets the connection: a normal close would leave the data in the kernel's buffers. */
function cut(socket: Socket): void {
  log().info(
    { unreadBytes: socket.writableLength },
    'closed a connection whose client did not read',
  )
  socket.resetAndDestroy()
}
