/** Audited actions. A test fails if the code records an action that is missing here. */
export const ACTIONS = [
  'account.activated',
  'account.approval_change_canceled',
  'account.approval_change_requested',
  'account.approval_changed',
  'account.claim_written_off',
  'account.connections_assigned',
  'account.created',
  'account.limited',
  'account.live_requested',
  'account.suspended',
  'account.updated',
  'account.viewing_begun',
  'account.viewing_ended',
  'audit.exported',
  'charge.cancelled',
  'charge.document_revealed',
  'charges.exported',
  'connection.added',
  'connection.checked',
  'connection.corrected',
  'connection.disabled',
  'connection.limited',
  'connection.money_out_opened',
  'connection.money_out_proposed',
  'connection.notices_registered',
  'connection.notices_restricted',
  'connection.notices_rotated',
  'connection.renewed',
  'connection.trial_begun',
  'demo.made',
  'dispute.answered',
  'dispute.evidence_added',
  'dispute.evidence_downloaded',
  'difference.corrected',
  'difference.correction_proposed',
  'difference.exported',
  'difference.return_ordered',
  'difference.return_rejected',
  'difference.resolved',
  'invitation.revoked',
  'job.requeued',
  'member.invited',
  'member.joined',
  'member.left',
  'member.removed',
  'member.role_changed',
  'merchant.invited',
  'order.contradicted',
  'order.end_proposed',
  'order.ended',
  'receipt.exported',
  'receipt_key.rotated',
  'receipt_key.withdrawn',
  'refund.requested',
  'refunds.exported',
  'restore.begun',
  'statement.exported',
  'token.addresses_changed',
  'token.adopted',
  'token.issued',
  'token.revoked',
  'token.rotated',
  'user.authenticator_added',
  'user.authenticator_removed',
  'user.created',
  'user.email_verified',
  'user.openid_linked',
  'user.openid_unlinked',
  'user.passkey_added',
  'user.passkey_removed',
  'user.password_changed',
  'user.password_reset',
  'user.recovery_code_used',
  'user.recovery_codes_renewed',
  'user.reset_link_made',
  'user.reset_link_mailed',
  'user.second_factor_reset',
  'user.signed_in',
  'user.signed_out_elsewhere',
  'user.updated',
  'webhook_delivery.resent',
  'webhook_endpoint.created',
  'webhook_endpoint.deleted',
  'webhook_endpoint.disabled',
  'webhook_endpoint.edited',
  'webhook_endpoint.enabled',
  'webhook_endpoint.secret_rotated',
  'webhook_secret.rotated',
  'webhook_secret.shown',
  'withdrawal.approval_expired',
  'withdrawal.approval_requested',
  'withdrawal.approved',
  'withdrawal.declined',
  'withdrawal.requested',
  'withdrawals.exported',
] as const
export type Action = (typeof ACTIONS)[number]

/** The part of an action before the dot, used as a filter: `token` matches every `token.*`. */
export type ActionGroup = Action extends `${infer Group}.${string}` ? Group : never
export const ACTION_GROUPS = [
  ...new Set(ACTIONS.map(action => action.split('.')[0] as ActionGroup)),
]

/** Returns the actions of a filter: one action or a group such as `token.*`. Null if none match. */
export function matchActions(filter: string): Action[] | null {
  const group = /^(\w+)\.\*$/.exec(filter)?.[1]
  const matches = ACTIONS.filter(action =>
    group === undefined ? action === filter : action.startsWith(`${group}.`),
  )
  return matches.length > 0 ? matches : null
}

/** Converts an action to a translation key: next-intl reads a dot in a key as nesting. */
type DotToUnderscore<Text> = Text extends `${infer Group}.${infer Name}`
  ? `${Group}_${Name}`
  : never
export type ActionMessageKey = DotToUnderscore<Action>

/** Returns the translation key; null for an action that this version does not know. */
export function actionMessageKey(action: string): ActionMessageKey | null {
  const known = ACTIONS.find(candidate => candidate === action)
  return known ? (known.replace('.', '_') as ActionMessageKey) : null
}
