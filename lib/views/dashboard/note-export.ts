import type { Action } from '#lib/base/audit/actions.ts'
import { actorOf } from '#lib/base/audit/note.ts'
import { recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'

/** What may be kept of how it was asked for: what was searched may be a payer's name or document. */
const KEPT = [
  ...['status', 'amount_from', 'amount_to', 'created_from', 'created_to', 'action'],
  ...['period', 'from', 'to', 'format', 'mode'],
]

/** Whoever takes many payers' data away is written down, before the first of it leaves. */
export function noteExport(
  action: Action & `${string}.exported`,
  userId: string | null,
  accountId: string | undefined,
  asked: Record<string, unknown>,
): Promise<void> {
  const kept = KEPT.filter(name => asked[name] !== undefined)
  const after = Object.fromEntries(kept.map(name => [name, String(asked[name])]))
  return transaction(tx => recordAudit(tx, { actor: actorOf(userId), action, accountId, after }))
}
