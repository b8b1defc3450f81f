/** Every deed that is written down. A test finds one that the code writes and this list lacks. */
export const ACTIONS = [
  'account.activated',
  'account.created',
  'account.limited',
  'account.suspended',
  'account.updated',
  'audit.exported',
  'charge.document_revealed',
  'charges.exported',
  'demo.made',
  'invitation.revoked',
  'job.requeued',
  'member.invited',
  'member.joined',
  'member.left',
  'member.removed',
  'member.role_changed',
  'merchant.invited',
  'refund.requested',
  'statement.exported',
  'token.issued',
  'token.revoked',
  'token.rotated',
  'user.authenticator_added',
  'user.authenticator_removed',
  'user.created',
  'user.openid_linked',
  'user.passkey_added',
  'user.passkey_removed',
  'user.password_changed',
  'user.password_reset',
  'user.recovery_code_used',
  'user.recovery_codes_renewed',
  'user.reset_link_made',
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
  'withdrawal.requested',
] as const
export type Action = (typeof ACTIONS)[number]

/** What deeds are about, by which a list of them can be narrowed: `token` means all of token.*. */
export type ActionGroup = Action extends `${infer Group}.${string}` ? Group : never
export const ACTION_GROUPS = [
  ...new Set(ACTIONS.map(action => action.split('.')[0] as ActionGroup)),
]

/** Which deeds a filter means: one, or a group such as token.*; null: it means none. */
export function actionsOf(filter: string): Action[] | null {
  const group = /^(\w+)\.\*$/.exec(filter)?.[1]
  const meant = ACTIONS.filter(action =>
    group === undefined ? action === filter : action.startsWith(`${group}.`),
  )
  return meant.length > 0 ? meant : null
}

/** A deed by the name under which its words stand, where a dot would part them. */
type Underlined<Text> = Text extends `${infer Group}.${infer Deed}` ? `${Group}_${Deed}` : never
export type ActionWord = Underlined<Action>

/** Null: a deed that this version does not know, such as one of a version before. */
export function wordOf(action: string): ActionWord | null {
  const known = ACTIONS.find(one => one === action)
  return known ? (known.replace('.', '_') as ActionWord) : null
}
