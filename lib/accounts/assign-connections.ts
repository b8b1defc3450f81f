import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { CHECK_PASSED, readConnectionNames } from '#lib/banks/connections.ts'
import type { AssignedConnections } from '#lib/banks/schema.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'

/** Audited field and missing key of each assignment. */
const ASSIGNMENTS = {
  receiving_id: { field: 'receives_through', key: 'to receive with' },
  paying_id: { field: 'pays_through', key: 'to pay from' },
} as const
const NAMES = Object.keys(ASSIGNMENTS) as (keyof AssignedConnections)[]

/**
 * Sets the connections through which an account receives and pays out in live mode, from the next
 * request on. Charges, withdrawals and refunds keep theirs. Audits a change. Null: no such account.
 */
export async function assignConnections(
  accountId: string,
  assigned: AssignedConnections,
  actor: Actor,
): Promise<AssignedConnections | null> {
  if (!isUuid(accountId)) return null
  return transaction(async tx => {
    const [old] = await tx.$queryRaw<AssignedConnections[]>`
      SELECT receiving_connection_id AS receiving_id, paying_connection_id AS paying_id
      FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
    if (!old) return null
    const changed = NAMES.filter(name => old[name] !== assigned[name])
    if (changed.length === 0) return assigned
    for (const name of changed) await requireUsable(tx, name, assigned[name])
    const { receiving_id: receivingConnectionId, paying_id: payingConnectionId } = assigned
    const data = { receivingConnectionId, payingConnectionId }
    await tx.account.update({ where: { id: accountId }, data })
    const names = await readConnectionNames(
      tx,
      [old, assigned].flatMap(ids => Object.values(ids)),
    )
    const describe = (ids: AssignedConnections) =>
      Object.fromEntries(
        changed.map(name => [ASSIGNMENTS[name].field, names.get(ids[name] ?? '') ?? null]),
      )
    const change = { before: describe(old), after: describe(assigned) }
    await recordAudit(tx, { actor, action: 'account.connections_assigned', accountId, ...change })
    return assigned
  })
}

interface Candidate {
  isAssignable: boolean
  checkCode: string | null
  keys: { [Name in keyof AssignedConnections]: boolean }
}

/** Locks the connection, so that it is not closed before the commit. */
async function requireUsable(
  tx: Tx,
  name: keyof AssignedConnections,
  id: string | null,
): Promise<void> {
  if (id === null) return
  const [found] = await tx.$queryRaw<Candidate[]>`
    SELECT is_assignable AS "isAssignable", check_code AS "checkCode", json_build_object(
      'receiving_id', cardinality(receiving_keys) > 0, 'paying_id', paying_key IS NOT NULL) AS keys
    FROM connections WHERE id = ${id}::uuid FOR SHARE`
  if (!found?.isAssignable)
    throw invalidInput(name, 'must be a connection for production that is not closed')
  if (found.checkCode !== CHECK_PASSED)
    throw invalidInput(name, 'must be a connection that has passed its check')
  if (!found.keys[name])
    throw invalidInput(name, `must be a connection with a key ${ASSIGNMENTS[name].key}`)
}
