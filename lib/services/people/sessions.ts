import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { newId } from '#lib/base/ids.ts'
import { hashSecret, newSecret } from '#lib/services/people/secret.ts'

/** Whoever signed in must do so again after this, however busy the session was. */
export const SESSION_SECONDS_MAX = 30 * 86_400

/** A session that nobody used for so long has ended, however young it is. */
const IDLE_MAX_HOURS = 12

const USER_AGENT_MAX = 512

interface Caller {
  ip: string | null
  userAgent: string | null
}

/** Of a row of user_sessions: it was not ended, and neither its age nor its idleness ended it. */
export function isLive(alias: string): Prisma.Sql {
  const s = Prisma.raw(alias)
  return Prisma.sql`${s}.revoked_at IS NULL AND ${s}.expires_at > now()
    AND ${s}.last_used_at > now() - make_interval(hours => ${IDLE_MAX_HOURS}::int)`
}

/**
 * Begins a session and answers its secret, which is kept nowhere but in the caller's cookie. What
 * they showed at `shownAt` must still be what opens: a change meanwhile ended all that was open.
 */
export async function openSession(
  userId: string,
  caller: Caller,
  shownAt = new Date(),
): Promise<string> {
  const secret = newSecret()
  const data = {
    id: newId(),
    userId,
    secretHash: hashSecret(secret),
    ip: caller.ip,
    userAgent: caller.userAgent?.slice(0, USER_AGENT_MAX) ?? null,
    expiresAt: new Date(Date.now() + SESSION_SECONDS_MAX * 1000),
  }
  await transaction(async tx => {
    // A change that is being written holds this row, and ends the sessions that were there before.
    await tx.$queryRaw`SELECT FROM users WHERE id = ${userId}::uuid FOR SHARE`
    if (!(await isUnchanged(tx, userId, shownAt))) throw new Error('Sign in again')
    await tx.userSession.create({ data })
  })
  return secret
}

async function isUnchanged(tx: Tx, userId: string, since: Date): Promise<boolean> {
  const [found] = await tx.$queryRaw<unknown[]>`
    SELECT FROM users u WHERE u.id = ${userId}::uuid AND u.disabled_at IS NULL
      AND (u.password_changed_at IS NULL OR u.password_changed_at <= ${since})
      AND NOT EXISTS (SELECT FROM authenticators f
        WHERE f.user_id = u.id AND f.confirmed_at > ${since})
      AND NOT EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id AND p.created_at > ${since})`
  return found !== undefined
}

/** Ends a session for good: a copy of its cookie is refused from the next request on. */
export async function endSession(secret: string): Promise<void> {
  await db().userSession.updateMany({
    where: { secretHash: hashSecret(secret), revokedAt: null },
    data: { revokedAt: new Date() },
  })
}

/** Ends what somebody has open, at once and everywhere; `exceptId` is the one that asks for it. */
export async function endSessionsOf(tx: Tx, userId: string, exceptId?: string): Promise<number> {
  const { count } = await tx.userSession.updateMany({
    where: { userId, revokedAt: null, id: exceptId && { not: exceptId } },
    data: { revokedAt: new Date() },
  })
  return count
}

/** They showed once more who they are. */
export async function renewProof(sessionId: string): Promise<void> {
  await db().$executeRaw`UPDATE user_sessions SET proved_at = now() WHERE id = ${sessionId}::uuid`
}
