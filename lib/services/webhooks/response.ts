import type { IncomingMessage } from 'node:http'
import type { Problem } from '#lib/services/webhooks/problem.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

const BODY_BYTES_MAX = 8 * 1024
const HEADERS_LENGTH_MAX = 8 * 1024
/** The status line has decided already; the body is only for people to read. */
const BODY_MS = 2_000
const RETRY_AFTER_MS_MAX = 60 * 60_000
/** Control characters, of which PostgreSQL refuses the first and a terminal obeys others. */
const CONTROL = /\p{Cc}/gu

/**
 * Reads at most 8 KiB for at most 2 s and hangs up on the rest. How the body ends changes nothing:
 * a success stays one, even if the receiver goes on for ever or breaks off.
 */
export async function readAnswer(response: IncomingMessage, signal: AbortSignal): Promise<Answer> {
  const bytes = await readStart(response, signal)
  const headers = keptHeaders(response.rawHeaders)
  return { status: response.statusCode ?? 0, headers, body: toText(bytes, BODY_BYTES_MAX) }
}

function readStart(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  return new Promise(done => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      if (!response.complete) response.destroy()
      done(Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX))
    }
    const timer = setTimeout(finish, BODY_MS)
    signal.addEventListener('abort', finish)
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= BODY_BYTES_MAX + chunk.length) chunks.push(chunk)
      if (length > BODY_BYTES_MAX) finish()
    })
    // 'close' follows every end; the error of a receiver that breaks off has nothing more to say.
    response.on('end', finish).on('close', finish).on('error', finish)
    if (signal.aborted) finish()
  })
}

/** UTF-8 with what is not UTF-8 replaced; the replacements must not make it longer than it may be. */
function toText(bytes: Uint8Array, bytesMax: number): string {
  // As a stream, so that a character cut in two at the end is left out and not replaced.
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '')
  const again = Buffer.from(text)
  return again.length <= bytesMax ? text : toText(again.subarray(0, bytesMax), bytesMax)
}

function keptHeaders(raw: string[]): Record<string, string> {
  const kept = new Map<string, string>()
  let length = 0
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const value = name === 'set-cookie' ? '[hidden]' : (raw[at + 1] ?? '').replace(CONTROL, '')
    length += name.length + value.length + 2
    if (length > HEADERS_LENGTH_MAX) break
    const before = kept.get(name)
    if (before === undefined) kept.set(name, value)
    else if (name !== 'set-cookie') kept.set(name, `${before}, ${value}`)
  }
  return Object.fromEntries(kept)
}

/** Retry-After in seconds or as a date, at most 1 h, of an answer that is no success. */
export function retryAfterOf({ status, headers }: Answer): number | null {
  const asked = headers['retry-after']?.trim() ?? ''
  if (isSuccess(status) || asked === '') return null
  if (/^\d+$/.test(asked)) return Math.min(Number(asked) * 1_000, RETRY_AFTER_MS_MAX)
  const at = /^[A-Z][a-z]+,? /.test(asked) ? Date.parse(asked) : Number.NaN
  return Number.isNaN(at) ? null : Math.min(Math.max(at - Date.now(), 0), RETRY_AFTER_MS_MAX)
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** What an answer means for the merchant; null after a success. */
export function problemOfAnswer({ status }: Answer): Problem | null {
  if (isSuccess(status)) return null
  const isRedirect = [301, 302, 303, 307, 308].includes(status)
  return { code: isRedirect ? 'redirect' : 'status', params: { status } }
}
