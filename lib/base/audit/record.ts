import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import { contextNow } from '#lib/base/log.ts'

export type Actor = { type: 'user'; id: string } | { type: 'command_line' } | { type: 'system' }

interface AuditEntry {
  actor: Actor
  action: string
  accountId?: string
  target?: string
  reason?: string
  after?: Record<string, string | number | boolean | string[] | null>
  before?: Record<string, string | number | boolean | string[] | null>
}

/** Writes who did what, in the transaction that does it: without its record it did not happen. */
export async function recordAudit(tx: Tx, entry: AuditEntry): Promise<void> {
  const { actor, ...rest } = entry
  const { ip, requestId } = contextNow()
  await tx.auditRecord.create({
    data: {
      id: newId(),
      actorType: actor.type,
      actorId: actor.type === 'user' ? actor.id : null,
      ip,
      requestId,
      ...rest,
    },
  })
}

/**
 * The same for a deed that is one statement, as a part of it: what a person asked for by the row of
 * `source`. A program's token stands for itself, and its orders are written down as they are.
 */
export function deedCte(action: string, source: string, userId: string | null = null): Prisma.Sql {
  if (userId === null) return Prisma.empty
  const { ip = null, requestId = null } = contextNow()
  return Prisma.sql`noted AS (
    INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, after, ip, request_id)
    SELECT ${newId()}::uuid, s.account_id, 'user', ${userId}::uuid, ${action}, s.id::text,
      json_build_object('mode', s.mode, 'amount', s.amount), ${ip}, ${requestId}
    FROM ${Prisma.raw(source)} s),`
}
