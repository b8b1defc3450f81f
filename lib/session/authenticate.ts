import { setTimeout as sleep } from 'node:timers/promises'
import { normalizeEmail } from '#lib/core/email.ts'
import { isTrocoError, refuse } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { db } from '#lib/db/client.ts'
import { rehashIfOutdated } from '#lib/people/change-password.ts'
import { requireHashPlace } from '#lib/people/hash-queue.ts'
import { findKnownDevice } from '#lib/people/known-device.ts'
import { knownCaller, unknownCaller, verifyPassword } from '#lib/people/password.ts'
import {
  countSignInAttempt,
  type SignInAttempt,
  uncountSignInAttempt,
} from '#lib/people/throttle.ts'

/** Longer than a hash of any cost that is stored: time must not reveal a registered e-mail. */
const REJECTION_MIN_MS = 300
/** Error code in next-auth's response for a failure of the server. */
const UNAVAILABLE = 'Unavailable'
/** Error code while too many passwords wait for their check. */
const BUSY = 'Busy'
const RETRY_AFTER_S = '2'
/** Error code after too many failed sign-ins, followed by the seconds to wait. */
const THROTTLED = 'Throttled-'

export interface AuthenticatedUser {
  id: string
  email: string
  name: string
}

/** Browser that signs in: its address, null if unknown, and its marks of known devices. */
export interface SignInCaller {
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
export function toSignInError(error: unknown): Error {
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
