import { connect } from 'node:net'

interface CallOptions {
  token?: string | null
  key?: string
  headers?: Record<string, string>
  /** Sent as the bytes of its JSON, so that fetch adds no Content-Type. */
  body?: unknown
  raw?: string | Uint8Array
}

export async function call(url: string, method: string, path: string, options: CallOptions = {}) {
  const { token, key, headers = {}, body, raw = body && JSON.stringify(body) } = options
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
  const isFile = /^text\/csv|^image\/|^application\/(x-ofx|pdf)/.test(
    response.headers.get('content-type') ?? '',
  )
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isFile ? text : text && JSON.parse(text),
  }
}

export type ApiResponse = Awaited<ReturnType<typeof call>>

interface RawResponse {
  status: number
  head: string
  text: string
}

/** Sends the bytes and returns the responses until the server closes or the time limit passes. */
export async function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  timeoutMs = 30_000,
): Promise<RawResponse & { tookMs: number; responses: RawResponse[] }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  // A server that refuses a request may close before it has read all of it.
  socket.on('error', () => {})
  const began = performance.now()
  const timeout = setTimeout(() => socket.destroy(), timeoutMs)
  socket.write(bytes)
  await new Promise(resolve => socket.on('close', resolve))
  clearTimeout(timeout)
  const responses = splitResponses(Buffer.concat(chunks).toString('latin1'))
  const [first = { status: 0, head: '', text: '' }] = responses
  return { ...first, responses, tookMs: performance.now() - began }
}

/** Splits the consecutive responses of a connection, chunked or with a Content-Length. */
function splitResponses(received: string): RawResponse[] {
  const responses: RawResponse[] = []
  for (let rest = received; rest !== ''; ) {
    const [head = ''] = rest.split('\r\n\r\n', 1)
    const after = rest.slice(head.length + 4)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0)
    const length = /^content-length: (\d+)$/im.exec(head)?.[1]
    const isChunked = /^transfer-encoding: chunked$/im.test(head)
    const { text, taken } = isChunked
      ? joinChunks(after)
      : takeBody(after, Number(length ?? Infinity))
    responses.push({ status, head, text: Buffer.from(text, 'latin1').toString() })
    rest = after.slice(taken)
  }
  return responses
}

function takeBody(text: string, length: number): { text: string; taken: number } {
  return { text: text.slice(0, length), taken: Math.min(text.length, length) }
}

function joinChunks(encoded: string): { text: string; taken: number } {
  let text = ''
  for (let offset = 0; ; ) {
    const [line = ''] = encoded.slice(offset).split('\r\n', 1)
    const size = Number.parseInt(line, 16)
    const from = offset + line.length + 2
    if (!(size > 0)) return { text, taken: from + 2 }
    text += encoded.slice(from, from + size)
    offset = from + size + 2
  }
}
