import type { Action } from '#lib/audit/actions.ts'
import { requireActor } from '#lib/audit/note.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { transaction } from '#lib/db/transaction.ts'

/** Other filters are not stored: some, such as the search text, may contain a payer's data. */
const STORED_FILTERS = [
  ...['status', 'min_amount', 'max_amount', 'created_from', 'created_to', 'action'],
  ...['period', 'from', 'to', 'format', 'mode', 'kind', 'connection', 'age'],
]

/** Records an export of payers' data in the audit log before the first byte is sent. */
export function recordExport(
  action: Action & `${string}.exported`,
  userId: string | null,
  accountId: string | undefined,
  filters: Record<string, unknown>,
  target?: string,
): Promise<void> {
  const stored = STORED_FILTERS.filter(name => filters[name] !== undefined)
  const after = Object.fromEntries(stored.map(name => [name, String(filters[name])]))
  return transaction(tx =>
    recordAudit(tx, { actor: requireActor(userId), action, accountId, target, after }),
  )
}
