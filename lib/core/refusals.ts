import { formatReais } from '#lib/core/money.ts'

/** Limits of amounts in live mode: those of the account, and those of its connection to a bank. */
export const LIMITS = [
  'account_charge',
  'account_withdrawal',
  'account_night',
  'account_day',
  'connection_withdrawal',
  'connection_day',
] as const
type LimitName = (typeof LIMITS)[number]

export interface ExceededLimit {
  name: LimitName
  /** The limit in cents; null for one that concerns other accounts too. */
  amount: number | null
  /** When the same amount is possible again; null: never. */
  freesAt: Date | null
}

const MAXIMUM_OF: Record<LimitName, string> = {
  account_charge: "this account's limit per charge",
  account_withdrawal: "this account's limit per withdrawal",
  account_night: "this account's limit from 20:00 to 06:00",
  account_day: "this account's limit per day",
  connection_withdrawal: "the bank connection's limit per withdrawal",
  connection_day: "the bank connection's limit per day",
}

/** Returns what is wrong with the amount; it follows the field's name. */
function limitRule({ name, amount, freesAt }: ExceededLimit): string {
  const reais = amount === null ? null : `R$ ${formatReais(amount, 'en')}`
  const maximum = MAXIMUM_OF[name]
  if (freesAt === null)
    return reais ? `must be at most ${reais}, ${maximum}` : `must be at most ${maximum}`
  const total = reais ? `${reais}, ${maximum}` : maximum
  return `would bring the withdrawals above ${total}: possible again from ${freesAtText(freesAt)}`
}

/** A time as in all responses: UTC with microseconds. */
function freesAtText(freesAt: Date): string {
  return freesAt.toISOString().replace('Z', '000Z')
}

export type FieldProblems = Record<string, string[]>

/** Values of an error that its headers show. */
interface HeaderValues {
  permission?: string | undefined
  retryAfterS?: number | undefined
  limit?: ExceededLimit | undefined
  /** Methods of the path. */
  allow?: string | undefined
  /** Epoch of the account's event feed. */
  epoch?: string | undefined
  /** Sequence number after which a reader of that feed continues. */
  continueAfter?: number | undefined
  /** Last sequence number of that feed. */
  lastSequence?: number | undefined
  /** Last sequence number that a restore has kept. */
  lastKept?: number | undefined
}

export interface Refusal {
  status: number
  /** Fixed text, or a function of the arguments that `refuse` takes for this code. */
  message: string | ((...given: never[]) => string)
  field?: string
  /** Response headers besides `x-error-code`: fixed, or a function of the error. */
  headers?: Record<string, string | ((values: HeaderValues) => string | null | undefined)>
}

const PERMISSION_HEADERS = {
  'x-required-permission': ({ permission }: HeaderValues) => permission,
}
/** Where a reader of the event feed continues. */
interface FeedPosition {
  epoch: string
  continueAfter: number
  lastSequence: number
}

const FEED_HEADERS = {
  'troco-feed-epoch': ({ epoch }: HeaderValues) => epoch,
  'troco-continue-after': ({ continueAfter }: HeaderValues) => continueAfter?.toString(),
  'troco-last-sequence': ({ lastSequence }: HeaderValues) => lastSequence?.toString(),
}
const RESTORE_HEADERS = {
  ...FEED_HEADERS,
  'troco-last-kept': ({ lastKept }: HeaderValues) => lastKept?.toString(),
}
const RETRY_AFTER_HEADERS = {
  'retry-after': ({ retryAfterS }: HeaderValues) => retryAfterS?.toString(),
}

const LIMIT_HEADERS = {
  'x-limit': ({ limit }: HeaderValues) => limit?.name,
  'x-limit-amount': ({ limit }: HeaderValues) => limit?.amount?.toString(),
  'x-limit-frees-at': ({ limit }: HeaderValues) => limit?.freesAt && freesAtText(limit.freesAt),
}

/** Message of a code that covers several situations: the caller of `refuse` passes the text. */
const callerMessage = (message: string, _options?: { cause: unknown }) => message

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

