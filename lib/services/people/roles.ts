export const ROLES = ['owner', 'finance', 'developer', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Permissions of tokens. A new token has all of them. */
export const PERMISSIONS = [
  'account:read',
  'transactions:read',
  'transactions:write',
  'refunds:write',
  'withdrawals:read',
  'withdrawals:write',
  'events:read',
] as const
export type Permission = (typeof PERMISSIONS)[number]

export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text)
}

/** Permissions of members in the dashboard, never of tokens. */
export const PAGE_PERMISSIONS = [
  'dashboard:read',
  'webhooks:read',
  'webhooks:write',
  'tokens:read',
  'tokens:write',
  'settings:write',
  'documents:reveal',
  'audit:read',
  'profile:write',
  'members:read',
  'members:write',
  'members:leave',
] as const
export type PagePermission = (typeof PAGE_PERMISSIONS)[number]
export type Allowed = Permission | PagePermission

const EVERYBODY: Role[] = ['owner', 'finance', 'developer', 'viewer']
const MONEY: Role[] = ['owner', 'finance']
const BUILD: Role[] = ['owner', 'developer']

export const MAY: Record<Allowed, readonly Role[]> = {
  'account:read': EVERYBODY,
  'transactions:read': EVERYBODY,
  'transactions:write': ['owner', 'finance', 'developer'],
  'refunds:write': MONEY,
  'withdrawals:read': EVERYBODY,
  'withdrawals:write': MONEY,
  'events:read': EVERYBODY,
  'dashboard:read': EVERYBODY,
  'webhooks:read': EVERYBODY,
  'webhooks:write': BUILD,
  'tokens:read': EVERYBODY,
  'tokens:write': BUILD,
  'settings:write': ['owner'],
  'documents:reveal': MONEY,
  'audit:read': ['owner'],
  'profile:write': EVERYBODY,
  'members:read': EVERYBODY,
  'members:write': ['owner'],
  'members:leave': EVERYBODY,
}

export function may(role: Role, wanted: Allowed): boolean {
  return MAY[wanted].includes(role)
}

/** Returns whether a permission works in an inactive account: only reading and leaving do. */
export function isAllowedInactive(wanted: Allowed): boolean {
  return wanted.endsWith(':read') || isWriteAllowedInactive(wanted)
}

/** Returns whether a request that changes data may use this permission in an inactive account. */
export function isWriteAllowedInactive(wanted: Allowed): boolean {
  return wanted === 'members:leave'
}

/** Write permissions on data that both modes share. */
const OF_BOTH_MODES: Allowed[] = ['settings:write', 'profile:write', 'members:write']

/** Returns whether a permission requires an open mode: a closed one can still be read. */
export function needsOpenMode(wanted: Allowed): boolean {
  return wanted.endsWith(':write') && !OF_BOTH_MODES.includes(wanted)
}

export function isForPagesOnly(wanted: Allowed): boolean {
  return (PAGE_PERMISSIONS as readonly string[]).includes(wanted)
}

/** Returns whether a role sees delivered bodies unmasked: only those who manage webhooks do. */
export function seesSentBytes(role: Role | null): boolean {
  return role !== null && may(role, 'webhooks:write')
}

/** Returns whether a page should offer an action to a member, given role and account status. */
export function mayNow(member: { role: Role; status: string }, wanted: Allowed): boolean {
  return may(member.role, wanted) && (member.status === 'active' || isAllowedInactive(wanted))
}

export function permissionsOf(role: Role): Allowed[] {
  return (Object.keys(MAY) as Allowed[]).filter(name => may(role, name))
}
