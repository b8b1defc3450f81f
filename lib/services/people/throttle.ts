import { db } from '#lib/base/db/client.ts'
import { refuse } from '#lib/base/errors.ts'
import { hmac } from '#lib/base/keys.ts'
import { networkOf } from '#lib/base/network.ts'

/** Maximum attempts per window of each scope. Further attempts fail until the window ends. */
const LIMITS = {
  address: { attemptsMax: 30, seconds: 60 },
  person: { attemptsMax: 10, seconds: 900 },
  second_factor: { attemptsMax: 10, seconds: 900 },
  reset: { attemptsMax: 5, seconds: 3_600 },
  reset_address: { attemptsMax: 20, seconds: 3_600 },
  sign_up: { attemptsMax: 20, seconds: 3_600 },
} as const
type Scope = keyof typeof LIMITS
type ScopedKey = [scope: Scope, of: string]

/** Sign-in attempt; `address` is null if the client's IP address is unknown. */
export interface SignInAttempt {
  email: string
  address: string | null
}

/** Counts before the password is checked: concurrent attempts cannot exceed the limit. */
export function countSignInAttempt(attempt: SignInAttempt): Promise<number | null> {
  return countAttempt(signInKeys(attempt))
}

/** Removes a successful sign-in from the count: only failures count. */
export function uncountSignInAttempt(attempt: SignInAttempt): Promise<void> {
  return uncountAttempt(signInKeys(attempt))
}

/** Counts an attempt in each scope. Returns the seconds to wait; null if the attempt is allowed. */
export async function countAttempt(keys: ScopedKey[]): Promise<number | null> {
  for (const [scope, subject] of keys) {
    const { attemptsMax, seconds } = LIMITS[scope]
    const [row] = await db().$queryRaw<{ tries: number; waitS: number }[]>`
      INSERT INTO sign_in_tries AS t (scope, key, tries, ends_at)
      VALUES (${scope}, ${keyOf(scope, subject)}, 1, now() + make_interval(secs => ${seconds}::int))
      ON CONFLICT (scope, key) DO UPDATE SET
        tries = CASE WHEN t.ends_at <= now() THEN 1 ELSE LEAST(t.tries + 1, ${attemptsMax + 1}::int) END,
        ends_at = CASE WHEN t.ends_at <= now() THEN EXCLUDED.ends_at ELSE t.ends_at END
      RETURNING tries, ceil(extract(epoch FROM ends_at - now()))::int AS "waitS"`
    if (row && row.tries > attemptsMax) return row.waitS
  }
  return null
}

export async function uncountAttempt(keys: ScopedKey[]): Promise<void> {
  for (const [scope, subject] of keys) {
    await db().$executeRaw`
      UPDATE sign_in_tries SET tries = tries - 1
      WHERE scope = ${scope} AND key = ${keyOf(scope, subject)} AND tries > 0`
  }
}

export async function requireWithinLimit(keys: ScopedKey[]): Promise<void> {
  const retryAfterS = await countAttempt(keys)
  if (retryAfterS === null) return
  throw refuse('too_many_requests', { retryAfterS })
}

/** Returns the address first: a blocked client cannot use up a user's limit. */
function signInKeys({ email, address }: SignInAttempt): ScopedKey[] {
  const person: ScopedKey = ['person', email]
  return address === null ? [person] : [['address', address], person]
}

/** Hashes all but addresses: a user may type a password into the e-mail field. */
function keyOf(scope: Scope, subject: string): string {
  const networkKey = networkOf(subject)
  return scope === 'address' ? networkKey : hmac('sign-in', networkKey).toString('base64url')
}
