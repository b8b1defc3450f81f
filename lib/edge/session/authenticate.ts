import { db } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { rehashIfOutdated } from '#lib/services/people/change-password.ts'
import { verifyPassword } from '#lib/services/people/password.ts'
import { normalizeEmail } from '#lib/services/people/schema.ts'
import {
  countSignInAttempt,
  type SignInAttempt,
  uncountSignInAttempt,
} from '#lib/services/people/throttle.ts'

/** Error code in next-auth's response for a failure of the server. */
const UNAVAILABLE = 'Unavailable'
/** Error code after too many failed sign-ins, followed by the seconds to wait. */
export const THROTTLED = 'Throttled-'

export interface AuthenticatedUser {
  id: string
  email: string
  name: string
}

/** Unknown e-mail, wrong password and disabled user get the same response after the same time. */
export async function authenticateByPassword(
  attempt: SignInAttempt,
  password: string,
): Promise<AuthenticatedUser | null> {
  try {
    const email = normalizeEmail(attempt.email) ?? ''
    const counted = { ...attempt, email }
    const waitS = await countSignInAttempt(counted)
    if (waitS !== null) throw new Error(THROTTLED + waitS)
    const user = await findUserByPassword(email, password)
    if (user) await uncountSignInAttempt(counted)
    return user
  } catch (error) {
    throw toSignInError(error)
  }
}

/** Maps a failed sign-in: 401, 429 after too many attempts, or 503 for a failure of the server. */
export function signInFailureInit(
  text: string,
  headers: Headers,
): { status: number; headers: Headers } {
  const waitS = text.match(`error=${THROTTLED}(\\d+)`)?.[1]
  if (waitS) headers.set('retry-after', waitS)
  return { status: waitS ? 429 : text.includes(`error=${UNAVAILABLE}`) ? 503 : 401, headers }
}

/** Converts an error to one that next-auth may show; an unexpected one is logged. */
export function toSignInError(error: unknown): Error {
  const knownError = error instanceof Error ? error : null
  if (
    knownError &&
    (knownError.message === UNAVAILABLE || knownError.message.startsWith(THROTTLED))
  )
    return knownError
  log().error({ err: error }, 'sign-in failed with an internal error')
  return new Error(UNAVAILABLE)
}

async function findUserByPassword(
  email: string,
  password: string,
): Promise<AuthenticatedUser | null> {
  const user = email === '' ? null : await db().user.findUnique({ where: { email } })
  const isCorrect = await verifyPassword(password, user?.passwordHash ?? null)
  if (!user || !isCorrect || user.disabledAt) return null
  await rehashIfOutdated(user, password)
  return { id: user.id, email: user.email, name: user.name }
}
