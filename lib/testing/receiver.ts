import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  /** The bytes as they came, for a signature. */
  text: string
  at: number
}

/** Answers one call; without an answer of its own a receiver says 200. */
type Say = (received: Received, response: ServerResponse) => unknown

export interface Receiver {
  url: string
  calls: Received[]
  /** The most calls that were ever under way at once. */
  atOnceMax: () => number
  say: (answer: Say) => void
  /** From now on nobody listens. */
  close: () => Promise<void>
}

/** Somebody's server that is told by webhooks, on a port of its own. */
export async function openReceiver(answer: Say = ok, port = 0): Promise<Receiver> {
  const calls: Received[] = []
  let say = answer
  let now = 0
  let most = 0
  const server = createServer(async (request, response) => {
    now++
    most = Math.max(most, now)
    response.on('close', () => {
      now--
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url: path = '', headers } = request
    const received = { path, headers, text: Buffer.concat(chunks).toString(), at: Date.now() }
    calls.push(received)
    await say(received, response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    atOnceMax: () => most,
    say: next => {
      say = next
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function ok(_received: Received, response: ServerResponse): void {
  response.writeHead(200).end('ok')
}

/** An answer of this status, with these headers. */
export function status(code: number, headers: Record<string, string> = {}): Say {
  return (_received, response) => response.writeHead(code, headers).end(`status ${code}`)
}
