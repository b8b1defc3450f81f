import { createHmac, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { recordAudit } from '#lib/audit/record.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { deriveKey, hashSecret, newSecret, seal, unseal } from '#lib/core/keys.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { type Database, db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { type Message, queueMail } from '#lib/mail/queue.ts'
import type { Factor, Factors } from '#lib/people/schema.ts'
import { endSessionsOf, requireActiveSession } from '#lib/people/sessions.ts'
import { requireWithinLimit, uncountAttempt } from '#lib/people/throttle.ts'

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

interface Challenge {
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

/** User whose factors change. Of the user's sessions, only `sessionId` stays open. */
export interface FactorOwner {
  id: string
  email: string
  name: string
  locale: string | null
  sessionId: string
}

type MailedChange = Extract<Message, { kind: 'secondFactorChanged' }>['change']

interface Change {
  action: string
  mail: MailedChange
  target?: string
}

const hasApp = Prisma.sql`EXISTS (
  SELECT FROM authenticators f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL)`
const hasPasskey = Prisma.sql`EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id)`

/** SQL condition on a row `u` of users: signing in requires a second factor. */
export const hasSecondFactor = Prisma.sql`(${hasApp} OR ${hasPasskey})`

/** In production, admins without a second factor cannot use the operator's pages. */
export function isSecondFactorMissing(user: {
  isAdmin: boolean
  hasSecondFactor: boolean
}): boolean {
  return user.isAdmin && isStaffFactorRequired() && !user.hasSecondFactor
}

export function isStaffFactorRequired(): boolean {
  return env().TROCO_ENV === 'production'
}

export async function countStaff(
  database: Pick<Database, '$queryRaw'> = db(),
): Promise<{ staff: number; unguarded: number }> {
  const [counts] = await database.$queryRaw<{ staff: number; unguarded: number }[]>`
    SELECT count(*)::int AS staff, (count(*) FILTER (WHERE NOT ${hasSecondFactor}))::int AS unguarded
    FROM users u WHERE u.is_admin AND u.disabled_at IS NULL`
  return counts ?? { staff: 0, unguarded: 0 }
}

export async function listFactors(
  userId: string,
  database: Pick<Tx, '$queryRaw'> = db(),
): Promise<Factor[]> {
  const [row] = await database.$queryRaw<{ code: boolean; passkey: boolean }[]>`
    SELECT ${hasApp} AS code, ${hasPasskey} AS passkey FROM users u WHERE u.id = ${userId}::uuid`
  return (['code', 'passkey'] as const).filter(name => row?.[name])
}

export async function readFactors(userId: string): Promise<Factors> {
  const [factors, passkeys, codes] = await Promise.all([
    listFactors(userId),
    db().passkey.findMany({
      where: { userId },
      select: { id: true, name: true, createdAt: true, lastUsedAt: true },
      orderBy: { createdAt: 'asc' },
    }),
    db().recoveryCode.count({ where: { userId, usedAt: null } }),
  ])
  return {
    hasApp: factors.includes('code'),
    passkeys: passkeys.map(({ createdAt, lastUsedAt, ...rest }) => ({
      ...rest,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    })),
    codesLeft: codes,
  }
}

/**
 * Changes second factors, ends the user's other sessions and sends a mail. Returns new recovery
 * codes with the first factor; removing the last factor deletes the codes.
 */
export function changeFactor(
  owner: FactorOwner,
  { action, mail, target }: Change,
  work: (tx: Tx) => Promise<unknown>,
): Promise<string[] | null> {
  return transaction(async tx => {
    // Locks the user: otherwise two concurrent changes could both create recovery codes.
    await tx.$queryRaw`SELECT FROM users WHERE id = ${owner.id}::uuid FOR UPDATE`
    // A first proof of the e-mail may have removed all factors while this request waited.
    await requireActiveSession(tx, owner.sessionId)
    await work(tx)
    const codes = await updateRecoveryCodes(tx, owner.id)
    await endSessionsOf(tx, owner.id, owner.sessionId)
    const actor = { type: 'user', id: owner.id } as const
    await recordAudit(tx, { actor, action, target: target ?? owner.id })
    await mailFactorChange(tx, owner, mail)
    return codes
  })
}

function mailFactorChange(
  tx: Tx,
  { email, locale }: Pick<FactorOwner, 'email' | 'locale'>,
  change: MailedChange,
): Promise<void> {
  const ip = currentLogContext().ip ?? null
  return queueMail(
    tx,
    { email, locale },
    { kind: 'secondFactorChanged', at: new Date(), ip, change },
  )
}

async function updateRecoveryCodes(tx: Tx, userId: string): Promise<string[] | null> {
  if ((await listFactors(userId, tx)).length === 0) {
    await tx.recoveryCode.deleteMany({ where: { userId } })
    return null
  }
  const codeCount = await tx.recoveryCode.count({ where: { userId } })
  return codeCount === 0 ? makeRecoveryCodes(tx, userId) : null
}

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

const CODE_COUNT = 10
/** Characters that are not confused with each other. A code of ten has 49 bits. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const CODE_LENGTH = 10

/** Replaces all recovery codes of a user. Only hashes are stored. */
async function makeRecoveryCodes(tx: Tx, userId: string): Promise<string[]> {
  const codes = Array.from({ length: CODE_COUNT }, makeCode)
  await tx.recoveryCode.deleteMany({ where: { userId } })
  const data = codes.map(code => ({ userId, hash: hashCode(userId, normalizeCode(code)) }))
  await tx.recoveryCode.createMany({ data })
  return codes.map(code => `${code.slice(0, 5)}-${code.slice(5)}`)
}

/** Consumes a recovery code. Returns false if the code is wrong or was used before. */
async function consumeRecoveryCode(tx: Tx, userId: string, text: string): Promise<boolean> {
  const code = normalizeCode(text)
  if (code.length !== CODE_LENGTH) return false
  const { TROCO_SECRET, TROCO_SECRET_BEFORE } = env()
  const hashes = [hashCode(userId, code, TROCO_SECRET)]
  if (TROCO_SECRET_BEFORE) hashes.push(hashCode(userId, code, TROCO_SECRET_BEFORE))
  const { count } = await tx.recoveryCode.updateMany({
    where: { userId, hash: { in: hashes }, usedAt: null },
    data: { usedAt: new Date() },
  })
  return count === 1
}

function makeCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
}

function normalizeCode(text: string): string {
  return text.toLowerCase().replace(/[\s-]/g, '')
}

/** Hashes with a server key: 49 bits alone could be searched by anyone with a copy of the table. */
function hashCode(userId: string, code: string, secret?: string): Uint8Array<ArrayBuffer> {
  const mac = createHmac('sha256', deriveKey('recovery-codes', secret))
  return new Uint8Array(mac.update(`${userId} ${code}`).digest())
}

export type CodeKind = 'code' | 'recovery_code'

/** Consumes an app or recovery code; null if wrong or used. The caller counts the attempt first. */
export function consumeCode(userId: string, text: string): Promise<CodeKind | null> {
  return transaction(async tx => {
    const code = text.replace(/\s/g, '')
    if (await consumeAppCode(tx, userId, code)) return 'code'
    if (!(await consumeRecoveryCode(tx, userId, code))) return null
    const actor = { type: 'user', id: userId } as const
    await recordAudit(tx, { actor, action: 'user.recovery_code_used', target: userId })
    await mailFactorChange(
      tx,
      await tx.user.findUniqueOrThrow({ where: { id: userId } }),
      'codeUsed',
    )
    return 'recovery_code'
  })
}

/** Replaces all recovery codes. The caller must have confirmed the user's identity. */
export async function renewRecoveryCodes(owner: FactorOwner): Promise<string[]> {
  let codes: string[] = []
  const change = { action: 'user.recovery_codes_renewed', mail: 'codesRenewed' } as const
  await changeFactor(owner, change, async tx => {
    codes = await makeRecoveryCodes(tx, owner.id)
  })
  return codes
}
