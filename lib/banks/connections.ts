import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { ConnectionLimits, type ConnectionLine, type ConnectionState } from '#lib/banks/schema.ts'
import { findFlaw, listBanks } from '#lib/banks/served.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { cents } from '#lib/core/money.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'

/** Result of a check that passed; any other is what the bank refused. */
export const CHECK_PASSED = 'ok'

type Row = Omit<ConnectionLine, 'state'> & { isClosed: boolean }

/** Lists the connections to banks by name. */
export async function listConnections(): Promise<ConnectionLine[]> {
  const rows = await db().$queryRaw<Row[]>`
    SELECT n.id, n.name, n.kind, n.environment, n.check_code AS "checkCode",
      cardinality(n.receiving_keys) > 0 AS receives, n.paying_key IS NOT NULL AS pays,
      json_build_object('payout_max', n.payout_max, 'payout_day_max', n.payout_day_max) AS limits,
      n.disabled_at IS NOT NULL AS "isClosed", (SELECT count(*)::int FROM accounts a
        WHERE n.id IN (a.receiving_connection_id, a.paying_connection_id)) AS accounts
    FROM connections n WHERE n.kind <> 'simulator' ORDER BY n.name`
  return Promise.all(
    rows.map(async ({ isClosed, ...row }) => ({ ...row, state: await stateOf(row, isClosed) })),
  )
}

async function stateOf(
  { id, checkCode }: Pick<Row, 'id' | 'checkCode'>,
  isClosed: boolean,
): Promise<ConnectionState> {
  if (isClosed) return 'closed'
  if ((await findFlaw(id)) !== null) return 'unserved'
  if (checkCode === null) return 'unchecked'
  return checkCode === CHECK_PASSED ? 'passed' : 'failed'
}

/** Finds a connection to a bank by its id or name. */
export async function findConnection(idOrName: string): Promise<{ id: string; name: string }> {
  const key = isUuid(idOrName) ? { id: idOrName } : { name: idOrName }
  const where = { ...key, kind: { not: 'simulator' } }
  const found = await db().connection.findFirst({ where, select: { id: true, name: true } })
  if (found) return found
  throw refuse('not_found', `No connection found for ${idOrName}: see \`bank list\``)
}

/** Keeps accounts from being assigned to it until the commit. Returns its name. */
export async function lockActiveConnection(tx: Tx, id: string): Promise<string> {
  const [row] = await tx.$queryRaw<{ name: string; isClosed: boolean }[]>`
    SELECT name, disabled_at IS NOT NULL AS "isClosed" FROM connections
    WHERE id = ${id}::uuid FOR UPDATE`
  if (!row) throw refuse('connection_not_found')
  if (row.isClosed) throw refuse('already_final', { subject: row.name, status: 'closed' })
  return row.name
}

/** No account may be assigned to it any more. */
export async function markClosed(tx: Tx, id: string): Promise<void> {
  const data = { disabledAt: new Date(), isAssignable: false }
  await tx.connection.update({ where: { id }, data })
}

export async function readConnectionNames(
  tx: Tx,
  ids: (string | null)[],
): Promise<Map<string, string>> {
  const known = ids.filter(id => id !== null)
  const select = { id: true, name: true } as const
  const rows = await tx.connection.findMany({ where: { id: { in: known } }, select })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/**
 * Sets the given limits of a connection, effective from the next withdrawal. A withdrawal that is
 * being created locks the row, so that it sees either the old limits or the new ones. Returns all.
 */
export async function limitConnection(
  id: string,
  change: Partial<ConnectionLimits>,
  actor: Actor,
): Promise<ConnectionLimits> {
  const { success, data: given, error } = ConnectionLimits.partial().safeParse(change)
  if (!success) {
    const [issue] = error.issues
    throw invalidInput(String(issue?.path[0]), issue?.message ?? 'is invalid')
  }
  return transaction(async tx => {
    const [row] = await tx.$queryRaw<Record<keyof ConnectionLimits, bigint | null>[]>`
      SELECT payout_max, payout_day_max FROM connections WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!row) throw refuse('connection_not_found')
    const old = Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? null : cents(value)]),
    ) as ConnectionLimits
    const limits = { ...old, ...given }
    const names = (Object.keys(limits) as (keyof ConnectionLimits)[]).filter(
      name => limits[name] !== old[name],
    )
    if (names.length === 0) return limits
    const { payout_max: payoutMax, payout_day_max: payoutDayMax } = limits
    await tx.connection.update({ where: { id }, data: { payoutMax, payoutDayMax } })
    const [before, after] = [old, limits].map(values =>
      Object.fromEntries(names.map(name => [name, values[name]])),
    )
    await recordAudit(tx, { actor, action: 'connection.limited', target: id, before, after })
    return limits
  })
}

/**
 * SQL for the connections that an account `a` may use in live mode: assigned, and the last check
 * passed. The foreign keys allow only connections for production that are not closed.
 */
export const receivingConnectionSql = `(SELECT n.id FROM connections n
  WHERE n.id = a.receiving_connection_id AND n.check_code = 'ok')`
export const payingConnectionSql = `(SELECT n.id FROM connections n
  WHERE n.id = a.paying_connection_id AND n.check_code = 'ok' AND n.paying_key IS NOT NULL)`

/** Days before the end of a client certificate at which staff is warned. Banks need days to issue one. */
const WARNING_DAYS = [1, 7, 30] as const
const DAY_MS = 86_400_000

export interface EndingCertificate {
  id: string
  name: string
  endsAt: Date
  /** Warning that is due: the smallest number of days that is not yet reached. */
  days: (typeof WARNING_DAYS)[number]
  /** Whether accounts can use the connection. */
  isAssignable: boolean
}

/** Lists the certificates of open connections that end within 30 days, or have ended. */
export async function listEndingCertificates(now = Date.now()): Promise<EndingCertificate[]> {
  return (await listBanks()).flatMap(({ connection, gateway, isAssignable, isClosed }) => {
    const endsAt = gateway?.certificateEndsAt
    if (!endsAt || isClosed) return []
    const leftMs = endsAt.getTime() - now
    const days = WARNING_DAYS.find(each => leftMs <= each * DAY_MS)
    const { id, name } = connection
    return days === undefined ? [] : [{ id, name, endsAt, days, isAssignable }]
  })
}

/** Marks a warning as given. Returns false if it was before, or a more urgent one. */
export async function claimCertificateWarning(
  tx: Tx,
  { id, endsAt, days }: Pick<EndingCertificate, 'id' | 'endsAt' | 'days'>,
): Promise<boolean> {
  const claimed = await tx.$executeRaw`
    UPDATE connections SET certificate_warned_until = ${endsAt}, certificate_warned_days = ${days}
    WHERE id = ${id}::uuid AND disabled_at IS NULL
      AND (certificate_warned_until IS DISTINCT FROM ${endsAt}::timestamptz
        OR certificate_warned_days > ${days})`
  return claimed > 0
}
