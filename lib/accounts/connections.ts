import { requireMemberPermission } from '#lib/accounts/members.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import {
  addRequested,
  CHECK_PASSED,
  claimCertificateWarning,
  listEndingCertificates,
  lockActiveConnection,
  markClosed,
  readConnectionNames,
} from '#lib/banks/connections.ts'
import type { AssignedConnections, BankRequest } from '#lib/banks/schema.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { queueMailToAdmins } from '#lib/people/approvers.ts'

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
    // A connection opens live mode, so a request for it is granted.
    const isOpened = (receivingConnectionId ?? payingConnectionId) !== null
    const data = {
      receivingConnectionId,
      payingConnectionId,
      ...(isOpened && { liveRequestedAt: null }),
    }
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

/**
 * Asks the operator for live mode: the request is on the overview of the staff until a connection is assigned. Audits
 * the first request; another one changes nothing.
 */
export function requestLive(accountId: string, actor: { type: 'user'; id: string }): Promise<void> {
  return transaction(async tx => {
    await requireMemberPermission(tx, { accountId, userId: actor.id }, 'settings:write')
    const { count } = await tx.account.updateMany({
      where: {
        id: accountId,
        receivingConnectionId: null,
        payingConnectionId: null,
        liveRequestedAt: null,
      },
      data: { liveRequestedAt: new Date() },
    })
    if (count > 0) await recordAudit(tx, { actor, action: 'account.live_requested', accountId })
  })
}

/** Returns when live mode was asked for; null if it was not, or is open. */
export async function readLiveRequest(accountId: string): Promise<Date | null> {
  const select = { liveRequestedAt: true } as const
  const account = await db().account.findUnique({ where: { id: accountId }, select })
  return account?.liveRequestedAt ?? null
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

/**
 * Adds a connection from the dashboard and mails all admins, because a connection of an attacker would receive
 * the merchants' money. A second call with the same name is refused. Returns its id.
 */
export async function addBank(
  request: BankRequest,
  actor: { type: 'user'; id: string },
): Promise<string> {
  const { email: by } = await db().user.findUniqueOrThrow({ where: { id: actor.id } })
  return addRequested(request, actor, async (tx, { id, name }) => {
    const message = { kind: 'connectionAdded', connection: name, by } as const
    await queueMailToAdmins(tx, () => ({ ...message, path: `/admin/banks/${id}` }))
  })
}

/**
 * Mails all admins 30, 7 and 1 days before the client certificate of a connection ends. The transaction
 * that marks a warning queues its mails: a second run, or one after a crash, queues none twice. Returns
 * the number of warnings.
 */
export async function warnOfCertificates(now = Date.now()): Promise<number> {
  const ending = await listEndingCertificates(now)
  let count = 0
  for (const certificate of ending) {
    // One that has ended is no news, and the health page names it.
    if (certificate.endsAt.getTime() > now && (await warnOf(certificate))) count += 1
  }
  return count
}

function warnOf(certificate: Awaited<ReturnType<typeof listEndingCertificates>>[number]) {
  const { id, name: connection, endsAt: ends } = certificate
  return transaction(async tx => {
    if (!(await claimCertificateWarning(tx, certificate))) return false
    const path = `/admin/banks/${id}`
    await queueMailToAdmins(tx, () => ({ kind: 'certificateEnds', connection, ends, path }))
    return true
  })
}
