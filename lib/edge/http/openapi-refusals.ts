import type { PublicErrorCode } from '#lib/base/refusals.ts'

/** Condition for each error code, for the document. */
export const WHEN: Record<PublicErrorCode, string> = {
  unauthenticated: 'No token, or one that does not count',
  account_not_active: 'The account is not active',
  permission_denied: 'The token lacks the permission',
  live_mode_disabled: 'A live token, and no bank is configured here',
  cross_origin: "The dashboard's session, used by a page of somebody else's",
  proof_required: "The dashboard's session, whose owner proved too long ago who they are",
  too_many_requests: 'A rate limit',
  malformed_json: 'The body is not JSON in UTF-8',
  payload_too_large: 'The body is larger than 64 KiB',
  unsupported_media_type: 'The Content-Type is not JSON, or the body is compressed',
  invalid_input: 'Fields are missing or wrong',
  insufficient_balance: 'The balance is too small',
  transaction_not_found: 'No such charge',
  withdrawal_not_found: 'No such withdrawal',
  refund_not_found: 'No such refund of this charge',
  not_found: 'A live token: the simulator is for test mode',
  external_id_used: 'The reference is taken',
  already_final: 'It can no longer change',
  not_paid: 'Nobody has paid the charge',
  refund_window_closed: 'It was paid too long ago',
  in_progress: 'The first request with this key still runs',
  events_gone: 'The events that come next are no longer kept',
  service_unavailable: 'The bank or the database cannot be asked just now',
}

export const MEANINGS: Record<number, string> = {
  400: 'The body is not JSON.',
  401: 'No token was sent, or it is unknown, revoked or expired.',
  403: 'The caller may not do this.',
  404: 'There is no such thing in this account and mode.',
  409: 'It conflicts with what is already there.',
  410: 'It is no longer kept.',
  413: 'The body is too large.',
  415: 'The body is not sent as JSON.',
  422: 'The request is not valid. Nothing has happened.',
  429: 'Too many requests. Send it again after `Retry-After` seconds.',
  500: 'A fault of ours. `X-Request-Id` finds it in the log.',
  503: 'Temporarily unavailable. Send it again after `Retry-After` seconds.',
}
