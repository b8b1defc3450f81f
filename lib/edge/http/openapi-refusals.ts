import type { PublicErrorCode } from '#lib/base/refusals.ts'

/** Condition of each error code, shown in the OpenAPI document. */
export const ERROR_SUMMARIES: Record<PublicErrorCode, string> = {
  unauthenticated: 'No token, or an unknown, revoked or expired one',
  account_not_active: 'The account is not active',
  permission_denied: 'The token lacks the permission',
  live_mode_disabled:
    'A live token, but live mode is not enabled for the account, or not for charges',
  withdrawals_disabled: 'A live token, but the account pays nothing out in live mode',
  cross_origin: 'A dashboard session, from another origin',
  viewing_read_only: 'A dashboard session of the operator’s staff, which views the account',
  proof_required: 'A dashboard session whose last confirmation of identity is too old',
  too_many_requests: 'A rate limit was exceeded, or too many requests are in progress',
  malformed_json: 'The body is not JSON in UTF-8',
  payload_too_large: 'The body is larger than 64 KiB',
  unsupported_media_type: 'The Content-Type is not JSON, or the body is compressed',
  invalid_input: 'Fields are missing or invalid',
  limit_exceeded: 'The amount is above a limit, which `X-Limit` names',
  insufficient_balance: 'The balance is too small',
  dispute_not_covered: 'A payment is disputed, and the balance has not covered it yet',
  transaction_not_found: 'The charge does not exist',
  withdrawal_not_found: 'The withdrawal does not exist',
  refund_not_found: 'The charge has no such refund',
  not_found: 'A live token: the sandbox exists in test mode only',
  external_id_used: 'The external_id is already used',
  already_final: 'The status is final',
  approval_pending: 'The withdrawal waits for the approval of a second member',
  not_paid: 'The charge is not paid',
  refund_window_closed: 'The payment is too old to be refunded',
  in_progress: 'The first request with this key is still running',
  events_gone: 'The events after this sequence number have been deleted',
  service_unavailable: 'The bank or the database is unavailable',
}

export const STATUS_DESCRIPTIONS: Record<number, string> = {
  400: 'The body is not JSON.',
  401: 'No token was sent, or it is unknown, revoked or expired.',
  403: 'The caller is not allowed to do this.',
  404: 'The resource does not exist in this account and mode.',
  409: 'The request conflicts with the state of the resource.',
  410: 'The data has been deleted.',
  413: 'The body is too large.',
  415: 'The Content-Type is not JSON.',
  422: 'The request is invalid and had no effect.',
  429: 'Too many requests. Repeat after `Retry-After` seconds.',
  500: 'Internal error. `X-Request-Id` identifies the request in the log.',
  503: 'Temporarily unavailable. Repeat after `Retry-After` seconds.',
}
