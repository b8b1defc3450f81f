import { type ExceededLimit, limitRule } from '#lib/base/limits.ts'
import {
  type HeaderValues,
  LIMIT_HEADERS,
  PERMISSION_HEADERS,
  RETRY_AFTER_HEADERS,
  type Refusal,
} from '#lib/base/refusal-headers.ts'

export type { Refusal }

export type FieldProblems = Record<string, string[]>

/** Message of a code that covers several situations: the caller of `refuse` passes the text. */
const callerMessage = (message: string, _options?: { cause: unknown }) => message

const REFUSAL_TABLE = {
  unauthenticated: {
    status: 401,
    message: 'Unauthenticated',
    headers: { 'www-authenticate': 'Bearer' },
  },
  account_not_active: { status: 403, message: 'Account not active' },
  permission_denied: {
    status: 403,
    message: ({ permission }: { permission: string }) => `Permission denied: ${permission}`,
    headers: PERMISSION_HEADERS,
  },
  live_mode_disabled: { status: 403, message: 'Live mode is not enabled' },
  withdrawals_disabled: { status: 403, message: 'Withdrawals are not enabled' },
  cross_origin: { status: 403, message: 'Cross-origin request refused' },
  proof_required: { status: 403, message: 'Confirm that it is you' },
  too_many_requests: {
    status: 429,
    message: (_: { retryAfterS: number }) => 'Too Many Requests',
    headers: RETRY_AFTER_HEADERS,
  },
  malformed_json: { status: 400, message: 'Malformed JSON' },
  payload_too_large: { status: 413, message: 'Payload too large' },
  unsupported_media_type: { status: 415, message: 'Content-Type must be application/json' },
  invalid_input: {
    status: 422,
    message: ({ message = 'Invalid input' }: { message?: string; fields?: FieldProblems }) =>
      message,
  },
  limit_exceeded: {
    status: 422,
    message: ({ limit }: { limit: ExceededLimit }) => `amount ${limitRule(limit)}`,
    field: 'amount',
    headers: LIMIT_HEADERS,
  },
  insufficient_balance: { status: 422, message: 'Insufficient balance', field: 'amount' },
  dispute_not_covered: { status: 422, message: 'Less is held than is disputed', field: 'amount' },
  transaction_not_found: { status: 404, message: 'Transaction not found' },
  withdrawal_not_found: { status: 404, message: 'Withdrawal not found' },
  refund_not_found: { status: 404, message: 'Refund not found' },
  /** The caller may pass a message; the command line names the missing object. */
  not_found: { status: 404, message: (message = 'Not found') => message },
  external_id_used: { status: 409, message: 'external_id already used' },
  already_final: {
    status: 409,
    message: ({ subject, status }: { subject: string; status: string }) =>
      `${subject} is already ${status}`,
  },
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
    message: ({ oldest }: { oldest: number }) =>
      `Events before sequence ${oldest} have been deleted: continue with after=${oldest - 1}`,
  },
  service_unavailable: {
    status: 503,
    message: (_: { retryAfterS?: number } = {}) => 'Service unavailable',
    // A restart of PostgreSQL takes a few seconds; an immediate retry would fail again.
    headers: { 'retry-after': ({ retryAfterS = 2 }: HeaderValues) => String(retryAfterS) },
  },
  setup_failed: { status: 500, message: callerMessage, audience: 'operator' },
  session_required: {
    status: 403,
    message: 'This endpoint requires a dashboard session: API tokens are not accepted',
    audience: 'pages',
  },
  second_factor_required: {
    status: 403,
    message: 'Admins must have a second factor: set one up',
    audience: 'pages',
  },
  other_person: {
    status: 403,
    message: 'This invitation is for another e-mail address',
    audience: 'pages',
  },
  email_unverified: {
    status: 403,
    message: 'Confirm your e-mail address first: open the link that was mailed to it',
    audience: 'pages',
  },
  sign_up_closed: { status: 403, message: callerMessage, audience: 'pages' },
  account_not_found: { status: 404, message: 'Account not found', audience: 'pages' },
  endpoint_not_found: { status: 404, message: 'Endpoint not found', audience: 'pages' },
  delivery_not_found: { status: 404, message: 'Delivery not found', audience: 'pages' },
  token_not_found: { status: 404, message: 'Token not found', audience: 'pages' },
  connection_not_found: { status: 404, message: 'Connection not found', audience: 'pages' },
  item_not_found: { status: 404, message: 'Item not found', audience: 'pages' },
  job_not_found: { status: 404, message: 'Job not found, or already finished', audience: 'pages' },
  member_not_found: { status: 404, message: 'Member not found', audience: 'pages' },
  invitation_not_found: { status: 404, message: 'Invitation not found', audience: 'pages' },
  factor_not_found: {
    status: 404,
    message: ({ factor }: { factor: 'Authenticator' | 'Passkey' }) => `${factor} not found`,
    audience: 'pages',
  },
  session_not_found: {
    status: 404,
    message: 'This device is already signed out',
    audience: 'pages',
  },
  endpoint_disabled: { status: 409, message: callerMessage, audience: 'pages' },
  not_supported: { status: 409, message: callerMessage, audience: 'pages' },
  under_way: { status: 409, message: callerMessage, audience: 'pages' },
  limit_reached: { status: 409, message: callerMessage, audience: 'pages' },
  permission_not_held: {
    status: 403,
    message: ({ permission, advice }: { permission: string; advice: string }) =>
      `Your role may not grant ${permission}: ${advice}`,
    headers: PERMISSION_HEADERS,
    audience: 'pages',
  },
  token_unconfirmed: {
    status: 409,
    message:
      'The member who issued this token no longer holds all of its permissions: an owner must confirm it first',
    audience: 'pages',
  },
  approval_by_other: {
    status: 403,
    message:
      'Somebody else must approve this: you requested it, or got the role through the requester, or they through you',
    audience: 'pages',
  },
  end_by_other: {
    status: 403,
    message:
      'Another admin must confirm this: one for at least 7 days, and neither may have created or reset the other',
    audience: 'pages',
  },
  dispute_refused: { status: 409, message: callerMessage, audience: 'pages' },
  end_refused: { status: 409, message: callerMessage, audience: 'pages' },
  approval_ended: { status: 409, message: callerMessage, audience: 'pages' },
  token_ended: { status: 409, message: callerMessage, audience: 'pages' },
  tokens_undecided: {
    status: 409,
    message: ({ ids }: { ids: string[] }) =>
      `tokens must decide to adopt or revoke exactly the tokens that this member may no longer grant: ${ids.join(', ') || 'none'}`,
    audience: 'pages',
  },
  member_already: { status: 409, message: 'This user is already a member', audience: 'pages' },
  last_owner: {
    status: 409,
    message: 'An account must have an owner: make another member an owner first',
    audience: 'pages',
  },
  invitation_ended: { status: 409, message: callerMessage, audience: 'pages' },
  link_expired: {
    status: 410,
    message: 'This link has expired or was already used: request a new one',
    audience: 'pages',
  },
} as const satisfies Record<string, Refusal>

export type ErrorCode = keyof typeof REFUSAL_TABLE

export type PublicErrorCode = {
  [Code in ErrorCode]: (typeof REFUSAL_TABLE)[Code] extends { audience: string } ? never : Code
}[ErrorCode]

type MessageFunction<Code extends ErrorCode> = Extract<
  (typeof REFUSAL_TABLE)[Code]['message'],
  (...given: never[]) => string
>

export type RefuseArguments<Code extends ErrorCode> = [MessageFunction<Code>] extends [never]
  ? []
  : Parameters<MessageFunction<Code>>

export const REFUSALS: Readonly<Record<ErrorCode, Refusal>> = REFUSAL_TABLE

/** Response to an internal error. The reason is only logged. */
export const INTERNAL_ERROR = {
  status: 500,
  code: 'internal_error',
  message: 'Internal server error',
}
