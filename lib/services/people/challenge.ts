import { db, type Tx } from '#lib/base/db/client.ts'
import { hashSecret, newSecret } from '#lib/services/people/secret.ts'

/** How long each may be answered, in seconds, and how often somebody may try. */
const KINDS = {
  second_factor: { lastsS: 300, triesMax: 5 },
  passkey: { lastsS: 300, triesMax: 1 },
  new_passkey: { lastsS: 300, triesMax: 1 },
  password_reset: { lastsS: 3_600, triesMax: 20 },
} as const
type Kind = keyof typeof KINDS

export interface Challenge {
  userId: string | null
  value: string | null
}

/** Asks somebody something, and answers the secret by which they come back. */
export async function openChallenge(
  kind: Kind,
  { userId, value }: Partial<Challenge>,
): Promise<string> {
  const secret = newSecret()
  await db().$executeRaw`
    INSERT INTO challenges (hash, kind, user_id, value, expires_at)
    VALUES (${hashSecret(secret)}, ${kind}, ${userId ?? null}::uuid, ${value ?? null},
      now() + make_interval(secs => ${KINDS[kind].lastsS}::int))`
  return secret
}

/**
 * Takes one of the tries that are left, before the answer is looked at, so that many at once are
 * no more than allowed. Null: it is unknown, too old, or was tried too often.
 */
export async function tryChallenge(kind: Kind, secret: string): Promise<Challenge | null> {
  const [found] = await db().$queryRaw<Challenge[]>`
    UPDATE challenges SET tries = tries + 1
    WHERE hash = ${hashSecret(secret)} AND kind = ${kind} AND expires_at > now()
      AND tries < ${KINDS[kind].triesMax}::int
    RETURNING user_id AS "userId", value`
  return found ?? null
}

/** What it asks, without taking a try. */
export async function readChallenge(kind: Kind, secret: string): Promise<Challenge | null> {
  const [found] = await db().$queryRaw<Challenge[]>`
    SELECT user_id AS "userId", value FROM challenges
    WHERE hash = ${hashSecret(secret)} AND kind = ${kind} AND expires_at > now()
      AND tries < ${KINDS[kind].triesMax}::int`
  return found ?? null
}

/** Once answered it is gone. False: somebody else answered it a moment before. */
export async function closeChallenge(secret: string, tx: Tx = db()): Promise<boolean> {
  return (await tx.$executeRaw`DELETE FROM challenges WHERE hash = ${hashSecret(secret)}`) === 1
}

/** What somebody was asked before their password changed can no longer be answered. */
export async function closeChallengesOf(tx: Tx, userId: string): Promise<void> {
  await tx.$executeRaw`DELETE FROM challenges WHERE user_id = ${userId}::uuid`
}
