import { db } from '#lib/db/client.ts'
import { newId } from '#lib/ids.ts'
import { hashSecret, newSecret } from '#lib/session/secret.ts'

/** Whoever signed in must do so again after this, however busy the session was. */
export const SESSION_SECONDS_MAX = 30 * 86_400

const USER_AGENT_MAX = 512

interface Caller {
  ip: string | null
  userAgent: string | null
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
