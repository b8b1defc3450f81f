import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { newId } from '#lib/ids.ts'
import { hashSecret, newSecret } from '#lib/people/secret.ts'

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

/** Begins a session and answers its secret, which is kept nowhere but in the caller's cookie. */
export async function openSession(userId: string, caller: Caller): Promise<string> {
  const secret = newSecret()
  await db().userSession.create({
    data: {
      id: newId(),
      userId,
      secretHash: hashSecret(secret),
      ip: caller.ip,
      userAgent: caller.userAgent?.slice(0, USER_AGENT_MAX) ?? null,
      expiresAt: new Date(Date.now() + SESSION_SECONDS_MAX * 1000),
    },
  })
  return secret
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
