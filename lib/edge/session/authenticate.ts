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

export interface Person {
  id: string
  email: string
  name: string
}

/**
 * Returns the person with this e-mail and password. All failures get the same response after the
 * same time, be it the e-mail, the password or a disabled user.
 */
export async function authenticate(
  attempt: SignInAttempt,
  password: string,
): Promise<Person | null> {
  try {
    const email = normalizeEmail(attempt.email) ?? ''
    const counted = { ...attempt, email }
    const waitS = await countSignInAttempt(counted)
    if (waitS !== null) throw new Error(THROTTLED + waitS)
    const person = await findPerson(email, password)
    if (person) await uncountSignInAttempt(counted)
    return person
  } catch (error) {
    throw explain(error)
  }
}

/**
 * Maps a refusal by next-auth to a status: wrong, too many attempts, or a failure of the server.
 */
export function statusOf(text: string, headers: Headers): { status: number; headers: Headers } {
  const waitS = text.match(`error=${THROTTLED}(\\d+)`)?.[1]
  if (waitS) headers.set('retry-after', waitS)
  return { status: waitS ? 429 : text.includes(`error=${UNAVAILABLE}`) ? 503 : 401, headers }
}

/** Converts an error to one that next-auth may show; an unexpected one is logged. */
export function explain(error: unknown): Error {
  const said = error instanceof Error ? error : null
  if (said && (said.message === UNAVAILABLE || said.message.startsWith(THROTTLED))) return said
  log().error({ err: error }, 'sign-in failed with an internal error')
  return new Error(UNAVAILABLE)
}

async function findPerson(email: string, password: string): Promise<Person | null> {
  const user = email === '' ? null : await db().user.findUnique({ where: { email } })
  const isRight = await verifyPassword(password, user?.passwordHash ?? null)
  if (!user || !isRight || user.disabledAt) return null
  await rehashIfOutdated(user, password)
  return { id: user.id, email: user.email, name: user.name }
}
