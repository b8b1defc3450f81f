/** expiring: accepted for at most another week. replaced: accepted until its overlap ends. */
export const TOKEN_STATUSES = ['active', 'expiring', 'replaced', 'expired', 'revoked'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/** Returns whether a token of this status is accepted. SQL: `activeTokenCondition` in status.ts. */
export function isActiveToken(status: TokenStatus): boolean {
  return status !== 'expired' && status !== 'revoked'
}

interface Ends {
  revoked_at: string | null
  expires_at: string | null
  parent: { ended_at: string | null } | null
}

/** Returns when the parent of a token ended, if the token ended with it and not before. */
export function endOfParent({ parent, revoked_at, expires_at }: Ends): string | null {
  const [ended, own] = [parent?.ended_at ?? null, revoked_at ?? expires_at]
  return ended !== null && (own === null || own >= ended) ? ended : null
}
