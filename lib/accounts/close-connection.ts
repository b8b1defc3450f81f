import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { lockActiveConnection, markClosed } from '#lib/banks/connections.ts'
import { transaction } from '#lib/db/client.ts'

interface Assigned {
  id: string
  receives: boolean
  pays: boolean
}

/**
 * Takes a connection from all accounts and closes it, in one transaction: nothing new begins there,
 * and what began is served to its end. Returns the number of accounts.
 */
export function closeConnection(
  connectionId: string,
  actor: Actor,
  reason?: string,
): Promise<number> {
  return transaction(async tx => {
    const name = await lockActiveConnection(tx, connectionId)
    const accounts = await tx.$queryRaw<Assigned[]>`
      SELECT id, COALESCE(receiving_connection_id = ${connectionId}::uuid, false) AS receives,
        COALESCE(paying_connection_id = ${connectionId}::uuid, false) AS pays
      FROM accounts
      WHERE ${connectionId}::uuid IN (receiving_connection_id, paying_connection_id)
      ORDER BY id FOR NO KEY UPDATE`
    await tx.$executeRaw`
      UPDATE accounts SET updated_at = now(),
        receiving_connection_id = NULLIF(receiving_connection_id, ${connectionId}::uuid),
        paying_connection_id = NULLIF(paying_connection_id, ${connectionId}::uuid)
      WHERE id = ANY(${accounts.map(({ id }) => id)}::uuid[])`
    await markClosed(tx, connectionId)
    for (const { id: accountId, receives, pays } of accounts) {
      const describe = (value: string | null) => ({
        ...(receives && { receives_through: value }),
        ...(pays && { pays_through: value }),
      })
      const action = 'account.connections_assigned'
      const change = { before: describe(name), after: describe(null) }
      await recordAudit(tx, { actor, action, accountId, ...change })
    }
    const after = { accounts: accounts.length }
    const action = 'connection.disabled'
    await recordAudit(tx, { actor, action, target: connectionId, reason, after })
    return accounts.length
  })
}
