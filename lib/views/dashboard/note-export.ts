import type { Action } from '#lib/base/audit/actions.ts'
import { requireActor } from '#lib/base/audit/note.ts'
import { recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'

/** Filters that the audit log stores: others, such as the search text, may be a payer's data. */
const KEPT = [
  ...['status', 'amount_from', 'amount_to', 'created_from', 'created_to', 'action'],
  ...['period', 'from', 'to', 'format', 'mode'],
]

/** Records an export of payers' data in the audit log before the first byte is sent. */
export function noteExport(
  action: Action & `${string}.exported`,
  userId: string | null,
  accountId: string | undefined,
  asked: Record<string, unknown>,
): Promise<void> {
  const kept = KEPT.filter(name => asked[name] !== undefined)
  const after = Object.fromEntries(kept.map(name => [name, String(asked[name])]))
  return transaction(tx =>
    recordAudit(tx, { actor: requireActor(userId), action, accountId, after }),
  )
}
