import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordAudit } from '#lib/audit/record.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { normalizeEmail } from '#lib/core/fields.ts'
import { hmac, isEqual } from '#lib/core/keys.ts'
import { log } from '#lib/core/log.ts'
import { db, transaction } from '#lib/db/client.ts'
import {
  attemptChallenge,
  type CodeKind,
  closeChallenge,
  consumeCode,
  listFactors,
  openChallenge,
  readChallenge,
} from '#lib/people/factors.ts'
import { findByPasskey } from '#lib/people/passkeys.ts'
import {
  knownCaller,
  rehashIfOutdated,
  requireHashPlace,
  unknownCaller,
  verifyPassword,
} from '#lib/people/password.ts'
import { type Factor, type PasskeyProof, passkeyProof } from '#lib/people/schema.ts'
import {
  countFactorAttempt,
  countSignInAttempt,
  endFactorSpell,
  mailWrongCodes,
  requireWithinLimit,
  type ScopedKey,
  type SignInAttempt,
  uncountAttempt,
  uncountSignInAttempt,
} from '#lib/people/throttle.ts'
import { cookieNames, readCookie } from '#lib/session/read.ts'

/** Longer than a hash of any cost that is stored: time must not reveal a registered e-mail. */
const REJECTION_MIN_MS = 300
/** Error code in next-auth's response for a failure of the server. */
const UNAVAILABLE = 'Unavailable'
/** Error code while too many passwords wait for their check. */
const BUSY = 'Busy'
const RETRY_AFTER_S = '2'
/** Error code after too many failed sign-ins, followed by the seconds to wait. */
const THROTTLED = 'Throttled-'

interface AuthenticatedUser {
  id: string
  email: string
  name: string
}

/** Browser that signs in: its address, null if unknown, and its marks of known devices. */
interface SignInCaller {
  address: string | null
  marks?: string
}

/** Unknown e-mail, wrong password and disabled user get the same response after the same time. */
export async function authenticateByPassword(
  { email: typedEmail, address, marks = '' }: SignInCaller & { email: string },
  password: string,
): Promise<AuthenticatedUser | null> {
  try {
    const email = normalizeEmail(typedEmail) ?? ''
    const owner = marks === '' ? null : await findUser(email)
    const device = owner && findKnownDevice(owner, marks)
    const attempt = { email, address, device }
    const caller = owner && device ? knownCaller(owner.id) : unknownCaller(address)
    requireHashPlace(caller)
    const retryAfterS = await countSignInAttempt(attempt)
    if (retryAfterS !== null) throw refuse('too_many_requests', { retryAfterS })
    const earliestRejection = sleep(REJECTION_MIN_MS)
    const user = await checkPassword(attempt, password, caller)
    if (!user) await earliestRejection
    return user
  } catch (error) {
    throw toSignInError(error)
  }
}

async function checkPassword(
  attempt: SignInAttempt,
  password: string,
  caller: Parameters<typeof requireHashPlace>[0],
): Promise<AuthenticatedUser | null> {
  const user = await findUser(attempt.email)
  try {
    const isCorrect = await verifyPassword(password, user?.passwordHash ?? null, caller)
    if (!user || !isCorrect || user.disabledAt) return null
  } catch (error) {
    // Without a place in the queue, no password was checked.
    await uncountSignInAttempt(attempt)
    throw error
  }
  await uncountSignInAttempt(attempt)
  await rehashIfOutdated(user, password)
  return { id: user.id, email: user.email, name: user.name }
}

/** Maps a failed sign-in: 401, 429 after too many attempts, or 503 for a failure of the server. */
export function signInFailureInit(
  text: string,
  headers: Headers,
): { status: number; headers: Headers } {
  const waitS = text.match(`error=${THROTTLED}(\\d+)`)?.[1]
  const isFailed = [BUSY, UNAVAILABLE].some(code => text.includes(`error=${code}`))
  if (waitS || isFailed) headers.set('retry-after', waitS ?? RETRY_AFTER_S)
  return { status: waitS ? 429 : isFailed ? 503 : 401, headers }
}

/** Converts an error to one that next-auth may show; an unexpected one is logged. */
function toSignInError(error: unknown): Error {
  if (error instanceof Error && error.cause === SHOWN) return error
  const code = isTrocoError(error) ? error.code : null
  if (isTrocoError(error) && code === 'too_many_requests') {
    return new Error(`${THROTTLED}${error.retryAfterS ?? 1}`, { cause: SHOWN })
  }
  if (code === 'service_unavailable') return new Error(BUSY, { cause: SHOWN })
  log().error({ err: error }, 'sign-in failed with an internal error')
  return new Error(UNAVAILABLE, { cause: SHOWN })
}

/** Cause of the errors that may be shown. */
const SHOWN = 'shown'

function findUser(email: string) {
  return email === '' ? null : db().user.findUnique({ where: { email } })
}

