import { type ExceededLimit, limitRule } from '#lib/base/limits.ts'
import { PAGE_REFUSALS } from '#lib/base/page-refusals.ts'
import {
  callerMessage,
  type HeaderValues,
  LIMIT_HEADERS,
  PERMISSION_HEADERS,
  RETRY_AFTER_HEADERS,
  type Refusal,
} from '#lib/base/refusal-headers.ts'

export type { Refusal }

export type FieldProblems = Record<string, string[]>

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
  ...PAGE_REFUSALS,
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
