import type { IncomingMessage } from 'node:http'
import type { Problem } from '#lib/webhooks/problem.ts'

export interface WebhookResponse {
  status: number
  headers: Record<string, string>
  body: string
}

const BODY_BYTES_MAX = 8 * 1024
const HEADERS_LENGTH_MAX = 8 * 1024
/** Time limit for the body, which is only displayed: the status decides the outcome. */
const BODY_TIMEOUT_MS = 2_000
/** Control characters: PostgreSQL rejects NUL, and terminals interpret others. */
const CONTROL_CHARACTERS = /\p{Cc}/gu

/** Reads at most 8 KiB of body for at most 2 s, then closes the connection. */
export async function readResponse(
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<WebhookResponse> {
  const bytes = await readBody(response, signal)
  const headers = collectHeaders(response.rawHeaders)
  return { status: response.statusCode ?? 0, headers, body: toText(bytes, BODY_BYTES_MAX) }
}

function readBody(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      if (!response.complete) response.destroy()
      resolve(Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX))
    }
    const timer = setTimeout(finish, BODY_TIMEOUT_MS)
    signal.addEventListener('abort', finish)
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= BODY_BYTES_MAX + chunk.length) chunks.push(chunk)
      if (length > BODY_BYTES_MAX) finish()
    })
    // An error here only means that the receiver ended the body early.
    response.on('end', finish).on('close', finish).on('error', finish)
    if (signal.aborted) finish()
  })
}

/** Cuts the decoded text to the limit again: replacement characters take 3 bytes each. */
function toText(bytes: Uint8Array, bytesMax: number): string {
  // Stream mode drops a character cut off at the end instead of replacing it.
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '')
  const encoded = Buffer.from(text)
  return encoded.length <= bytesMax ? text : toText(encoded.subarray(0, bytesMax), bytesMax)
}

function collectHeaders(raw: string[]): Record<string, string> {
  const headers = new Map<string, string>()
  let length = 0
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    const value =
      name === 'set-cookie' ? '[hidden]' : (raw[index + 1] ?? '').replace(CONTROL_CHARACTERS, '')
    length += name.length + value.length + 2
    if (length > HEADERS_LENGTH_MAX) break
    const before = headers.get(name)
    if (before === undefined) headers.set(name, value)
    else if (name !== 'set-cookie') headers.set(name, `${before}, ${value}`)
  }
  return Object.fromEntries(headers)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

export function responseToProblem({ status }: WebhookResponse): Problem | null {
  if (isSuccess(status)) return null
  const isRedirect = [301, 302, 303, 307, 308].includes(status)
  return { code: isRedirect ? 'redirect' : 'status', params: { status } }
}
