import { activateAccount, suspendAccount } from '#lib/accounts/activate.ts'
import type { ChangedStatus, StatusChange } from '#lib/accounts/states.ts'
import type { Actor } from '#lib/audit/record.ts'
import { db } from '#lib/db/client.ts'

/**
 * Activates or suspends accounts, each in a transaction of its own with its audit record and mails.
 * If the request ends early, those changed so far stay so, and a repetition reports them as unchanged
 * and changes the rest.
 */
export async function changeStatuses(
  { account_ids: ids, status, reason }: StatusChange,
  actor: Actor,
): Promise<ChangedStatus[]> {
  const change = status === 'active' ? activateAccount : suspendAccount
  const existing = await db().account.findMany({
    where: { id: { in: ids } },
    select: { id: true },
  })
  const known = new Set(existing.map(({ id }) => id))
  const results: ChangedStatus[] = []
  for (const id of ids) {
    const changed = known.has(id) ? await change(id, reason, actor) : null
    const outcome = changed ? 'changed' : known.has(id) ? 'unchanged' : 'not_found'
    results.push({ account_id: id, outcome })
  }
  return results
}
