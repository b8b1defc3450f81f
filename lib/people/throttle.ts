import { networkOf, siteOf } from '#lib/core/addresses.ts'
import { refuse } from '#lib/core/errors.ts'
import { hmac } from '#lib/core/keys.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'

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

/**
 * Delays before the next attempt: none after the first `free` wrong codes, then `firstS`, doubling
 * up to `maxS`. A spell of wrong codes ends with a right one, or `spellS` after the last.
 */
const DELAYS = {
  factor: { free: 4, firstS: 30, maxS: 900, spellS: 86_400 },
  challenge: { free: 1, firstS: 2, maxS: 60, spellS: 300 },
} as const
type DelayScope = keyof typeof DELAYS

/** Wrong codes of one spell after which a mail warns the user that the password is known. */
const MAILED_AT = 5

interface FactorAttempt {
  userId: string
  /** Secret of the challenge of this sign-in. */
  challenge: string
  /** Id of the mark of a known device, which has its own budget instead of the user's delay. */
  device: string | null
}

/**
 * Counts an attempt before its code is checked. Returns the number of the attempt in its spell.
 * Throws `too_many_requests` during a delay; such an attempt is not counted.
 */
export async function countFactorAttempt(attempt: FactorAttempt): Promise<number> {
  const { userId, challenge, device } = attempt
  requireNoWait(await countDelayed('challenge', challenge, true))
  if (device) {
    const retryAfterS = await countAttempt([['device', device]])
    if (retryAfterS !== null) throw refuse('too_many_requests', { retryAfterS })
  }
  return requireNoWait(await countDelayed('factor', userId, !device))
}

/** Ends the spell: the attempts before a right code were the user's own, or are over. */
export async function endFactorSpell({ userId, challenge, device }: FactorAttempt): Promise<void> {
  await deleteCounters(db(), [keyOf('factor', userId), keyOf('challenge', challenge)])
  if (device) await uncountAttempt([['device', device]])
}

/** Ends the spell after a change of the password, which ends all challenges. */
export function endFactorDelay(tx: Tx, userId: string): Promise<void> {
  return deleteCounters(tx, [keyOf('factor', userId)])
}

/** Mails the user once per spell: entering a code requires the password. */
export async function mailWrongCodes(userId: string, nth: number): Promise<void> {
  if (nth !== MAILED_AT) return
  const ip = currentLogContext().ip ?? null
  await transaction(async tx => {
    const user = await tx.user.findUniqueOrThrow({ where: { id: userId } })
    await queueMail(tx, user, { kind: 'wrongCodes', at: new Date(), ip, count: String(nth) })
  })
}

interface Count {
  nth: number | null
  waitS: number
}

/** One statement checks the delay and counts: concurrent attempts cannot pass it together. */
async function countDelayed(
  scope: DelayScope,
  subject: string,
  isDelayed: boolean,
): Promise<Count> {
  const { free, firstS, maxS, spellS } = DELAYS[scope]
  const key = keyOf(scope, subject)
  const [row] = await db().$queryRaw<Count[]>`
    WITH counted AS (
      INSERT INTO sign_in_attempts AS t (scope, key, attempts, ends_at)
      VALUES (${scope}, ${key}, 1, now() + make_interval(secs => ${spellS}::int))
      ON CONFLICT (scope, key) DO UPDATE SET
        attempts = CASE WHEN t.ends_at <= now() THEN 1 ELSE LEAST(t.attempts + 1, 1000000) END,
        ends_at = EXCLUDED.ends_at
      WHERE NOT ${isDelayed} OR t.ends_at <= now() OR t.attempts <= ${free}::int
        OR t.ends_at - make_interval(secs => ${spellS}::int)
          + make_interval(secs => LEAST(${maxS}::int, ${firstS}::int * 2 ^ LEAST(t.attempts - ${free}::int - 1, 20)))
          <= now()
      RETURNING attempts)
    SELECT (SELECT attempts FROM counted) AS nth, coalesce((
      SELECT ceil(extract(epoch FROM t.ends_at - now()) - ${spellS}::int
        + LEAST(${maxS}::int, ${firstS}::int * 2 ^ LEAST(t.attempts - ${free}::int - 1, 20)))::int
      FROM sign_in_attempts t WHERE t.scope = ${scope} AND t.key = ${key}), 1) AS "waitS"`
  return row ?? { nth: null, waitS: 1 }
}

function requireNoWait({ nth, waitS }: Count): number {
  if (nth === null) throw refuse('too_many_requests', { retryAfterS: Math.max(1, waitS) })
  return nth
}

async function deleteCounters(tx: Pick<Tx, '$executeRaw'>, keys: string[]): Promise<void> {
  await tx.$executeRaw`
    DELETE FROM sign_in_attempts WHERE scope IN ('factor', 'challenge') AND key = ANY(${keys})`
}
