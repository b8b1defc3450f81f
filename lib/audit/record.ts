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
  const row = {
    id: Prisma.sql`${newId()}::uuid`,
    by: Prisma.sql`${by ?? null}::uuid`,
    ip: Prisma.sql`${ip}`,
    requestId: Prisma.sql`${requestId}`,
  }
  return insertSql(action, row, source, condition)
}

/** Who sends a request, as columns of its row, for `recordActions`: two actions at most. */
export function auditValues(by: string | null | undefined) {
  const { ip = null, requestId = null } = currentLogContext()
  return { by: by ?? null, ip, request_id: requestId, audit_ids: [newId(), newId()] }
}
export const auditColumns = Prisma.raw('by uuid, ip text, request_id text, audit_ids uuid[]')

/** Returns the INSERT that audits the rows of the CTE `source` that have `auditColumns`, as their `nth` action. */
export function recordActions(
  action: Action,
  nth: 1 | 2,
  source: string,
  condition: Prisma.Sql,
): Prisma.Sql {
  const row = {
    id: Prisma.raw(`s.audit_ids[${nth}]`),
    by: Prisma.raw('s.by'),
    ip: Prisma.raw('s.ip'),
    requestId: Prisma.raw('s.request_id'),
  }
  return insertSql(action, row, source, condition)
}

function insertSql(
  action: Action,
  { id, by, ip, requestId }: Record<'id' | 'by' | 'ip' | 'requestId', Prisma.Sql>,
  source: string,
  condition: Prisma.Sql | undefined,
): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip, request_id)
    SELECT ${id}, s.account_id, CASE WHEN ${by} IS NULL THEN 'system' ELSE 'user' END, ${by},
      ${Prisma.raw(`'${action}'`)}, s.id::text, json_build_object('mode', s.mode, 'amount', s.amount), ${ip}, ${requestId}
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
