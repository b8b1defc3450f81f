import { recordAudit } from '#lib/audit/record.ts'
import type { Tx } from '#lib/db/client.ts'

type Values = Parameters<typeof recordAudit>[1]['after']

/** The audit of what one member does in one account, for a service, which knows none itself. */
export function notesOf(accountId: string, userId: string | null) {
  if (userId === null) throw new Error('Only a member can be written down as the one who did it')
  const actor = { type: 'user', id: userId } as const
  return (tx: Tx, action: string, target: string, change: { before?: Values; after?: Values }) =>
    recordAudit(tx, { actor, accountId, action, target, ...change })
}