/** Pending second factor: the secret of its challenge and the factors that the user has. */
export interface SecondStep {
  challenge: string
  methods: Factor[]
}

/** Results that next-auth could return only in a URL, which would be logged. */
export interface SignInDetails {
  step?: SecondStep | null
  refusal?: 'wrong_code' | 'challenge_ended'
}

/** Credentials of a sign-in: a password; then a code or a passkey; or a passkey alone. */
export type SignInCredentials = Partial<
  Record<'email' | 'password' | 'challenge' | 'code' | 'passkey', string>
>

/** Returns null while a required factor is missing: `details` has the pending step or refusal. */
export async function signIn(
  credentials: SignInCredentials,
  address: string | null,
  details: SignInDetails,
  marks = '',
): Promise<AuthenticatedUser | null> {
  try {
    const identified = await identifyUser(credentials, { address, marks }, details)
    return identified && (await completeSignIn(identified.userId, identified.by))
  } catch (error) {
    throw toSignInError(error)
  }
}

async function identifyUser(
  credentials: SignInCredentials,
  caller: SignInCaller,
  details: SignInDetails,
) {
  const { email = '', password = '', challenge = '', code, passkey } = credentials
  if (passkey === undefined && code === undefined) {
    const person = await authenticateByPassword({ ...caller, email }, password)
    details.step = person && (await openSecondFactorChallenge(person.id))
    return person && !details.step ? { userId: person.id, by: 'password' as const } : null
  }
  const keys = addressKeys(caller.address)
  if (passkey !== undefined) {
    const userId = await verifyPasskey(challenge, passkey)
    if (userId) return { userId, by: 'passkey' as const }
    // Only failures count: a passkey cannot be guessed, and attempts of others must not lock it.
    await requireWithinLimit(keys)
    details.refusal = 'challenge_ended'
    return null
  }
  const pending = await readChallenge('second_factor', challenge)
  const device = await findDevice(pending?.userId ?? null, caller.marks ?? '')
  if (!device) await requireWithinLimit(keys)
  const identified = await verifyCode({ challenge, code: code ?? '', device }, details)
  if (identified && !device) await uncountAttempt(keys)
  return identified
}

async function findDevice(userId: string | null, marks: string): Promise<string | null> {
  const user = userId && marks && (await db().user.findUnique({ where: { id: userId } }))
  return user ? findKnownDevice(user, marks) : null
}

/** Opens a challenge for the second factor, after any first factor; null if the user has none. */
export async function openSecondFactorChallenge(userId: string): Promise<SecondStep | null> {
  const methods = await listFactors(userId)
  if (methods.length === 0) return null
  return { challenge: await openChallenge('second_factor', { userId }), methods }
}

interface CodeAttempt {
  challenge: string
  code: string
  device: string | null
}

async function verifyCode({ challenge, code, device }: CodeAttempt, details: SignInDetails) {
  // Waits are checked first: an attempt during a delay uses up none of the challenge's attempts.
  const { userId } = (await readChallenge('second_factor', challenge)) ?? {}
  const attempt = userId ? { userId, challenge, device } : null
  const nth = attempt && (await countFactorAttempt(attempt))
  if (attempt && nth !== null && (await attemptChallenge('second_factor', challenge))) {
    const by = await consumeCode(attempt.userId, code)
    if (by && (await closeChallenge(challenge))) {
      await endFactorSpell(attempt)
      return { userId: attempt.userId, by }
    }
    if (!by) await mailWrongCodes(attempt.userId, nth)
    const isChallengeOpen = !by && (await readChallenge('second_factor', challenge))
    details.refusal = isChallengeOpen ? 'wrong_code' : 'challenge_ended'
    return null
  }
  details.refusal = 'challenge_ended'
  return null
}

async function verifyPasskey(challenge: string, passkey: string): Promise<string | null> {
  const proof = parsePasskeyProof(challenge, passkey)
  return proof && findByPasskey(proof)
}

function parsePasskeyProof(challenge: string, passkey: string): PasskeyProof | null {
  try {
    return passkeyProof.parse({ challenge, passkey: JSON.parse(passkey) })
  } catch {
    return null
  }
}

function addressKeys(address: string | null): ScopedKey[] {
  return address === null ? [] : [['address', address]]
}

type SignInMethod = 'password' | 'passkey' | 'oidc' | CodeKind

/**
 * Completes and audits a sign-in. Returns null if the user was disabled meanwhile. Limited only
 * now, so that whoever lacks the password or the second factor cannot use up the limit.
 */
export async function completeSignIn(id: string, method: SignInMethod) {
  await requireWithinLimit([['sign_in', id]])
  return transaction(async tx => {
    const user = await tx.user.findFirst({ where: { id, disabledAt: null } })
    if (!user) return null
    const actor = { type: 'user', id } as const
    await recordAudit(tx, { actor, action: 'user.signed_in', target: id, after: { by: method } })
    return { id, email: user.email, name: user.name }
  })
}

