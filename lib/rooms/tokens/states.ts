/**
 * active: works. expiring: works for another week at most. replaced: works until another one has
 * taken its place. expired, revoked: refused.
 */
export const TOKEN_STATUSES = ['active', 'expiring', 'replaced', 'expired', 'revoked'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/** Whether a token of this status is accepted; in SQL: `isTokenActive` of status.ts. */
export function isActiveStatus(status: TokenStatus): boolean {
  return status !== 'expired' && status !== 'revoked'
}
