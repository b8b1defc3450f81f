import { isDatabaseUnavailable, isTrocoError, refuse, type TrocoError } from '#lib/base/errors.ts'
import { log } from '#lib/base/log.ts'
import { INTERNAL_ERROR, REFUSALS } from '#lib/base/refusals.ts'
import type { Answer } from '#lib/edge/http/exchange.ts'

/** Formats of a 422 body: the first message only, or the messages of every field. */
export type InvalidForm = 'first_message' | 'field_messages'

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return jsonText(status, JSON.stringify(body), headers)
}

/** Builds a response from text that is JSON already. */
export function jsonText(
  status: number,
  text: string,
  headers: Record<string, string> = {},
): Answer {
  return { status, text, headers: { ...JSON_HEADERS, ...headers } }
}

/** Result of an endpoint whose response is too large for memory or is produced over time. */
export interface Streamed {
  headers: Record<string, string>
  chunks: AsyncIterable<string>
}

export function isStreamed(said: unknown): said is Streamed {
  return typeof said === 'object' && said !== null && 'chunks' in said
}

export function stream({ headers, chunks }: Streamed): Answer {
  return { status: 200, text: '', chunks, headers: { ...JSON_HEADERS, ...headers } }
}

/** Builds the response to an error. An unexpected one is logged and returned without its reason. */
export function answerError(error: unknown, invalid: InvalidForm): Answer {
  if (isDatabaseUnavailable(error)) {
    log().error({ err: error }, 'database unavailable')
    return answerRefusal(refuse('service_unavailable'), invalid)
  }
  if (!isTrocoError(error) || REFUSALS[error.code].status === INTERNAL_ERROR.status) {
    log().error({ err: error }, 'request failed with an internal error')
    return json(
      INTERNAL_ERROR.status,
      { error: INTERNAL_ERROR.message },
      { 'x-error-code': INTERNAL_ERROR.code },
    )
  }
  return answerRefusal(error, invalid)
}

function answerRefusal(error: TrocoError, invalid: InvalidForm): Answer {
  const { status } = REFUSALS[error.code]
  const body = status === 422 ? invalidBody(error, invalid) : { error: error.message }
  const fields = invalid === 'first_message' ? fieldsHeader(error) : {}
  return json(status, body, { ...headersOf(error), ...fields })
}

function invalidBody(error: TrocoError, invalid: InvalidForm): { errors: unknown } {
  const fields = error.fields ?? { body: [error.message] }
  if (invalid === 'field_messages') return { errors: fields }
  return { errors: Object.values(fields)[0]?.[0] ?? error.message }
}

const FIELD = /^\w{1,64}$/

/** Names the invalid fields, because the body holds only the first message. */
function fieldsHeader({ fields = {} }: TrocoError): Record<string, string> {
  const names = Object.keys(fields).filter(name => FIELD.test(name))
  return names.length > 0 ? { 'x-error-fields': names.join(' ') } : {}
}

function headersOf(error: TrocoError): Record<string, string> {
  const headers: Record<string, string> = { 'x-error-code': error.code }
  for (const [name, value] of Object.entries(REFUSALS[error.code].headers ?? {})) {
    const text = typeof value === 'string' ? value : value(error)
    if (text) headers[name] = text
  }
  return headers
}
