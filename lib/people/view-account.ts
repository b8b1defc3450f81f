import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/owners.ts'
import { requireActiveSession } from '#lib/people/sessions.ts'

const VIEWING_MINUTES = 30

interface Viewer {
  userId: string
  sessionId: string
}

/**
 * Opens an account's dashboard to a session of staff, read-only, for 30 minutes. Recorded in the
 * account's audit log and mailed to its owners. Ends an earlier viewing of the same session.
 */
export function beginViewing(viewer: Viewer, accountId: string, reason: string): Promise<Date> {
  return transaction(async tx => {
    await lockSession(tx, viewer)
    const account = isUuid(accountId) && (await tx.account.findUnique({ where: { id: accountId } }))
    if (!account) throw refuse('account_not_found')
    await clearViewing(tx, viewer)
    const until = new Date(Date.now() + VIEWING_MINUTES * 60_000)
    const data = { viewedAccountId: accountId, viewingUntil: until }
    await tx.userSession.update({ where: { id: viewer.sessionId }, data })
    const action = 'account.viewing_begun'
    const after = { until: until.toISOString() }
    await recordAudit(tx, { actor: actorOf(viewer), action, accountId, reason, after })
    await queueMailToOwners(tx, accountId, name => ({
      kind: 'accountViewed',
      ...{ account: name, reason, until, path: '/test/settings/audit' },
    }))
    return until
  })
}

/** Ends the viewing of a session. Returns false if there is none, as in a second call. */
export function endViewing(viewer: Viewer): Promise<boolean> {
  return transaction(async tx => {
    await lockSession(tx, viewer)
    return clearViewing(tx, viewer)
  })
}

async function lockSession(tx: Tx, { sessionId }: Viewer): Promise<void> {
  await tx.$queryRaw`SELECT FROM user_sessions WHERE id = ${sessionId}::uuid FOR NO KEY UPDATE`
  await requireActiveSession(tx, sessionId)
}

/** A viewing whose time has passed ended by itself: its first record says when. */
async function clearViewing(tx: Tx, viewer: Viewer): Promise<boolean> {
  const where = { id: viewer.sessionId }
  const { viewedAccountId, viewingUntil } = await tx.userSession.findUniqueOrThrow({ where })
  if (viewedAccountId === null || viewingUntil === null) return false
  await tx.userSession.update({ where, data: { viewedAccountId: null, viewingUntil: null } })
  if (viewingUntil <= new Date()) return false
  const action = 'account.viewing_ended'
  await recordAudit(tx, { actor: actorOf(viewer), action, accountId: viewedAccountId })
  return true
}

function actorOf({ userId }: Viewer): Actor {
  return { type: 'user', id: userId }
}
