import { API_ERRORS, type ApiErrorCode, type PublicErrorCode } from '#lib/core/refusals.ts'
import { API_ERROR_WORDS } from '#messages/words.ts'

const ERROR_WORDS: Record<ApiErrorCode, { cause: string; remedy: string }> =
  API_ERROR_WORDS.en.apiErrors

/** Codes that any request can get, whatever its path. No operation lists them, only ERROR_CODES. */
export const GENERAL_CODES = [
  'malformed_request',
  'request_timeout',
  'expectation_failed',
  'uri_too_long',
  'headers_too_large',
  'method_not_allowed',
  'not_found',
] as const satisfies PublicErrorCode[]

/** Codes that only a session of the dashboard gets: no operation of the document lists them. */
export const SESSION_CODES = [
  'session_required',
  'cross_origin',
  'viewing_read_only',
  'proof_required',
  'review_required',
] as const satisfies PublicErrorCode[]

/** All codes that API clients get, for programs and generated clients: what each means and what to do. */
export const ERROR_CODES = API_ERRORS.map(({ code, status }) => ({
  ...{ code, status },
  ...ERROR_WORDS[code],
}))

export function causeOf(code: PublicErrorCode): string {
  return ERROR_WORDS[code].cause
}

export const STATUS_DESCRIPTIONS: Record<number, string> = {
  400: 'The body is not JSON.',
  401: 'No token was sent, or it is unknown, revoked or expired.',
  403: 'The caller is not allowed to do this.',
  404: 'The resource does not exist in this account and mode.',
  409: 'The request conflicts with the status of the resource.',
  410: 'The data has been deleted.',
  413: 'The body is too large.',
  415: 'The Content-Type is not JSON.',
  422: 'The request is invalid and had no effect.',
  429: 'Too many requests. Repeat after `Retry-After` seconds.',
  500: 'Internal error. `X-Request-Id` identifies the request in the log.',
  503: 'Temporarily unavailable. Repeat after `Retry-After` seconds.',
}
