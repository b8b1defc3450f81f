import { callerMessage, PERMISSION_HEADERS, type Refusal } from '#lib/base/refusal-headers.ts'

/** Refusals that only Troco's own pages get. */
export const PAGE_REFUSALS = {
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
  user_not_found: { status: 404, message: 'User not found', audience: 'pages' },
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
  admin_reset_refused: {
    status: 403,
    message: 'An admin is reset at the command line only: `user reset`',
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
