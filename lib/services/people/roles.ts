export const ROLES = ['owner', 'finance', 'developer', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** What a token may be allowed to do; a new one may do all of it. */
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

/** What only a member may do, from a page of ours: no token can be given any of it. */
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

/** Who of an account's members may do what: read by the handlers, by the pages and by the tests. */
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

/** In an account that is not active, members may read, and they may leave. */
export function isAllowedInactive(wanted: Allowed): boolean {
  return wanted.endsWith(':read') || isWriteAllowedInactive(wanted)
}

/** Whether a request that changes something may use this permission in an account that is not active. */
export function isWriteAllowedInactive(wanted: Allowed): boolean {
  return wanted === 'members:leave'
}

/** Settings and members are shared by both modes: to change them happens in neither. */
const OF_BOTH_MODES: Allowed[] = ['settings:write', 'profile:write', 'members:write']

/** Whether it takes an open mode: reading a closed one does no harm, writing there is refused. */
export function needsOpenMode(wanted: Allowed): boolean {
  return wanted.endsWith(':write') && !OF_BOTH_MODES.includes(wanted)
}

export function isForPagesOnly(wanted: Allowed): boolean {
  return (PAGE_PERMISSIONS as readonly string[]).includes(wanted)
}

/** Only those who build the receivers see the bytes they were sent; others see documents masked. */
export function seesSentBytes(role: Role | null): boolean {
  return role !== null && may(role, 'webhooks:write')
}

/** Whether a page should offer it. */
export function mayNow(member: { role: Role; status: string }, wanted: Allowed): boolean {
  return may(member.role, wanted) && (member.status === 'active' || isAllowedInactive(wanted))
}

/** All that a role may do. */
export function permissionsOf(role: Role): Allowed[] {
  return (Object.keys(MAY) as Allowed[]).filter(name => may(role, name))
}
