import type { BrowserContext } from 'playwright/test'
import { openShop } from '#e2e/browser/merchant.ts'
import { db } from '#lib/base/db/client.ts'
import { hashPassword } from '#lib/services/people/password.ts'

export interface Person {
  id: string
  email: string
  password: string
}

/** Creates a shop whose owner has a password, and signs the owner in. */
export async function openPerson(context: BrowserContext): Promise<Person> {
  const { id: accountId } = await openShop(context)
  const { user } = await db().membership.findFirstOrThrow({
    where: { accountId },
    include: { user: true },
  })
  const password = 'four words nobody expects'
  const data = { passwordHash: await hashPassword(password) }
  await db().user.update({ where: { id: user.id }, data })
  return { id: user.id, email: user.email, password }
}
