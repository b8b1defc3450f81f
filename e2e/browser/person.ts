import type { BrowserContext, Page } from 'playwright/test'
import { expect, readSetting } from '#e2e/browser/app.ts'
import { openShop } from '#e2e/browser/merchant.ts'
import { db } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'
import { findPrintedLink } from '#lib/testing/mailbox.ts'

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

/** Opens the link of the `nth` mail to an address, which the worker writes to the log. */
export async function openPrintedLink(
  page: Page,
  email: string,
  nth: number,
  origin = '',
): Promise<void> {
  let link = ''
  await expect(() => {
    link = findPrintedLink(email, readSetting('LOG'), nth)
  }).toPass()
  await page.goto(origin + link)
}
