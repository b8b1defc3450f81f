import { recordAudit } from '#lib/base/audit/record.ts'
import type { AuditValues } from '#lib/base/audit/schema.ts'
import type { Tx } from '#lib/base/db/client.ts'
import { Invariant } from '#lib/base/invariant.ts'

/** The member who does something in a page of ours. */
export function actorOf(userId: string | null) {
  if (userId === null) throw new Invariant('only a user can be the actor of this audited action')
  return { type: 'user', id: userId } as const
}

/** The audit of what one member does in one account, for a service, which knows none itself. */
export function notesOf(accountId: string, userId: string | null) {
  const actor = actorOf(userId)
  return (
    tx: Tx,
    action: string,
    target: string,
    change: { before?: AuditValues; after?: AuditValues },
  ) => recordAudit(tx, { actor, accountId, action, target, ...change })
}
