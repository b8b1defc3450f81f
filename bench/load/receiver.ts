/**
 * A merchant's webhook receiver in a process of its own, so that other work does not delay the time
 * of arrival. It responds 204 and records when each event arrived.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Call {
  eventId: string
  /** Milliseconds since the epoch, at a finer resolution than Date.now(). */
  at: number
}

export type ReceiverQuery = 'how many' | 'which'

let calls: Call[] = []

const server = createServer((request, response) => {
  const at = performance.timeOrigin + performance.now()
  calls.push({ eventId: String(request.headers['webhook-id']), at })
  request.resume()
  request.on('end', () => response.writeHead(204).end())
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)

process.on('message', (question: ReceiverQuery) => {
  process.send?.(question === 'how many' ? calls.length : calls)
  if (question === 'which') calls = []
})
process.on('disconnect', () => process.exit())
