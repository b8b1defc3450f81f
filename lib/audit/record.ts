import type { Action } from '#lib/audit/actions.ts'
import type { AuditValues } from '#lib/audit/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'

export type Actor =
  | { type: 'user' | 'token'; id: string }
  | { type: 'command_line' }
  | { type: 'system' }

/** Null: a token, the command line or the system. */
export function personOf(actor: Actor): string | null {
  return actor.type === 'user' ? actor.id : null
}

interface AuditEntry {
  actor: Actor
  action: string
  accountId?: string
  target?: string
  reason?: string
  after?: AuditValues
  before?: AuditValues
}

/** Records an action in the transaction that performs it, so that both commit or neither does. */
export async function recordAudit(tx: Tx, entry: AuditEntry): Promise<void> {
  const { actor, ...rest } = entry
  const { ip, requestId } = currentLogContext()
  await tx.auditRecord.create({
    data: {
      id: newId(),
      actorType: actor.type,
      actorId: 'id' in actor ? actor.id : null,
      ip,
      requestId,
      ...rest,
    },
  })
}

/** An action that moves money. `by` is the id of the member who requested it, if any. */
export interface MemberAction {
  action: Action
  by: string | null | undefined
  /** Without a member, the system is the actor, instead of no record. */
  orSystem?: boolean
}

/** Returns the INSERT that audits the row of the CTE `source`, if any; null without a member. */
export function recordAction(
  { action, by, orSystem }: MemberAction,
  source: string,
  condition?: Prisma.Sql,
): Prisma.Sql | null {
  if (!by && !orSystem) return null
  const { ip = null, requestId = null } = currentLogContext()
  return Prisma.sql`
    INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip, request_id)
    SELECT ${newId()}::uuid, s.account_id, ${Prisma.raw(by ? "'user'" : "'system'")}, ${by ?? null}::uuid, ${action}, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), ${ip}, ${requestId}
    FROM ${Prisma.raw(source)} s${condition ? Prisma.sql` WHERE ${condition}` : Prisma.empty}`
}

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
