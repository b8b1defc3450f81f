import { setTimeout as sleep } from 'node:timers/promises'
import { recordAudit } from '#lib/audit/record.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { normalizeEmail } from '#lib/core/fields.ts'
import { log } from '#lib/core/log.ts'
import { db, transaction } from '#lib/db/client.ts'
import {
  attemptChallenge,
  closeChallenge,
  openChallenge,
  readChallenge,
} from '#lib/people/challenge.ts'
import { rehashIfOutdated } from '#lib/people/change-password.ts'
import { type CodeKind, consumeCode, listFactors } from '#lib/people/factors.ts'
import { findByPasskey } from '#lib/people/passkeys.ts'
import {
  knownCaller,
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
import { findKnownDevice } from '#lib/session/known-device.ts'

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
