import { type ExceededLimit, limitRule } from '#lib/core/limits.ts'
import {
  callerMessage,
  FEED_HEADERS,
  type FeedPosition,
  type FieldProblems,
  type HeaderValues,
  LIMIT_HEADERS,
  PERMISSION_HEADERS,
  RESTORE_HEADERS,
  RETRY_AFTER_HEADERS,
  type Refusal,
} from '#lib/core/refusal-headers.ts'

/** Refusals that API clients can get: documented, each with its cause and its remedy. */
export const API_REFUSALS = {
  unauthenticated: {
    status: 401,
    message: 'Unauthenticated',
    headers: { 'www-authenticate': 'Bearer' },
  },
  address_not_allowed: {
    status: 403,
    message: ({ address }: { address: string }) =>
      `This token may not be used from ${address}: add the address to the token or use another one`,
  },
  account_not_active: { status: 403, message: 'Account not active' },
  permission_denied: {
    status: 403,
    message: ({ permission }: { permission: string }) => `Permission denied: ${permission}`,
    headers: PERMISSION_HEADERS,
  },
  session_required: {
    status: 403,
    message: 'This endpoint requires a dashboard session: API tokens are not accepted',
  },
  live_mode_disabled: { status: 403, message: 'Live mode is not enabled' },
  withdrawals_disabled: { status: 403, message: 'Withdrawals are not enabled' },
  cross_origin: { status: 403, message: 'Cross-origin request refused' },
  viewing_read_only: {
    status: 403,
    message: 'Staff views this account: nothing can be changed, exported or revealed',
  },
  proof_required: { status: 403, message: 'Confirm that it is you' },
  too_many_requests: {
    status: 429,
    message: (_: { retryAfterS: number }) => 'Too Many Requests',
    headers: RETRY_AFTER_HEADERS,
  },
  test_quota_exceeded: {
    status: 429,
    message: (_: { retryAfterS: number }) => 'Too Many Requests',
    headers: RETRY_AFTER_HEADERS,
  },
  malformed_request: { status: 400, message: 'Malformed request' },
  malformed_json: { status: 400, message: 'Malformed JSON' },
  request_timeout: { status: 408, message: 'Request timed out' },
  payload_too_large: { status: 413, message: 'Payload too large' },
  unsupported_media_type: { status: 415, message: 'Content-Type must be application/json' },
  expectation_failed: { status: 417, message: 'Expectation failed' },
  uri_too_long: {
    status: 414,
    message: 'URI too long: send a query of at most 2048 bytes and 50 parameters',
  },
  headers_too_large: { status: 431, message: 'Headers too large' },
  method_not_allowed: {
    status: 405,
    message: (_: { allow: string }) => 'Method not allowed',
    headers: { allow: ({ allow }: HeaderValues) => allow },
  },
  invalid_input: {
    status: 422,
    message: ({ message = 'Invalid input' }: { message?: string; fields?: FieldProblems }) =>
      message,
  },
  idempotency_key_invalid: {
    status: 422,
    message: ({ lengthMax }: { lengthMax: number }) =>
      `Idempotency-Key must have 1 to ${lengthMax} characters`,
    field: 'Idempotency-Key',
  },
  idempotency_key_reused: {
    status: 422,
    message:
      'Idempotency-Key was already used with a different body or by another caller: send a new key',
    field: 'Idempotency-Key',
  },
  placeholder_document: {
    status: 422,
    message: "client_doc must be the payer's own CPF or CNPJ, not a placeholder",
    field: 'client_doc',
  },
  refused_by_bank: {
    status: 422,
    message: ({ field }: { field: string }) => `${field} was refused by the bank`,
  },
  refund_exceeds_remainder: {
    status: 422,
    message: ({ rule }: { rule: string }) => `amount ${rule}`,
    field: 'amount',
  },
  review_required: {
    status: 422,
    message: 'amount is above the threshold of this account: review it, then confirm it',
    field: 'amount',
  },
  limit_exceeded: {
    status: 422,
    message: ({ limit }: { limit: ExceededLimit }) => `amount ${limitRule(limit)}`,
    field: 'amount',
    headers: LIMIT_HEADERS,
  },
  insufficient_balance: { status: 422, message: 'Insufficient balance', field: 'amount' },
  dispute_not_covered: { status: 422, message: 'Less is held than is disputed', field: 'amount' },
  permission_not_held: {
    status: 403,
    message: ({ permission, advice }: { permission: string; advice: string }) =>
      `You may not grant permissions that you do not hold (${permission}): ${advice}`,
    headers: PERMISSION_HEADERS,
  },
  transaction_not_found: { status: 404, message: 'Transaction not found' },
  withdrawal_not_found: { status: 404, message: 'Withdrawal not found' },
  request_not_found: { status: 404, message: 'Request not found' },
  refund_not_found: { status: 404, message: 'Refund not found' },
  dispute_not_found: { status: 404, message: 'Dispute not found' },
  receipt_not_found: { status: 404, message: 'Receipt not found' },
  endpoint_not_found: { status: 404, message: 'Endpoint not found' },
  delivery_not_found: { status: 404, message: 'Delivery not found' },
  test_mode_only: { status: 404, message: 'Not found' },
  /** The caller may pass a message; the command line names the missing object. */
  not_found: { status: 404, message: (message = 'Not found') => message },
  external_id_used: { status: 409, message: 'external_id already used' },
  external_id_ambiguous: {
    status: 409,
    message: 'Several transactions have this external_id: use the transaction_id',
  },
  not_pending: { status: 409, message: 'Transaction is not pending' },
  already_final: {
    status: 409,
    message: ({ subject, status }: { subject: string; status: string }) =>
      `${subject} is already ${status}`,
  },
  endpoint_disabled: { status: 409, message: callerMessage },
  under_way: { status: 409, message: callerMessage },
  child_token: {
    status: 409,
    message:
      'Another token created this one: only that token rotates it, and an owner confirms that one',
  },
  token_unconfirmed: {
    status: 409,
    message:
      'The member who issued this token no longer holds all of its permissions: an owner must confirm it first',
  },
  token_not_found: { status: 404, message: 'Token not found' },
  token_ended: { status: 409, message: callerMessage },
  limit_reached: { status: 409, message: callerMessage },
  approval_pending: {
    status: 409,
    message: 'Withdrawal waits for the approval of a second member',
  },
  not_paid: { status: 409, message: 'Transaction is not paid' },
  refund_window_closed: {
    status: 409,
    message: ({ days }: { days: number }) =>
      `Transaction was paid more than ${days} days ago and can no longer be refunded`,
  },
  in_progress: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running',
    headers: { 'retry-after': '1' },
  },
  events_gone: {
    status: 410,
    message: ({ continueAfter }: FeedPosition) =>
      `Events before sequence ${continueAfter + 1} have been deleted: continue with after=${continueAfter}`,
    headers: FEED_HEADERS,
  },
  feed_epoch_changed: {
    status: 410,
    message: ({ continueAfter }: FeedPosition) =>
      `This feed has another epoch: continue with the one in Troco-Feed-Epoch and after=${continueAfter}`,
    headers: FEED_HEADERS,
  },
  feed_restored: {
    status: 410,
    message: ({ continueAfter, lastKept }: FeedPosition & { lastKept: number }) =>
      `A restore has removed the events after sequence ${lastKept}: continue with the epoch in Troco-Feed-Epoch and after=${continueAfter}`,
    headers: RESTORE_HEADERS,
  },
  after_beyond_feed: {
    status: 422,
    message: ({ continueAfter }: FeedPosition) =>
      `after must be at most ${continueAfter}, the last_sequence of this feed`,
    field: 'after',
    headers: FEED_HEADERS,
  },
  service_unavailable: {
    status: 503,
    message: (_: { retryAfterS?: number } = {}) => 'Service unavailable',
    // A restart of PostgreSQL takes a few seconds; an immediate retry would fail again.
    headers: { 'retry-after': ({ retryAfterS = 2 }: HeaderValues) => String(retryAfterS) },
  },
} as const satisfies Record<string, Refusal>
