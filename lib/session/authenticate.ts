import { isPassword } from '#lib/accounts/password.ts'
import { normalizeEmail } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { log } from '#lib/log.ts'

/** What the answer of next-auth carries when it is not the visitor's fault. */
export const UNAVAILABLE = 'Unavailable'

interface Person {
  id: string
  email: string
  name: string
}

/**
 * Who has this e-mail and password. An unknown e-mail, a wrong password and a disabled user get
 * the same answer after the same time.
 */
export async function authenticate(email: string, password: string): Promise<Person | null> {
  try {
    return await findPerson(email, password)
  } catch (error) {
    log().error({ err: error }, 'nobody could be signed in')
    // next-auth shows the message to the visitor.
    throw new Error(UNAVAILABLE)
  }
}

async function findPerson(email: string, password: string): Promise<Person | null> {
  const normal = normalizeEmail(email)
  const user = normal ? await db().user.findUnique({ where: { email: normal } }) : null
  const isRight = await isPassword(password, user?.passwordHash ?? null)
  if (!user || !isRight || user.disabledAt) return null
  return { id: user.id, email: user.email, name: user.name }
}
