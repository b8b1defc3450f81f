import { expect, test } from 'vitest'
import { refuse } from '#lib/core/errors.ts'
import { API_REFUSALS, type ErrorCode, REFUSALS, type Refusal } from '#lib/core/refusals.ts'
import { env } from '#lib/core/settings.ts'
import { ERRORS_PATH, errorResponse } from '#lib/http/response.ts'

const RETRY = { 'retry-after': '7' }
const ERRORS_PAGE = `${env().PUBLIC_URL}${ERRORS_PATH}`
const EPOCH = 'b54f1c0e9a7d3362'
const FEED = { epoch: EPOCH, lastSequence: 12 }
const FEED_HEADERS = { 'troco-feed-epoch': EPOCH, 'troco-last-sequence': '12' }
const CUSTOM_MESSAGE = 'worded by its caller'

const RESPONSES = [
  [refuse('unauthenticated'), 401, 'Unauthenticated', { 'www-authenticate': 'Bearer' }],
  [
    refuse('address_not_allowed', { address: '203.0.113.9' }),
    403,
    'This token may not be used from 203.0.113.9: add the address to the token or use another one',
  ],
  [
    refuse('child_token'),
    409,
    'Another token created this one: only that token rotates it, and an owner confirms that one',
  ],
  [refuse('account_not_active'), 403, 'Account not active'],
  [
    refuse('email_unverified'),
    403,
    'Confirm your e-mail address first: open the link that was mailed to it',
  ],
  [
    refuse('permission_denied', { permission: 'refunds:write' }),
    403,
    'Permission denied: refunds:write',
    { 'x-required-permission': 'refunds:write' },
  ],
  [refuse('live_mode_disabled'), 403, 'Live mode is not enabled'],
  [refuse('withdrawals_disabled'), 403, 'Withdrawals are not enabled'],
  [refuse('cross_origin'), 403, 'Cross-origin request refused'],
  [refuse('proof_required'), 403, 'Confirm that it is you'],
  [refuse('too_many_requests', { retryAfterS: 7 }), 429, 'Too Many Requests', RETRY],
  [refuse('test_quota_exceeded', { retryAfterS: 7 }), 429, 'Too Many Requests', RETRY],
  [refuse('malformed_json'), 400, 'Malformed JSON'],
  [refuse('payload_too_large'), 413, 'Payload too large'],
  [refuse('unsupported_media_type'), 415, 'Content-Type must be application/json'],
  [refuse('invalid_input', {}), 422, 'Invalid input'],
  [
    refuse('limit_exceeded', { limit: { name: 'account_charge', amount: 100_000, freesAt: null } }),
    422,
    "amount must be at most R$ 1,000.00, this account's limit per charge",
    { 'x-error-fields': 'amount', 'x-limit': 'account_charge', 'x-limit-amount': '100000' },
  ],
  [
    refuse('limit_exceeded', {
      limit: { name: 'account_day', amount: 5_000, freesAt: new Date('2026-11-22T03:00:00Z') },
    }),
    422,
    "amount would bring the withdrawals above R$ 50.00, this account's limit per day: possible again from 2026-11-22T03:00:00.000000Z",
    {
      'x-error-fields': 'amount',
      'x-limit': 'account_day',
      'x-limit-amount': '5000',
      'x-limit-frees-at': '2026-11-22T03:00:00.000000Z',
    },
  ],
  [
    refuse('limit_exceeded', { limit: { name: 'connection_day', amount: null, freesAt: null } }),
    422,
    "amount must be at most the bank connection's limit per day",
    { 'x-error-fields': 'amount', 'x-limit': 'connection_day' },
  ],
  [refuse('insufficient_balance'), 422, 'Insufficient balance', { 'x-error-fields': 'amount' }],
  [
    refuse('dispute_not_covered'),
    422,
    'Less is held than is disputed',
    { 'x-error-fields': 'amount' },
  ],
  [refuse('transaction_not_found'), 404, 'Transaction not found'],
  [refuse('request_not_found'), 404, 'Request not found'],
  [refuse('withdrawal_not_found'), 404, 'Withdrawal not found'],
  [refuse('order_not_found'), 404, 'Order not found'],
  [refuse('refund_not_found'), 404, 'Refund not found'],
  [refuse('dispute_not_found'), 404, 'Dispute not found'],
  [refuse('not_found'), 404, 'Not found'],
  [refuse('external_id_used'), 409, 'external_id already used'],
  [
    refuse('external_id_ambiguous'),
    409,
    'Several transactions have this external_id: use the transaction_id',
  ],
  [
    refuse('external_ids_repeat'),
    409,
    'Charges with the same external_id exist: it must stay possible',
  ],
  [
    refuse('already_final', { subject: 'Withdrawal', status: 'approved' }),
    409,
    'Withdrawal is already approved',
  ],
  [refuse('receipt_not_found'), 404, 'Receipt not found'],
  [refuse('not_paid'), 409, 'Transaction is not paid'],
  [refuse('not_pending'), 409, 'Transaction is not pending'],
  [refuse('not_in_contract'), 403, 'Troco has no such function of API Pix'],
  [refuse('not_supported', 'This bank sends no notices'), 409, 'This bank sends no notices'],
  [
    refuse('refund_window_closed', { days: 90 }),
    409,
    'Transaction was paid more than 90 days ago and can no longer be refunded',
  ],
  [
    refuse('in_progress'),
    409,
    'A request with this Idempotency-Key is still running',
    { 'retry-after': '1' },
  ],
  [
    refuse('events_gone', { continueAfter: 11, ...FEED }),
    410,
    'Events before sequence 12 have been deleted: continue with after=11',
    { ...FEED_HEADERS, 'troco-continue-after': '11' },
  ],
  [
    refuse('feed_epoch_changed', { continueAfter: 11, ...FEED }),
    410,
    'This feed has another epoch: continue with the one in Troco-Feed-Epoch and after=11',
    { ...FEED_HEADERS, 'troco-continue-after': '11' },
  ],
  [
    refuse('feed_restored', { continueAfter: 4_294_967_296, ...FEED, lastKept: 11 }),
    410,
    'A restore has removed the events after sequence 11: continue with the epoch in Troco-Feed-Epoch and after=4294967296',
    {
      ...FEED_HEADERS,
      'troco-continue-after': '4294967296',
      'troco-last-kept': '11',
    },
  ],
  [
    refuse('after_beyond_feed', { continueAfter: 12, ...FEED }),
    422,
    'after must be at most 12, the last_sequence of this feed',
    { 'x-error-fields': 'after', ...FEED_HEADERS, 'troco-continue-after': '12' },
  ],
  [refuse('service_unavailable'), 503, 'Service unavailable', { 'retry-after': '2' }],
  [
    refuse('service_unavailable', { retryAfterS: 300 }),
    503,
    'Service unavailable',
    { 'retry-after': '300' },
  ],
  [
    refuse('session_required'),
    403,
    'This endpoint requires a dashboard session: API tokens are not accepted',
  ],
  [refuse('second_factor_required'), 403, 'Admins must have a second factor: set one up'],
  [refuse('other_person'), 403, 'This invitation is for another e-mail address'],
  [refuse('sign_up_closed', CUSTOM_MESSAGE), 403, CUSTOM_MESSAGE],
  [refuse('account_not_found'), 404, 'Account not found'],
  [refuse('endpoint_not_found'), 404, 'Endpoint not found'],
  [refuse('delivery_not_found'), 404, 'Delivery not found'],
  [refuse('token_not_found'), 404, 'Token not found'],
  [refuse('connection_not_found'), 404, 'Connection not found'],
  [refuse('item_not_found'), 404, 'Item not found'],
  [refuse('job_not_found'), 404, 'Job not found, or already finished'],
  [refuse('receipt_refused'), 404, 'Receipt is not genuine'],
  [refuse('member_not_found'), 404, 'Member not found'],
  [refuse('invitation_not_found'), 404, 'Invitation not found'],
  [refuse('factor_not_found', { factor: 'Passkey' }), 404, 'Passkey not found'],
  [refuse('session_not_found'), 404, 'This device is already signed out'],
  [refuse('endpoint_disabled', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('under_way', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('dispute_refused', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('correction_refused', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('limit_reached', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [
    refuse('permission_not_held', { permission: 'refunds:write', advice: 'ask an owner' }),
    403,
    'You may not grant permissions that you do not hold (refunds:write): ask an owner',
    { 'x-required-permission': 'refunds:write' },
  ],
  [
    refuse('token_unconfirmed'),
    409,
    'The member who issued this token no longer holds all of its permissions: an owner must confirm it first',
  ],
  [
    refuse('tokens_undecided', { ids: ['one', 'two'] }),
    409,
    'tokens must decide to adopt or revoke exactly the tokens that this member may no longer grant: one, two',
  ],
  [refuse('token_ended', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('approval_ended', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('end_refused', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [refuse('opening_refused', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [
    refuse('end_by_other'),
    403,
    'Another admin must confirm this: one for at least 7 days, and neither may have created or reset the other',
  ],
  [
    refuse('approval_by_other'),
    403,
    'Somebody else must approve this: you requested it, or got the role through the requester, or they through you',
  ],
  [refuse('approval_pending'), 409, 'Withdrawal waits for the approval of a second member'],
  [refuse('member_already'), 409, 'This user is already a member'],
  [refuse('last_owner'), 409, 'An account must have an owner: make another member an owner first'],
  [refuse('invitation_ended', CUSTOM_MESSAGE), 409, CUSTOM_MESSAGE],
  [
    refuse('viewing_read_only'),
    403,
    'Staff views this account: nothing can be changed, exported or revealed',
  ],
  [refuse('malformed_request'), 400, 'Malformed request'],
  [refuse('request_timeout'), 408, 'Request timed out'],
  [refuse('expectation_failed'), 417, 'Expectation failed'],
  [
    refuse('uri_too_long'),
    414,
    'URI too long: send a query of at most 2048 bytes and 50 parameters',
  ],
  [refuse('headers_too_large'), 431, 'Headers too large'],
  [refuse('method_not_allowed', { allow: 'GET' }), 405, 'Method not allowed', { allow: 'GET' }],
  [
    refuse('idempotency_key_invalid', { lengthMax: 255 }),
    422,
    'Idempotency-Key must have 1 to 255 characters',
  ],
  [
    refuse('idempotency_key_reused'),
    422,
    'Idempotency-Key was already used with a different body or by another caller: send a new key',
  ],
  [
    refuse('placeholder_document'),
    422,
    "client_doc must be the payer's own CPF or CNPJ, not a placeholder",
    { 'x-error-fields': 'client_doc' },
  ],
  [
    refuse('refused_by_bank', { field: 'client_document' }),
    422,
    'client_document was refused by the bank',
    { 'x-error-fields': 'client_document' },
  ],
  [
    refuse('refund_exceeds_remainder', { rule: 'must be at most 5' }),
    422,
    'amount must be at most 5',
    { 'x-error-fields': 'amount' },
  ],
  [
    refuse('review_required'),
    422,
    'amount is above the threshold of this account: review it, then confirm it',
    { 'x-error-fields': 'amount' },
  ],
  [refuse('test_mode_only'), 404, 'Not found'],
  [refuse('length_required'), 411, 'Length required'],
  [refuse('form_required'), 415, 'Unsupported media type'],
  [refuse('notice_refused'), 403, 'Forbidden'],
  [refuse('user_not_found'), 404, 'User not found'],
  [refuse('admin_reset_refused'), 403, 'An admin is reset at the command line only: `user reset`'],
  [refuse('link_expired'), 410, 'This link has expired or was already used: request a new one'],
] as const

test.each(
  RESPONSES.map(([error, status, message, headers = {}]) => ({
    error,
    code: error.code,
    status,
    message,
    headers,
  })),
)(
  '$code is status $status with the message "$message"',
  ({ error, code, status, message, headers }) => {
    const response = errorResponse(error, 'first_message')
    expect(response.status).toBe(status)
    expect(JSON.parse(response.text)).toEqual(
      status === 422 ? { errors: message } : { error: message },
    )
    expect(response.headers).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-store',
      'x-error-code': code,
      ...(code in API_REFUSALS && { link: `<${ERRORS_PAGE}#${code}>; rel="help"` }),
      ...headers,
    })
  },
)

test('every code except setup_failed is covered above', () => {
  const codes = new Set<string>(['setup_failed', ...RESPONSES.map(([error]) => error.code)])
  expect([...codes].sort()).toEqual(Object.keys(REFUSALS).sort())
})

test('an internal error is a 500 that does not reveal its reason', () => {
  for (const error of [refuse('setup_failed', 'TROCO_SECRET is not set'), new Error('a row'), 7]) {
    expect(errorResponse(error, 'first_message')).toMatchObject({
      status: 500,
      text: '{"error":"Internal server error"}',
      headers: {
        'x-error-code': 'internal_error',
        link: `<${ERRORS_PAGE}#internal_error>; rel="help"`,
      },
    })
  }
})

test('a 422 lists its messages by field at endpoints with the format field_messages', () => {
  const bodyOf = (error: unknown) => JSON.parse(errorResponse(error, 'field_messages').text)
  expect(bodyOf(refuse('insufficient_balance'))).toEqual({
    errors: { amount: ['Insufficient balance'] },
  })
  const fields = { amount: ['amount is required'], client_name: ['client_name is required'] }
  expect(bodyOf(refuse('invalid_input', { fields }))).toEqual({ errors: fields })
  expect(bodyOf(refuse('invalid_input', {}))).toEqual({ errors: { body: ['Invalid input'] } })
})

test('refuse() accepts a message only for codes without a fixed one', () => {
  // @ts-expect-error: the message of this code is fixed
  refuse('transaction_not_found', 'Charge not found')
  // @ts-expect-error: this code needs the permission
  expect(() => refuse('permission_denied')).toThrow(TypeError)
  // @ts-expect-error: the caller must give the message
  refuse('limit_reached')
  // @ts-expect-error: unknown code
  expect(() => refuse('transaction_lost' satisfies ErrorCode)).toThrow(TypeError)
  // @ts-expect-error: a refusal needs a status
  expect({ message: 'Gone' } satisfies Refusal).toBeDefined()
  // @ts-expect-error: a refusal needs a message
  expect({ status: 410 } satisfies Refusal).toBeDefined()
})
