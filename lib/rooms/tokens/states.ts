/** expiring: accepted for at most another week. replaced: accepted until its overlap ends. */
export const TOKEN_STATUSES = ['active', 'expiring', 'replaced', 'expired', 'revoked'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/** Returns whether a token of this status is accepted. SQL: `activeTokenCondition` in status.ts. */
export function isActiveStatus(status: TokenStatus): boolean {
  return status !== 'expired' && status !== 'revoked'
}
