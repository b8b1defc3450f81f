import { db, Prisma } from '#lib/base/db/client.ts'
import { wake } from '#lib/base/db/wake.ts'
import { isDatabaseUnavailable } from '#lib/base/errors.ts'
import { log } from '#lib/base/log.ts'
import { MODES } from '#lib/base/mode.ts'
import { type Closing, closeUnheard } from '#lib/rooms/charges/close.ts'
import { verifyDueCharges } from '#lib/rooms/charges/verify.ts'
import { gatewayOf, isModeOpen } from '#lib/services/gateway/choose.ts'

/** Due charges read at once: every read also scans the index entries of charges ended before. */
const LOOK_MAX = 1_000
/** Charges ended per statement: more would occupy a core so long that API requests wait. */
const AT_A_STROKE = 20

/**
 * Ends due charges. The bank is asked first: a payment it did not notify is credited instead.
 * Returns how many were due; rests between statements.
 */
export async function expireDueCharges(choose = gatewayOf, rest = async () => {}): Promise<number> {
  const { due, ended } = await expireUnheard(choose, rest)
  return due === ended ? ended : ended + (await verifyDueCharges(choose))
}

/** Expires charges of gateways that store their state here: the same statement checks it. */
async function expireUnheard(choose: typeof gatewayOf, rest: () => Promise<void>) {
  const conditions = MODES.filter(isModeOpen).flatMap(mode => {
    const { remote, noStateReportedSql } = choose(mode)
    if (remote || !noStateReportedSql) return []
    return Prisma.sql`(c.mode = ${mode} AND ${noStateReportedSql(Prisma.sql`c.id`)})`
  })
  if (conditions.length === 0) return { due: Number.POSITIVE_INFINITY, ended: 0 }
  const unheard = Prisma.join(conditions, ' OR ')
  const due = await findDue()
  let ended = 0
  try {
    for (let from = 0; from < due.length; from += AT_A_STROKE) {
      if (from > 0) await rest()
      ended += (await closeUnheard(due.slice(from, from + AT_A_STROKE), unheard)).length
    }
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    log().warn({ err: error, due: due.length }, 'expiring charges in bulk failed, claiming each')
  }
  if (ended > 0) wake('deliveries')
  return { due: due.length, ended }
}

/** Sorts by account, so that one statement advances few event sequences. */
function findDue(): Promise<Closing[]> {
  return db().$queryRaw`
    SELECT account_id AS "accountId", id AS "chargeId", true AS "ifTimeUp" FROM (
      SELECT account_id, id FROM charges WHERE due_at <= now() ORDER BY due_at
      LIMIT ${Prisma.raw(`${LOOK_MAX}`)}) due
    ORDER BY account_id, id`
}
