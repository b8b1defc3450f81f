import { networkOf, siteOf } from '#lib/core/addresses.ts'
import { refuse } from '#lib/core/errors.ts'
import { hmac } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'

/**
 * Maximum attempts per window of each scope. Further attempts fail until the window ends. Scopes of
 * addresses count IPv6 by /64, and by /48 up to `siteMax`: one customer may have 65,536 /64s.
 */
const LIMITS = {
  address: { attemptsMax: 30, siteMax: 150, seconds: 60 },
  person: { attemptsMax: 10, seconds: 900 },
  device: { attemptsMax: 10, seconds: 900 },
  second_factor: { attemptsMax: 10, seconds: 900 },
  sign_in: { attemptsMax: 200, seconds: 3_600 },
  reset: { attemptsMax: 5, seconds: 3_600 },
  reset_address: { attemptsMax: 20, siteMax: 100, seconds: 3_600 },
  // Apart from `reset`: nobody else may use up the mails that let a locked-out owner in.
  sign_up_mail: { attemptsMax: 5, seconds: 3_600 },
  invitation_mail: { attemptsMax: 5, seconds: 3_600 },
  email_link: { attemptsMax: 5, seconds: 3_600 },
  sign_up: { attemptsMax: 20, siteMax: 100, seconds: 3_600 },
} as const
type Scope = keyof typeof LIMITS
export type ScopedKey = [scope: Scope, of: string]

/** Sign-in attempt; `address` is null if the client's IP address is unknown. */
export interface SignInAttempt {
  email: string
  address: string | null
  /** Id of the mark of a known device. It has a budget of its own, which only it can use up. */
  device?: string | null
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
  for (const { scope, key, attemptsMax } of countersOf(keys)) {
    const { seconds } = LIMITS[scope]
    const [row] = await db().$queryRaw<{ attempts: number; waitS: number }[]>`
      INSERT INTO sign_in_attempts AS t (scope, key, attempts, ends_at)
      VALUES (${scope}, ${key}, 1, now() + make_interval(secs => ${seconds}::int))
      ON CONFLICT (scope, key) DO UPDATE SET
        attempts = CASE WHEN t.ends_at <= now() THEN 1 ELSE LEAST(t.attempts + 1, ${attemptsMax + 1}::int) END,
        ends_at = CASE WHEN t.ends_at <= now() THEN EXCLUDED.ends_at ELSE t.ends_at END
      RETURNING attempts, ceil(extract(epoch FROM ends_at - now()))::int AS "waitS"`
    if (row && row.attempts > attemptsMax) return row.waitS
  }
  return null
}

export async function uncountAttempt(keys: ScopedKey[]): Promise<void> {
  for (const { scope, key } of countersOf(keys)) {
    await db().$executeRaw`
      UPDATE sign_in_attempts SET attempts = attempts - 1
      WHERE scope = ${scope} AND key = ${key} AND attempts > 0`
  }
}

export async function requireWithinLimit(keys: ScopedKey[]): Promise<void> {
  const retryAfterS = await countAttempt(keys)
  if (retryAfterS === null) return
  throw refuse('too_many_requests', { retryAfterS })
}

/** Returns the address first: a blocked client cannot use up a user's limit. */
function signInKeys({ email, address, device }: SignInAttempt): ScopedKey[] {
  if (device) return [['device', device]]
  const person: ScopedKey = ['person', email]
  return address === null ? [person] : [['address', address], person]
}

function countersOf(keys: ScopedKey[]) {
  return keys.flatMap(([scope, subject]) => {
    const limits = LIMITS[scope]
    const counter = { scope, key: keyOf(scope, subject), attemptsMax: limits.attemptsMax as number }
    const site = 'siteMax' in limits ? siteOf(subject) : null
    if (!('siteMax' in limits) || site === null) return [counter]
    return [counter, { scope, key: keyOf(scope, site), attemptsMax: limits.siteMax as number }]
  })
}

/** Hashes all but addresses: a user may type a password into the e-mail field. */
export function keyOf(scope: string, subject: string): string {
  const networkKey = networkOf(subject)
  return scope === 'address' ? networkKey : hmac('sign-in', networkKey).toString('base64url')
}
