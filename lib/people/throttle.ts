import { db } from '#lib/db/client.ts'
import { hmac } from '#lib/keys.ts'

/** Failures that are allowed within a window; after them one waits until it ends, and no longer. */
const ALLOWED = {
  address: { tries: 30, seconds: 60 },
  person: { tries: 10, seconds: 900 },
} as const
type Scope = keyof typeof ALLOWED

/** Who tries to sign in, from where; the address is null where nobody told it. */
export interface Attempt {
  email: string
  address: string | null
}

/**
 * Counts a try before the password is looked at, so that many at once are no more than allowed.
 * Returns the seconds to wait when there were too many; null when this one may go on.
 */
export async function countTry(attempt: Attempt): Promise<number | null> {
  for (const [scope, key] of keysOf(attempt)) {
    const { tries, seconds } = ALLOWED[scope]
    const [counted] = await db().$queryRaw<{ tries: number; waitS: number }[]>`
      INSERT INTO sign_in_tries AS t (scope, key, tries, ends_at)
      VALUES (${scope}, ${key}, 1, now() + make_interval(secs => ${seconds}::int))
      ON CONFLICT (scope, key) DO UPDATE SET
        tries = CASE WHEN t.ends_at <= now() THEN 1 ELSE LEAST(t.tries + 1, ${tries + 1}::int) END,
        ends_at = CASE WHEN t.ends_at <= now() THEN EXCLUDED.ends_at ELSE t.ends_at END
      RETURNING tries, ceil(extract(epoch FROM ends_at - now()))::int AS "waitS"`
    if (counted && counted.tries > tries) return counted.waitS
  }
  return null
}

/** It was the right password after all: only failures count. */
export async function forgiveTry(attempt: Attempt): Promise<void> {
  for (const [scope, key] of keysOf(attempt)) {
    await db().$executeRaw`
      UPDATE sign_in_tries SET tries = tries - 1
      WHERE scope = ${scope} AND key = ${key} AND tries > 0`
  }
}

/** The address first: whoever is refused by it can lock out nobody. */
function keysOf({ email, address }: Attempt): [Scope, string][] {
  // What was typed may be anything, a password too, so it is kept as a hash.
  const person: [Scope, string] = ['person', hmac('sign-in', email).toString('base64url')]
  return address === null ? [person] : [['address', address], person]
}
