import type { Tx } from '#lib/db/client.ts'
import { newId } from '#lib/ids.ts'

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
  await tx.auditRecord.create({
    data: {
      id: newId(),
      actorType: actor.type,
      actorId: actor.type === 'user' ? actor.id : null,
      ...rest,
    },
  })
}
