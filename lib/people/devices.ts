import { recordAudit } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Prisma, transaction } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import type { Device } from '#lib/people/schema.ts'
import { activeSessionCondition, endSessionsOf } from '#lib/people/sessions.ts'
import { readUserAgent } from '#lib/people/user-agent.ts'

interface SessionOwner {
  id: string
  sessionId: string
}

/** Returns a user's active sessions: the one of the request first, the others by last use. */
export async function listDevices({ id, sessionId }: SessionOwner): Promise<Device[]> {
  const columns = Prisma.sql`s.id, s.ip, s.user_agent, ${utc('s.created_at')},
    ${utc('s.last_used_at')}, s.id = ${sessionId}::uuid AS is_this`
  const rows = await queryRows<Omit<Device, 'browser' | 'system'> & { user_agent: string | null }>(
    Prisma.sql`SELECT ${asJson(columns)} ::text AS json FROM user_sessions s
      WHERE s.user_id = ${id}::uuid AND ${activeSessionCondition('s')}
      ORDER BY s.id = ${sessionId}::uuid DESC, s.last_used_at DESC, s.id`,
  )
  return rows.map(({ user_agent, ...device }) => ({ ...device, ...readUserAgent(user_agent) }))
}

export async function endDevice({ id: userId }: SessionOwner, id: string): Promise<void> {
  if (!isUuid(id)) throw sessionNotFound()
  await transaction(async tx => {
    const { count } = await tx.userSession.updateMany({
      where: { id, userId, revokedAt: null },
      data: { revokedAt: new Date() },
    })
    if (count === 0) throw sessionNotFound()
    await recordSignOut(tx, userId, 1)
  })
}

/** Ends all other sessions, and the marks of all devices. The caller renews that of this device. */
export function endOtherDevices({ id, sessionId }: SessionOwner): Promise<number> {
  return transaction(async tx => {
    const ended = await endSessionsOf(tx, id, sessionId)
    await tx.user.update({ where: { id }, data: { devicesEndedAt: new Date() } })
    if (ended > 0) await recordSignOut(tx, id, ended)
    return ended
  })
}

function sessionNotFound(): TrocoError {
  return refuse('session_not_found')
}

function recordSignOut(tx: Parameters<typeof recordAudit>[0], id: string, sessions: number) {
  const actor = { type: 'user', id } as const
  const after = { sessions }
  return recordAudit(tx, { actor, action: 'user.signed_out_elsewhere', target: id, after })
}
