import { Secret, TOTP } from 'otpauth'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { seal, unseal } from '#lib/core/keys.ts'
import { db, type Tx } from '#lib/db/client.ts'
import { changeFactor, type FactorOwner } from '#lib/people/factors.ts'
import { requireWithinLimit, uncountAttempt } from '#lib/people/throttle.ts'

const PERIOD_S = 30
/** Tolerated clock difference of a phone, in periods, in both directions. */
const WINDOW = 1
/** Secret length: 160 bits, as RFC 4226 recommends for HMAC-SHA1. */
const SECRET_BYTES = 20

/** Stores a new secret of an authenticator app, inactive until the user confirms it with a code. */
export async function beginAuthenticator({ id, email }: FactorOwner) {
  const secret = new Secret({ size: SECRET_BYTES }).base32
  const inserted = await db().$executeRaw`
    INSERT INTO authenticators AS a (user_id, sealed)
    VALUES (${id}::uuid, ${seal(secret, id, 'second-factors')})
    ON CONFLICT (user_id) DO UPDATE SET sealed = EXCLUDED.sealed, created_at = now()
    WHERE a.confirmed_at IS NULL`
  if (inserted === 1) return { secret, uri: createTotp(secret, email).toString() }
  throw refuse('limit_reached', 'An authenticator app is already set up: remove it first')
}

/** Activates the app by its first valid code. Returns recovery codes; null if the user has some. */
export async function confirmAuthenticator(owner: FactorOwner, code: string) {
  await requireWithinLimit([['second_factor', owner.id]])
  const change = { action: 'user.authenticator_added', mail: 'authenticatorOn' } as const
  const codes = await changeFactor(owner, change, async tx => {
    if (await consumeAppCode(tx, owner.id, code, { isNew: true })) return
    throw invalidInput('code', 'does not match: enter the code that the app shows now')
  })
  await uncountAttempt([['second_factor', owner.id]])
  return codes
}

export async function removeAuthenticator(owner: FactorOwner): Promise<void> {
  const change = { action: 'user.authenticator_removed', mail: 'authenticatorOff' } as const
  await changeFactor(owner, change, async tx => {
    const where = { userId: owner.id, confirmedAt: { not: null } }
    const { count } = await tx.authenticator.deleteMany({ where })
    if (count === 0) throw refuse('factor_not_found', { factor: 'Authenticator' })
  })
}

/** Consumes a code. One statement stores its counter, against reuse, and re-encrypts the secret. */
export async function consumeAppCode(
  tx: Tx,
  userId: string,
  code: string,
  { isNew = false } = {},
): Promise<boolean> {
  if (!/^\d{6}$/.test(code)) return false
  const [authenticator] = await tx.$queryRaw<{ sealed: Uint8Array<ArrayBuffer>; at: Date }[]>`
    SELECT sealed, clock_timestamp() AS at FROM authenticators WHERE user_id = ${userId}::uuid`
  if (!authenticator) return false
  const secret = unseal(authenticator.sealed, userId, 'second-factors')
  const counter = findCounter(secret, code, authenticator.at.getTime())
  if (counter === null) return false
  const updated = await tx.$executeRaw`
    UPDATE authenticators SET last_counter = ${counter}, confirmed_at = coalesce(confirmed_at, now()),
      sealed = ${seal(secret, userId, 'second-factors')}
    WHERE user_id = ${userId}::uuid AND last_counter < ${counter} AND sealed = ${authenticator.sealed}
      AND (confirmed_at IS NULL) = ${isNew}`
  return updated === 1
}

/** Servers with different clocks would accept different codes, so the database's decides. */
function findCounter(secret: string, code: string, timestamp: number): number | null {
  const delta = createTotp(secret).validate({ token: code, timestamp, window: WINDOW })
  return delta === null ? null : TOTP.counter({ period: PERIOD_S, timestamp }) + delta
}

function createTotp(secret: string, email = ''): TOTP {
  const parts = { secret: Secret.fromBase32(secret), digits: 6, period: PERIOD_S }
  return new TOTP({ issuer: 'Troco', label: email, algorithm: 'SHA1', ...parts })
}