/** Message of `end_refused` and `opening_refused` if the second admin comes too late. */
export const PROPOSAL_ENDED = 'This proposal was replaced, has expired or was carried out'

/** Refusals that clients of Troco's own API never get: those of pages, API Pix, the command line and bank notices. */
const PAGE_REFUSALS = {
  not_in_contract: { status: 403, message: 'Troco has no such function of API Pix' },
  length_required: { status: 411, message: 'Length required' },
  notice_refused: { status: 403, message: 'Forbidden' },
  setup_failed: { status: 500, message: callerMessage },
  form_required: { status: 415, message: 'Unsupported media type' },
  second_factor_required: {
    status: 403,
    message: 'Admins must have a second factor: set one up',
  },
  other_person: {
    status: 403,
    message: 'This invitation is for another e-mail address',
  },
  email_unverified: {
    status: 403,
    message: 'Confirm your e-mail address first: open the link that was mailed to it',
  },
  sign_up_closed: { status: 403, message: callerMessage },
  account_not_found: { status: 404, message: 'Account not found' },
  user_not_found: { status: 404, message: 'User not found' },
  admin_reset_refused: {
    status: 403,
    message: 'An admin is reset at the command line only: `user reset`',
  },
  connection_not_found: { status: 404, message: 'Connection not found' },
  order_not_found: { status: 404, message: 'Order not found' },
  item_not_found: { status: 404, message: 'Item not found' },
  receipt_refused: { status: 404, message: 'Receipt is not genuine' },
  job_not_found: { status: 404, message: 'Job not found, or already finished' },
  member_not_found: { status: 404, message: 'Member not found' },
  invitation_not_found: { status: 404, message: 'Invitation not found' },
  factor_not_found: {
    status: 404,
    message: ({ factor }: { factor: 'Authenticator' | 'Passkey' }) => `${factor} not found`,
  },
  session_not_found: {
    status: 404,
    message: 'This device is already signed out',
  },
  not_supported: { status: 409, message: callerMessage },
  approval_by_other: {
    status: 403,
    message:
      'Somebody else must approve this: you requested it, or got the role through the requester, or they through you',
  },
  end_by_other: {
    status: 403,
    message:
      'Another admin must confirm this: one for at least 7 days, and neither may have created or reset the other',
  },
  external_ids_repeat: {
    status: 409,
    message: 'Charges with the same external_id exist: it must stay possible',
  },
  dispute_refused: { status: 409, message: callerMessage },
  end_refused: { status: 409, message: callerMessage },
  correction_refused: { status: 409, message: callerMessage },
  opening_refused: { status: 409, message: callerMessage },
  approval_ended: { status: 409, message: callerMessage },
  tokens_undecided: {
    status: 409,
    message: ({ ids }: { ids: string[] }) =>
      `tokens must decide to adopt or revoke exactly the tokens that this member may no longer grant: ${ids.join(', ') || 'none'}`,
  },
  member_already: { status: 409, message: 'This user is already a member' },
  last_owner: {
    status: 409,
    message: 'An account must have an owner: make another member an owner first',
  },
  invitation_ended: { status: 409, message: callerMessage },
  link_expired: {
    status: 410,
    message: 'This link has expired or was already used: request a new one',
  },
} as const satisfies Record<string, Refusal>

const REFUSAL_TABLE = { ...API_REFUSALS, ...PAGE_REFUSALS }

export type ErrorCode = keyof typeof REFUSAL_TABLE

export type PublicErrorCode = keyof typeof API_REFUSALS

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
} as const

export type ApiErrorCode = PublicErrorCode | typeof INTERNAL_ERROR.code

const API_STATUSES: Record<ApiErrorCode, { status: number }> = {
  ...API_REFUSALS,
  [INTERNAL_ERROR.code]: INTERNAL_ERROR,
}

/** All errors that API clients can get, by status. */
export const API_ERRORS = (Object.keys(API_STATUSES) as ApiErrorCode[])
  .map(code => ({ code, status: API_STATUSES[code].status }))
  .toSorted((one, other) => one.status - other.status)
