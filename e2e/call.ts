import { connect } from 'node:net'

interface Said {
  token?: string | null
  /** An Idempotency-Key. */
  key?: string
  headers?: Record<string, string>
  /** Sent as JSON, without a Content-Type: fetch gives a text one of its own, bytes none. */
  body?: unknown
  /** Sent as it stands. */
  raw?: string | Uint8Array
}

/** One request to the API, and its whole answer. */
export async function call(url: string, method: string, path: string, said: Said = {}) {
  const { token, key, headers = {}, body, raw = body && JSON.stringify(body) } = said
  const response = await fetch(`${url}/api${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...headers,
    },
    body: raw === undefined ? undefined : Buffer.from(raw as string),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text && JSON.parse(text),
  }
}

export type Answered = Awaited<ReturnType<typeof call>>

interface Spoken {
  status: number
  head: string
  text: string
  tookMs: number
}

/** What a server says to these very bytes until it hangs up; it is given up after `withinMs`. */
export async function speak(
  url: string,
  bytes: string | Uint8Array,
  withinMs = 30_000,
): Promise<Spoken> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  // A server that refuses may close before it has read everything.
  socket.on('error', () => {})
  const began = performance.now()
  const givenUp = setTimeout(() => socket.destroy(), withinMs)
  socket.write(bytes)
  await new Promise(done => socket.on('close', done))
  clearTimeout(givenUp)
  const answer = Buffer.concat(chunks).toString()
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0)
  return { status, head, text: rest.join('\r\n\r\n'), tookMs: performance.now() - began }
}
