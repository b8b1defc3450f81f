import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const openResponses = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls back once the kernel has accepted the whole response, or its connection is closed. Node emits
 * no event for a pipelined response whose turn never came, hence the list per connection.
 */
export function onResponseEnd(
  socket: Socket,
  response: ServerResponse,
  callback: () => void,
): void {
  if (socket.destroyed || response.closed) {
    callback()
    return
  }
  const open = openResponses.get(socket) ?? new Set()
  if (!openResponses.has(socket)) {
    openResponses.set(socket, open)
    socket.once('close', () => {
      for (const end of open) end()
    })
  }
  const end = () => {
    if (open.delete(end)) callback()
  }
  open.add(end)
  response.once('close', end)
}