/** Validity of a mark. Every sign-in on the device issues a new one. */
export const MARK_SECONDS = 90 * 86_400
/** Maximum marks in one browser, one per user: the cookie stays below 600 bytes. */
const MARKS_MAX = 8
const ID_BYTES = 12
const ISSUER_BYTES = 9
const MAC_BYTES = 18
/**
 * Id, time of issue in ms, and two MACs: of this server as the issuer, which can be checked before
 * the user is known, and of the user. The user is only in that MAC, so a mark reveals no user.
 */
const MARK_FORMAT = /^([\w-]{16})\.([0-9a-z]{1,11})\.([\w-]{12})\.([\w-]{24})$/
const SEPARATOR = '~'

/** User for whom a mark counts, unless it was issued before one of the times. */
interface MarkOwner {
  id: string
  passwordChangedAt: Date | null
  devicesEndedAt: Date | null
}

/** Adds a new mark of the user to the marks of a browser, in place of the user's earlier ones. */
export function addMark(userId: string, marks: string, issuedAt = new Date()): string {
  const id = randomBytes(ID_BYTES).toString('base64url')
  const unsigned = `${id}.${issuedAt.getTime().toString(36)}`
  const macs = [signAsIssuer(unsigned), signForUser(userId, unsigned)]
  const mark = [unsigned, ...macs.map(mac => mac.toString('base64url'))].join('.')
  const others = marks.split(SEPARATOR).filter(other => MARK_FORMAT.test(other))
  const kept = others.filter(other => readMark(userId, other) === null)
  return [mark, ...kept].slice(0, MARKS_MAX).join(SEPARATOR)
}

/** Returns the id of a mark that is valid for this user; null if the device is unknown. */
export function findKnownDevice(owner: MarkOwner, marks: string): string | null {
  const endedAt = Math.max(
    Date.now() - MARK_SECONDS * 1_000,
    owner.passwordChangedAt?.getTime() ?? 0,
    owner.devicesEndedAt?.getTime() ?? 0,
  )
  for (const mark of marks.split(SEPARATOR).slice(0, MARKS_MAX)) {
    const found = readMark(owner.id, mark)
    if (found && found.issuedAt >= endedAt) return found.id
  }
  return null
}

/** Returns the id of the first mark that this server issued in time, for whatever user; or null. */
export function findIssuedMark(marks: string): string | null {
  const endedAt = Date.now() - MARK_SECONDS * 1_000
  for (const mark of marks.split(SEPARATOR).slice(0, MARKS_MAX)) {
    const [, id, issuedAt, issuer] = MARK_FORMAT.exec(mark) ?? []
    if (!id || !issuedAt || !issuer || Number.parseInt(issuedAt, 36) < endedAt) continue
    if (isEqual(Buffer.from(issuer, 'base64url'), signAsIssuer(`${id}.${issuedAt}`))) return id
  }
  return null
}

function readMark(userId: string, mark: string): { id: string; issuedAt: number } | null {
  const [, id, issuedAt, , mac] = MARK_FORMAT.exec(mark) ?? []
  if (!id || !issuedAt || !mac) return null
  const isSigned = isEqual(Buffer.from(mac, 'base64url'), signForUser(userId, `${id}.${issuedAt}`))
  return isSigned ? { id, issuedAt: Number.parseInt(issuedAt, 36) } : null
}

function signAsIssuer(unsigned: string): Buffer {
  return hmac('known-devices', unsigned).subarray(0, ISSUER_BYTES)
}

/** Not under TROCO_SECRET_BEFORE: a leaked secret would make marks with budgets without end. */
function signForUser(userId: string, unsigned: string): Buffer {
  return hmac('known-devices', `${userId} ${unsigned}`).subarray(0, MAC_BYTES)
}

interface CookieStore {
  get: (name: string) => { value?: string } | undefined
}

/** Returns the marks of the users who signed in with this browser; empty if there are none. */
export function readDeviceMarks(cookies: CookieStore): string {
  return cookies.get(cookieNames().device)?.value ?? ''
}

/** Returns the cookie that makes this browser a known device of the user. */
export function addDeviceMark(userId: string, marks: string, issuedAt = new Date()) {
  const { device: name, secure } = cookieNames()
  const value = addMark(userId, marks, issuedAt)
  return {
    name,
    value,
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    maxAge: MARK_SECONDS,
    secure,
  } as const
}

/** Returns the same cookie as a Set-Cookie header, for endpoints that work without Next. */
export function deviceCookieHeader(userId: string, cookieHeader: string): string {
  const marks = readCookie(cookieHeader, cookieNames().device) ?? ''
  const { name, value, path, maxAge, secure } = addDeviceMark(userId, marks)
  const attributes = `Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax`
  return `${name}=${value}; ${attributes}${secure ? '; Secure' : ''}`
}
