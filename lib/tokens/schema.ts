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
