import { callerMessage, type Refusal } from '#lib/core/refusal-headers.ts'

/** Message of `end_refused` and `opening_refused` if the second admin comes too late. */
export const PROPOSAL_ENDED = 'This proposal was replaced, has expired or was carried out'

/** Refusals that API clients never get: those of the pages, the command line and bank notices. */
export const PAGE_REFUSALS = {
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
