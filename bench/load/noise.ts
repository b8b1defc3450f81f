/**
 * The harmful callers of `neighbours`, in a process of their own: connections that ask for large
 * lists and do not read them, password guesses from many networks, a browser that opens many pages at
 * once, and receivers that never answer.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface NoiseOrder {
  port: number
  /** Requests for large lists: one connection each, opened again when it closes. */
  unread?: { token: string; connections: number }
  guesses?: {
    perSecond: number
    networks: number
    origin: string
    cookie: string
    csrfToken: string
  }
  /** Pages of one session: each connection opens the next page when it has read the one before. */
  pages?: { cookie: string; connections: number; paths: string[] }
}

/** Number of responses to guesses and pages by status; 0 for none. */
export type NoiseCounts = Record<number, number>

const PAGE_RETRY_MS = 1_000

let counts: NoiseCounts = {}
let isStopped = false

const silent = createServer(() => {})
silent.listen(0, '0.0.0.0')
await once(silent, 'listening')
process.send?.((silent.address() as AddressInfo).port)

process.on('message', (message: NoiseOrder | 'stop') => {
  if (message === 'stop') {
    isStopped = true
    process.send?.(counts)
    return
  }
  counts = {}
  isStopped = false
  const { port, unread, guesses, pages } = message
  for (let nth = 0; nth < (unread?.connections ?? 0); nth++)
    void askWithoutReading(port, unread?.token ?? '')
  if (guesses) void guess(port, guesses)
  if (pages) for (let nth = 0; nth < pages.connections; nth++) void openPages(port, pages, nth)
})
process.on('disconnect', () => process.exit())

async function askWithoutReading(port: number, token: string): Promise<void> {
  while (!isStopped) {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.pause()
    socket.write(
      'GET /api/transactions?limit=100 HTTP/1.1\r\nHost: 127.0.0.1\r\n' +
        `X-Forwarded-For: 198.51.100.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )
    await once(socket, 'close')
    await sleep(100)
  }
}

/** Guesses at a fixed rate, each for another e-mail, whether or not the previous were answered. */
type Guesses = NonNullable<NoiseOrder['guesses']>

async function guess(port: number, guesses: Guesses): Promise<void> {
  const { perSecond, networks, origin, cookie, csrfToken } = guesses
  const began = performance.now()
  for (let nth = 0; !isStopped; ) {
    for (; began + (nth * 1_000) / perSecond <= performance.now(); nth++) {
      const email = `someone-${nth}@troco.example`
      const body = new URLSearchParams({ csrfToken, email, password: 'wrong-guess', json: 'true' })
      const headers = {
        cookie,
        origin,
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': `203.${nth % networks}.113.7`,
      }
      const path = '/api/auth/callback/credentials'
      const sent = request({ port, host: '127.0.0.1', method: 'POST', path, headers }, response => {
        response.resume()
        count(response.statusCode ?? 0)
      })
      sent.on('error', () => count(0))
      sent.end(body.toString())
    }
    await sleep(1)
  }
}

type Pages = NonNullable<NoiseOrder['pages']>

/** A refused page is opened again after a second, as Retry-After says. */
async function openPages(port: number, { cookie, paths }: Pages, first: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let nth = first; !isStopped; nth++) {
    const headers = { cookie, accept: 'text/html', 'x-forwarded-for': '198.51.100.2' }
    const path = paths[nth % paths.length]
    const status = await new Promise<number>(resolve => {
      const sent = request({ port, host: '127.0.0.1', path, headers, agent }, response => {
        response.resume()
        response.on('close', () => resolve(response.complete ? (response.statusCode ?? 0) : 0))
      })
      sent.on('error', () => resolve(0))
      sent.end()
    })
    count(status)
    if (status !== 200) await sleep(PAGE_RETRY_MS)
  }
  agent.destroy()
}

function count(status: number): void {
  counts[status] = (counts[status] ?? 0) + 1
}
