import { db } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { renewHash } from '#lib/services/people/change-password.ts'
import { isPassword } from '#lib/services/people/password.ts'
import { normalizeEmail } from '#lib/services/people/schema.ts'
import { type Attempt, countTry, forgiveTry } from '#lib/services/people/throttle.ts'

/** What the answer of next-auth carries when it is not the visitor's fault. */
const UNAVAILABLE = 'Unavailable'
/** The same when there were too many failures; after it, the seconds to wait. */
export const THROTTLED = 'Throttled-'

export interface Person {
  id: string
  email: string
  name: string
}

/**
 * Who has this e-mail and password. An unknown e-mail, a wrong password and a disabled user get
 * the same answer after the same time.
 */
export async function authenticate(attempt: Attempt, password: string): Promise<Person | null> {
  try {
    const email = normalizeEmail(attempt.email) ?? ''
    const counted = { ...attempt, email }
    const waitS = await countTry(counted)
    if (waitS !== null) throw new Error(THROTTLED + waitS)
    const person = await findPerson(email, password)
    if (person) await forgiveTry(counted)
    return person
  } catch (error) {
    throw explain(error)
  }
}

/** What an answer of next-auth means that says no: wrong, too often, or not the visitor's fault. */
export function statusOf(text: string, headers: Headers): { status: number; headers: Headers } {
  const waitS = text.match(`error=${THROTTLED}(\\d+)`)?.[1]
  if (waitS) headers.set('retry-after', waitS)
  return { status: waitS ? 429 : text.includes(`error=${UNAVAILABLE}`) ? 503 : 401, headers }
}

/** A fault as next-auth may show it to the visitor. */
export function explain(error: unknown): Error {
  const said = error instanceof Error ? error : null
  if (said && (said.message === UNAVAILABLE || said.message.startsWith(THROTTLED))) return said
  log().error({ err: error }, 'nobody could be signed in')
  return new Error(UNAVAILABLE)
}

async function findPerson(email: string, password: string): Promise<Person | null> {
  const user = email === '' ? null : await db().user.findUnique({ where: { email } })
  const isRight = await isPassword(password, user?.passwordHash ?? null)
  if (!user || !isRight || user.disabledAt) return null
  await renewHash(user, password)
  return { id: user.id, email: user.email, name: user.name }
}
