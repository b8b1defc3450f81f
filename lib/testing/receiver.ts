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
type Handler = (received: Received, response: ServerResponse) => unknown

export interface Receiver {
  url: string
  calls: Received[]
  concurrencyMax: () => number
  respondWith: (handler: Handler) => void
  close: () => Promise<void>
}

export async function openReceiver(handler: Handler = ok, port = 0): Promise<Receiver> {
  const calls: Received[] = []
  let handle = handler
  let concurrent = 0
  let highest = 0
  const server = createServer(async (request, response) => {
    concurrent++
    highest = Math.max(highest, concurrent)
    response.on('close', () => {
      concurrent--
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { url: path = '', headers } = request
    const received = { path, headers, text: Buffer.concat(chunks).toString(), at: Date.now() }
    calls.push(received)
    await handle(received, response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    concurrencyMax: () => highest,
    respondWith: next => {
      handle = next
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

export function status(code: number, headers: Record<string, string> = {}): Handler {
  return (_received, response) => response.writeHead(code, headers).end(`status ${code}`)
}
