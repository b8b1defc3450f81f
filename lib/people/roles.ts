export const ROLES = ['owner', 'finance', 'developer', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export const PERMISSIONS = [
  'account:read',
  'transactions:read',
  'transactions:write',
  'refunds:write',
  'withdrawals:read',
  'withdrawals:write',
  'events:read',
  'payers:read',
  'statement:read',
  'requests:read',
  'webhooks:read',
  'webhooks:write',
  'tokens:read',
  'tokens:write',
] as const
export type Permission = (typeof PERMISSIONS)[number]

/** Permissions that a new token has only if they are requested by name. */
const ON_REQUEST: readonly Permission[] = [
  'statement:read',
  'webhooks:read',
  'webhooks:write',
  'tokens:read',
  'tokens:write',
]
export const DEFAULT_PERMISSIONS = PERMISSIONS.filter(name => !ON_REQUEST.includes(name))

export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text)
}

/** Permissions of members in the dashboard, never of tokens. */
export const PAGE_PERMISSIONS = [
  'dashboard:read',
  'charges:write',
  'secrets:write',
  'tokens:adopt',
  'settings:write',
  'documents:reveal',
  'withdrawals:approve',
  'audit:read',
  'profile:write',
  'members:read',
  'members:write',
  'members:leave',
] as const
export type PagePermission = (typeof PAGE_PERMISSIONS)[number]
export type AnyPermission = Permission | PagePermission

const ALL_ROLES: Role[] = ['owner', 'finance', 'developer', 'viewer']
const MONEY_ROLES: Role[] = ['owner', 'finance']
const DEVELOPER_ROLES: Role[] = ['owner', 'developer']

export const ROLES_BY_PERMISSION: Record<AnyPermission, readonly Role[]> = {
  'account:read': ALL_ROLES,
  'transactions:read': ALL_ROLES,
  'transactions:write': ['owner', 'finance', 'developer'],
  'refunds:write': MONEY_ROLES,
  'withdrawals:read': ALL_ROLES,
  'withdrawals:write': MONEY_ROLES,
  'events:read': ALL_ROLES,
  'payers:read': MONEY_ROLES,
  'statement:read': ALL_ROLES,
  'requests:read': ALL_ROLES,
  'webhooks:read': ALL_ROLES,
  'webhooks:write': DEVELOPER_ROLES,
  'dashboard:read': ALL_ROLES,
  'charges:write': ['owner', 'finance', 'developer'],
  'secrets:write': DEVELOPER_ROLES,
  'tokens:read': ALL_ROLES,
  'tokens:write': DEVELOPER_ROLES,
  'tokens:adopt': ['owner'],
  'settings:write': ['owner'],
  'documents:reveal': MONEY_ROLES,
  'withdrawals:approve': MONEY_ROLES,
  'audit:read': ['owner'],
  'profile:write': ALL_ROLES,
  'members:read': ALL_ROLES,
  'members:write': ['owner'],
  'members:leave': ALL_ROLES,
}

/** Pages in both modes that need more than to be a member, by their address after the mode. */
export const PAGE_NEEDS = {
  'charges/new': 'transactions:write',
  'withdrawals/new': 'withdrawals:write',
  'webhooks/endpoints/new': 'webhooks:write',
  'settings/tokens/new': 'tokens:write',
  'settings/audit': 'audit:read',
} as const satisfies Record<string, AnyPermission>
export type PageName = keyof typeof PAGE_NEEDS

export function hasPermission(role: Role, permission: AnyPermission): boolean {
  return ROLES_BY_PERMISSION[permission].includes(role)
}

/** Returns whether tokens and members of the account may do all that their permissions allow. */
export function isActiveAccount(accountStatus: string): boolean {
  return accountStatus === 'active'
}

export function isAllowedInactive(permission: AnyPermission): boolean {
  return permission.endsWith(':read') || isWriteAllowedInactive(permission)
}

export function isWriteAllowedInactive(permission: AnyPermission): boolean {
  return permission === 'members:leave'
}

/** Write permissions on data that both modes share. */
const MODE_INDEPENDENT_PERMISSIONS: AnyPermission[] = [
  'settings:write',
  'profile:write',
  'members:write',
]

/** Returns whether a permission requires an open mode. Data of a closed mode can still be read. */
export function needsOpenMode(permission: AnyPermission): boolean {
  return permission.endsWith(':write') && !MODE_INDEPENDENT_PERMISSIONS.includes(permission)
}

export function isForPagesOnly(permission: AnyPermission): boolean {
  return (PAGE_PERMISSIONS as readonly string[]).includes(permission)
}

/** `receives`, `paysOut`: whether the account has a connection for it, in the mode of the page. */
export function hasPermissionNow(
  member: { role: Role; status: string; receives?: boolean; paysOut?: boolean },
  permission: AnyPermission,
): boolean {
  return (
    hasPermission(member.role, permission) &&
    (isActiveAccount(member.status) || isAllowedInactive(permission)) &&
    (member.receives !== false || permission !== 'transactions:write') &&
    (member.paysOut !== false || permission !== 'withdrawals:write')
  )
}

export function listPermissions(role: Role): AnyPermission[] {
  return (Object.keys(ROLES_BY_PERMISSION) as AnyPermission[]).filter(name =>
    hasPermission(role, name),
  )
}
