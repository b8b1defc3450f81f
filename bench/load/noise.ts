/**
 * The harmful callers of `neighbours`, in a process of their own: connections that ask for large
 * lists and do not read them, password guesses from many networks, and receivers that never answer.
 */
import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface NoiseOrder {
  port: number
  /** Requests for large lists: one connection each, opened again when it closes. */
  unread: { token: string; connections: number }
  guesses: {
    perSecond: number
    networks: number
    origin: string
    cookie: string
    csrfToken: string
  }
}

/** Number of responses to guesses by status; 0 for none. */
export type GuessCounts = Record<number, number>

const counts: GuessCounts = {}
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
  for (let nth = 0; nth < message.unread.connections; nth++) void askWithoutReading(message)
  void guess(message)
})
process.on('disconnect', () => process.exit())

async function askWithoutReading({ port, unread: { token } }: NoiseOrder): Promise<void> {
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
async function guess({ port, guesses }: NoiseOrder): Promise<void> {
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

function count(status: number): void {
  counts[status] = (counts[status] ?? 0) + 1
}
