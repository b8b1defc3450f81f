import {
  type ErrorCode,
  isDatabaseGone,
  isTrocoError,
  type PageErrorCode,
  type TrocoError,
} from '#lib/base/errors.ts'
import { log } from '#lib/base/log.ts'
import type { Answer } from '#lib/edge/http/exchange.ts'

/** What is said only where our own pages call; `session_required` is what a token hears there. */
export const PAGE_STATUS: Record<PageErrorCode, number> = {
  session_required: 403,
  endpoint_not_found: 404,
  delivery_not_found: 404,
  endpoint_disabled: 409,
  under_way: 409,
  limit_reached: 409,
  token_not_found: 404,
  token_ended: 409,
  job_not_found: 404,
  second_factor_required: 403,
  factor_not_found: 404,
  member_not_found: 404,
  member_already: 409,
  last_owner: 409,
  invitation_not_found: 404,
  invitation_ended: 409,
  other_person: 403,
  sign_up_closed: 403,
  account_not_found: 404,
  link_expired: 410,
  session_not_found: 404,
}

/** The status of each refusal: a code without one does not compile. */
export const STATUS: Record<ErrorCode, number> = {
  unauthenticated: 401,
  account_not_active: 403,
  permission_denied: 403,
  live_mode_disabled: 403,
  cross_origin: 403,
  proof_required: 403,
  too_many_requests: 429,
  malformed_json: 400,
  payload_too_large: 413,
  unsupported_media_type: 415,
  invalid_input: 422,
  insufficient_balance: 422,
  transaction_not_found: 404,
  withdrawal_not_found: 404,
  refund_not_found: 404,
  not_found: 404,
  external_id_used: 409,
  already_final: 409,
  not_paid: 409,
  refund_window_closed: 409,
  in_progress: 409,
  events_gone: 410,
  service_unavailable: 503,
  setup_failed: 500,
  ...PAGE_STATUS,
}

/** A client that comes back at once meets the same fault; this is long enough for a restart. */
const RETRY_AFTER_S = 2

/** The two forms of a 422 in the specification. */
export type InvalidForm = 'first_message' | 'field_messages'

const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'private, no-store',
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return jsonText(status, JSON.stringify(body), headers)
}

/** The same for what is JSON already. */
export function jsonText(
  status: number,
  text: string,
  headers: Record<string, string> = {},
): Answer {
  return { status, text, headers: { ...JSON_HEADERS, ...headers } }
}

/** What an endpoint returns that answers with more than it can hold at once, or as it happens. */
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

/** The one place where an error becomes an answer. What we did not foresee is told to the log only. */
export function answerError(error: unknown, invalid: InvalidForm): Answer {
  if (isDatabaseGone(error)) {
    log().error({ err: error }, 'the database cannot be asked')
    return unavailable()
  }
  if (!isTrocoError(error) || STATUS[error.code] === 500) {
    log().error({ err: error }, 'a request failed for a reason of ours')
    return json(500, { error: 'Internal server error' }, { 'x-error-code': 'internal_error' })
  }
  if (error.code === 'service_unavailable') return unavailable()
  const body = STATUS[error.code] === 422 ? invalidBody(error, invalid) : { error: error.message }
  return json(STATUS[error.code], body, codeHeaders(error))
}

function unavailable(): Answer {
  return json(
    503,
    { error: 'Service unavailable' },
    { 'retry-after': String(RETRY_AFTER_S), 'x-error-code': 'service_unavailable' },
  )
}

function invalidBody(error: TrocoError, invalid: InvalidForm): { errors: unknown } {
  const fields = error.fields ?? { body: [error.message] }
  if (invalid === 'field_messages') return { errors: fields }
  return { errors: Object.values(fields)[0]?.[0] ?? error.message }
}

function codeHeaders(error: TrocoError): Record<string, string> {
  return {
    'x-error-code': error.code,
    ...(error.code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}),
    ...(error.permission ? { 'x-required-permission': error.permission } : {}),
    ...(error.retryAfterS ? { 'retry-after': String(error.retryAfterS) } : {}),
  }
}
