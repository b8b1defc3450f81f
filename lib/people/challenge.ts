import { hashSecret, newSecret } from '#lib/core/keys.ts'
import { db, type Tx } from '#lib/db/client.ts'

const KINDS = {
  second_factor: { lifetimeS: 300, attemptsMax: 5 },
  passkey: { lifetimeS: 300, attemptsMax: 1 },
  new_passkey: { lifetimeS: 300, attemptsMax: 1 },
  password_reset: { lifetimeS: 3_600, attemptsMax: 20 },
  sign_up: { lifetimeS: 86_400, attemptsMax: 20 },
  email: { lifetimeS: 3_600, attemptsMax: 20 },
  openid: { lifetimeS: 300, attemptsMax: 1 },
} as const
type Kind = keyof typeof KINDS

export interface Challenge {
  userId: string | null
  value: string | null
}

/** Opens a challenge. Returns the secret that identifies it; only its hash is stored. */
export async function openChallenge(
  kind: Kind,
  { userId, value }: Partial<Challenge>,
  tx: Tx = db(),
): Promise<string> {
  const secret = newSecret()
  await tx.$executeRaw`
    INSERT INTO challenges (hash, kind, user_id, value, expires_at)
    VALUES (${hashSecret(secret)}, ${kind}, ${userId ?? null}::uuid, ${value ?? null},
      now() + make_interval(secs => ${KINDS[kind].lifetimeS}::int))`
  return secret
}

/**
 * Counts an attempt before its response is checked: concurrent attempts cannot exceed the limit.
 * Returns null if the challenge is unknown, expired or has no attempts left.
 */
export async function attemptChallenge(kind: Kind, secret: string): Promise<Challenge | null> {
  const [challenge] = await db().$queryRaw<Challenge[]>`
    UPDATE challenges SET attempts = attempts + 1
    WHERE hash = ${hashSecret(secret)} AND kind = ${kind} AND expires_at > now()
      AND attempts < ${KINDS[kind].attemptsMax}::int
    RETURNING user_id AS "userId", value`
  return challenge ?? null
}

/** Reads a challenge without counting an attempt. */
export async function readChallenge(kind: Kind, secret: string): Promise<Challenge | null> {
  const [challenge] = await db().$queryRaw<Challenge[]>`
    SELECT user_id AS "userId", value FROM challenges
    WHERE hash = ${hashSecret(secret)} AND kind = ${kind} AND expires_at > now()
      AND attempts < ${KINDS[kind].attemptsMax}::int`
  return challenge ?? null
}

/** Deletes a completed challenge. Returns false if a concurrent request completed it first. */
export async function closeChallenge(secret: string, tx: Tx = db()): Promise<boolean> {
  return (await tx.$executeRaw`DELETE FROM challenges WHERE hash = ${hashSecret(secret)}`) === 1
}

/** Deletes all challenges of a user, so that none from before a password change can be used. */
export async function closeChallengesOf(tx: Tx, userId: string): Promise<void> {
  await tx.$executeRaw`DELETE FROM challenges WHERE user_id = ${userId}::uuid`
}
