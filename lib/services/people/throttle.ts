import { db } from '#lib/base/db/client.ts'
import { refuse } from '#lib/base/errors.ts'
import { hmac } from '#lib/base/keys.ts'
import { networkOf } from '#lib/base/network.ts'

/** What is allowed within a window; after it one waits until the window ends, and no longer. */
const ALLOWED = {
  address: { tries: 30, seconds: 60 },
  person: { tries: 10, seconds: 900 },
  second_factor: { tries: 10, seconds: 900 },
  reset: { tries: 5, seconds: 3_600 },
  reset_address: { tries: 20, seconds: 3_600 },
  sign_up: { tries: 20, seconds: 3_600 },
} as const
type Scope = keyof typeof ALLOWED
type Count = [scope: Scope, of: string]

/** Who tries to sign in, from where; the address is null where nobody told it. */
export interface Attempt {
  email: string
  address: string | null
}

/**
 * Counts a try before the password is looked at, so that many at once are no more than allowed.
 * Returns the seconds to wait when there were too many; null when this one may go on.
 */
export function countTry(attempt: Attempt): Promise<number | null> {
  return count(countsOf(attempt))
}

/** It was the right password after all: only failures count. */
export function forgiveTry(attempt: Attempt): Promise<void> {
  return forgive(countsOf(attempt))
}

/** The same for anything else that may be done or tried only so often. */
export async function count(counts: Count[]): Promise<number | null> {
  for (const [scope, of] of counts) {
    const { tries, seconds } = ALLOWED[scope]
    const [counted] = await db().$queryRaw<{ tries: number; waitS: number }[]>`
      INSERT INTO sign_in_tries AS t (scope, key, tries, ends_at)
      VALUES (${scope}, ${keyOf(scope, of)}, 1, now() + make_interval(secs => ${seconds}::int))
      ON CONFLICT (scope, key) DO UPDATE SET
        tries = CASE WHEN t.ends_at <= now() THEN 1 ELSE LEAST(t.tries + 1, ${tries + 1}::int) END,
        ends_at = CASE WHEN t.ends_at <= now() THEN EXCLUDED.ends_at ELSE t.ends_at END
      RETURNING tries, ceil(extract(epoch FROM ends_at - now()))::int AS "waitS"`
    if (counted && counted.tries > tries) return counted.waitS
  }
  return null
}

export async function forgive(counts: Count[]): Promise<void> {
  for (const [scope, of] of counts) {
    await db().$executeRaw`
      UPDATE sign_in_tries SET tries = tries - 1
      WHERE scope = ${scope} AND key = ${keyOf(scope, of)} AND tries > 0`
  }
}

/** Refuses what was done too often, as the edge says it. */
export async function requireFew(counts: Count[]): Promise<void> {
  const retryAfterS = await count(counts)
  if (retryAfterS === null) return
  throw refuse('too_many_requests', { retryAfterS })
}

/** The address first: whoever is refused by it can lock out nobody. */
function countsOf({ email, address }: Attempt): Count[] {
  const person: Count = ['person', email]
  return address === null ? [person] : [['address', address], person]
}

/** What was typed may be anything, a password too, so it is kept as a hash. */
function keyOf(scope: Scope, of: string): string {
  const counted = networkOf(of)
  return scope === 'address' ? counted : hmac('sign-in', counted).toString('base64url')
}
