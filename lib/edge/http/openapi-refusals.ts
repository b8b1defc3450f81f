import type { ErrorCode, PageErrorCode } from '#lib/base/errors.ts'

interface Refusal {
  message: string
  when: string
  fields?: Record<string, string[]>
}

/** A fault of ours is none of these: it says nothing of itself. Nor is what only our pages hear. */
export type Code = Exclude<ErrorCode, 'setup_failed' | PageErrorCode>

/** What is said with each code, and when. */
export const REFUSALS: Record<Code, Refusal> = {
  unauthenticated: { message: 'Unauthenticated', when: 'No token, or one that does not count' },
  account_not_active: { message: 'Account not active', when: 'The account is not active' },
  permission_denied: { message: 'Permission denied', when: 'The token lacks the permission' },
  live_mode_disabled: {
    message: 'Live mode is not enabled',
    when: 'A live token, and no bank is configured here',
  },
  cross_origin: {
    message: 'Cross-origin request refused',
    when: "The dashboard's session, used by a page of somebody else's",
  },
  proof_required: {
    message: 'Confirm that it is you',
    when: "The dashboard's session, whose owner proved too long ago who they are",
  },
  too_many_requests: { message: 'Too Many Requests', when: 'A rate limit' },
  malformed_json: { message: 'Malformed JSON', when: 'The body is not JSON in UTF-8' },
  payload_too_large: { message: 'Payload too large', when: 'The body is larger than 64 KiB' },
  unsupported_media_type: {
    message: 'Content-Type must be application/json',
    when: 'The Content-Type is not JSON, or the body is compressed',
  },
  invalid_input: { message: 'Invalid input', when: 'Fields are missing or wrong' },
  insufficient_balance: {
    message: 'Insufficient balance',
    when: 'The balance is too small',
    fields: { amount: ['Insufficient balance'] },
  },
  transaction_not_found: { message: 'Transaction not found', when: 'No such charge' },
  withdrawal_not_found: { message: 'Withdrawal not found', when: 'No such withdrawal' },
  refund_not_found: { message: 'Refund not found', when: 'No such refund of this charge' },
  not_found: { message: 'Not found', when: 'A live token: the simulator is for test mode' },
  external_id_used: { message: 'external_id already used', when: 'The reference is taken' },
  already_final: { message: 'is already final', when: 'It can no longer change' },
  not_paid: { message: 'Transaction is not paid', when: 'Nobody has paid the charge' },
  refund_window_closed: {
    message: 'Transaction was paid more than 90 days ago, too long for a refund',
    when: 'It was paid too long ago',
  },
  in_progress: {
    message: 'A request with this Idempotency-Key is still running',
    when: 'The first request with this key still runs',
  },
  events_gone: {
    message: 'Events before sequence 4711 are no longer kept',
    when: 'The events that come next are no longer kept',
  },
  service_unavailable: {
    message: 'Service unavailable',
    when: 'The bank or the database cannot be asked just now',
  },
}

/** What each status means, whatever its code. */
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
