import { refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret, newSecret } from '#lib/core/keys.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { SESSIONS_MAX } from '#lib/people/schema.ts'

/** Maximum age of a session, even one in use. */
export const SESSION_SECONDS_MAX = 30 * 86_400

const IDLE_MAX_HOURS = 12

const USER_AGENT_MAX = 512

interface Caller {
  ip: string | null
  userAgent: string | null
  /** Time at which the user proved their identity, if it was not now. */
  provedAt?: Date
  /** Whether an OpenID provider signs the user in, which must still be connected. */
  isByOpenid?: boolean
}

export function activeSessionCondition(alias: string): Prisma.Sql {
  const row = Prisma.raw(alias)
  return Prisma.sql`${row}.revoked_at IS NULL AND ${row}.expires_at > now()
    AND ${row}.last_used_at > now() - make_interval(hours => ${IDLE_MAX_HOURS}::int)`
}

/**
 * Returns the secret; only its hash is stored. Fails if the user is disabled, or changed the
 * password or added a factor after `checkedAt`, when the credentials were checked, or if the OpenID
 * provider that signs the user in is no longer connected.
 */
export async function openSession(
  userId: string,
  caller: Caller,
  checkedAt = new Date(),
): Promise<string> {
  const secret = newSecret()
  const data = {
    id: newId(),
    userId,
    secretHash: hashSecret(secret),
    ip: caller.ip,
    userAgent: caller.userAgent?.slice(0, USER_AGENT_MAX) ?? null,
    provedAt: caller.provedAt,
    expiresAt: new Date(Date.now() + SESSION_SECONDS_MAX * 1000),
  }
  await transaction(async tx => {
    // Waits for a concurrent password or factor change, which cannot end an uncommitted session,
    // and for a concurrent sign-in, which must count this session.
    await tx.$queryRaw`SELECT FROM users WHERE id = ${userId}::uuid FOR NO KEY UPDATE`
    if (!(await isUnchanged(tx, userId, caller, checkedAt))) throw new Error('Sign in again')
    await endSurplusSessions(tx, userId)
    await tx.userSession.create({ data })
  })
  return secret
}

/** Makes room for one more session: of too many, those that were unused for longest end. */
async function endSurplusSessions(tx: Tx, userId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE user_sessions SET revoked_at = now() WHERE id IN (
      SELECT s.id FROM user_sessions s
      WHERE s.user_id = ${userId}::uuid AND ${activeSessionCondition('s')}
      ORDER BY s.last_used_at DESC, s.id DESC OFFSET ${SESSIONS_MAX - 1}::int)`
}

async function isUnchanged(
  tx: Tx,
  userId: string,
  { isByOpenid = false }: Caller,
  since: Date,
): Promise<boolean> {
  const [row] = await tx.$queryRaw<unknown[]>`
    SELECT FROM users u WHERE u.id = ${userId}::uuid AND u.disabled_at IS NULL
      AND (u.oidc_subject IS NOT NULL OR NOT ${isByOpenid})
      AND (u.password_changed_at IS NULL OR u.password_changed_at <= ${since})
      AND NOT EXISTS (SELECT FROM authenticators f
        WHERE f.user_id = u.id AND f.confirmed_at > ${since})
      AND NOT EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id AND p.created_at > ${since})`
  return row !== undefined
}

/** Ends a session. A copy of its cookie is refused from the next request on. */
export async function endSession(secret: string): Promise<void> {
  await db().userSession.updateMany({
    where: { secretHash: hashSecret(secret), revokedAt: null },
    data: { revokedAt: new Date() },
  })
}

export async function endSessionsOf(tx: Tx, userId: string, exceptId?: string): Promise<number> {
  const { count } = await tx.userSession.updateMany({
    where: { userId, revokedAt: null, id: exceptId && { not: exceptId } },
    data: { revokedAt: new Date() },
  })
  return count
}

/** Refuses a request whose session ended meanwhile. The caller holds a lock on the user's row. */
export async function requireActiveSession(tx: Tx, sessionId: string): Promise<void> {
  if ((await tx.userSession.count({ where: { id: sessionId, revokedAt: null } })) > 0) return
  throw refuse('unauthenticated')
}

export async function recordProof(sessionId: string): Promise<void> {
  await db().$executeRaw`UPDATE user_sessions SET proved_at = now() WHERE id = ${sessionId}::uuid`
}
