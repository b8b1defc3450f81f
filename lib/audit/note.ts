import { recordAudit } from '#lib/audit/record.ts'
import type { AuditValues } from '#lib/audit/schema.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Tx } from '#lib/db/client.ts'

export function requireActor(userId: string | null) {
  if (userId === null) throw new Invariant('only a user can be the actor of this audited action')
  return { type: 'user', id: userId } as const
}

/** Returns who sends a request: a member, or a program with a token. */
export function actorOf({ userId, tokenId }: { userId: string | null; tokenId: string | null }) {
  return tokenId === null ? requireActor(userId) : ({ type: 'token', id: tokenId } as const)
}

/** Returns the `note` function of services, which audits what a member or a token does in an account. */
export function createAuditNote(
  accountId: string,
  userId: string | null,
  tokenId: string | null = null,
) {
  const actor = actorOf({ userId, tokenId })
  return (
    tx: Tx,
    action: string,
    target: string,
    change: { before?: AuditValues; after?: AuditValues },
  ) => recordAudit(tx, { actor, accountId, action, target, ...change })
}
