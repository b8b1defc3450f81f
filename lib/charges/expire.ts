import { ENVIRONMENTS } from '#lib/banks/schema.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { type Closing, closeUnreported } from '#lib/charges/close.ts'
import type { Verifier } from '#lib/charges/verifier.ts'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'

/** Maximum due charges per read: each read also scans index entries of charges that have ended. */
const DUE_READ_MAX = 1_000
/** Maximum charges per statement: more would occupy a core so long that API requests wait. */
const BATCH_MAX = 20

/**
 * Expires due charges. Of a gateway in this database, in bulk; a bank is queried first, so that a
 * payment without a notification is credited. Returns the number expired in bulk, with `rest` between
 * statements; a bank is not awaited.
 */
export async function expireDueCharges(verifier: Verifier, rest = async () => {}): Promise<number> {
  const served = await listServed(ENVIRONMENTS)
  verifier.run(served.filter(({ gateway }) => !gateway.local))
  let total = 0
  for (const connection of served.filter(({ gateway }) => gateway.local)) {
    const { due, ended } = await expireUnreported(connection, rest)
    if (due !== ended) verifier.run([connection])
    total += ended
  }
  return total
}

/** For gateways in this database: the statement itself checks that nothing was reported. */
async function expireUnreported(
  { id, gateway: { local } }: ServedConnection,
  rest: () => Promise<void>,
) {
  if (!local) return { due: 0, ended: 0 }
  const unreported = local.noStateReportedSql(Prisma.sql`c.id`)
  const due = await findDue(id)
  let ended = 0
  try {
    for (let from = 0; from < due.length; from += BATCH_MAX) {
      if (from > 0) await rest()
      ended += (await closeUnreported(due.slice(from, from + BATCH_MAX), unreported)).length
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    log().warn({ err: error, due: due.length }, 'expiring charges in bulk failed, claiming each')
  }
  if (ended > 0) wake('deliveries')
  return { due: due.length, ended }
}

/** Sorts by account, so that one statement advances few event sequences. */
function findDue(connectionId: string): Promise<Closing[]> {
  return db().$queryRaw`
    SELECT account_id AS "accountId", id AS "chargeId", true AS "ifTimeUp" FROM (
      SELECT account_id, id FROM charges
      WHERE connection_id = ${connectionId}::uuid AND due_at <= now() ORDER BY due_at
      LIMIT ${Prisma.raw(`${DUE_READ_MAX}`)}) due
    ORDER BY account_id, id`
}
