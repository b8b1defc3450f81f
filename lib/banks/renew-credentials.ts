import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { tryToOpen } from '#lib/banks/adapters.ts'
import { type CheckResult, codeOf, examineConnection } from '#lib/banks/check-connection.ts'
import { CONNECTION_COLUMNS, type Connection } from '#lib/banks/connection.ts'
import { CHECK_PASSED } from '#lib/banks/connections.ts'
import { expireBanks } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { seal } from '#lib/core/keys.ts'
import { db, transaction } from '#lib/db/client.ts'

/**
 * Replaces the credentials of a connection, such as a certificate that expires, if a check with the new
 * ones passes; else nothing changes. Live mode stays open, and what began there goes on with the new
 * credentials, in each process within seconds.
 */
export async function renewCredentials(
  id: string,
  credentials: string,
  actor: Actor,
): Promise<CheckResult> {
  const row = await db().connection.findFirst({
    where: { id, kind: { not: 'simulator' } },
    select: CONNECTION_COLUMNS,
  })
  if (!row) throw refuse('connection_not_found')
  const connection = { ...row, id, credentials } as Connection
  const gateway = tryToOpen(connection)
  if (!gateway) throw refuse('service_unavailable')
  const { result, findings } = await examineConnection(id, gateway, { isCandidate: true })
  const code = codeOf(result)
  if (code !== CHECK_PASSED) return { code, findings }
  const sealedCredentials = seal(credentials, id, 'bank-credentials')
  await transaction(async tx => {
    await tx.connection.update({ where: { id }, data: { sealedCredentials } })
    // The database has forgotten the check of the credentials before.
    const data = { checkedAt: new Date(), checkCode: code }
    await tx.connection.update({ where: { id }, data })
    await recordAudit(tx, { actor, action: 'connection.renewed', target: id, after: { code } })
  })
  expireBanks()
  return { code, findings }
}
