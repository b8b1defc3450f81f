import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  /** The body as received, for the signature. */
  text: string
  at: number
}

/** Handles a call; the default responds 200. */
type Say = (received: Received, response: ServerResponse) => unknown

export interface Receiver {
  url: string
  calls: Received[]
  atOnceMax: () => number
  say: (answer: Say) => void
  close: () => Promise<void>
}

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

export function status(code: number, headers: Record<string, string> = {}): Say {
  return (_received, response) => response.writeHead(code, headers).end(`status ${code}`)
}
