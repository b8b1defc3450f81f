import { expect, test } from '#e2e/browser/app.ts'
import { ADMIN_DIALOGS, MEMBER_DIALOGS } from '#e2e/browser/extreme-dialogs.ts'
import {
  closeBank,
  fillBank,
  fillShop,
  type Ids,
  makeLinks,
  NAME,
} from '#e2e/browser/extreme-shop.ts'
import { BROWSER_LOCALE, fillAddress, inspect } from '#e2e/browser/extremes.ts'
import { addSession, createSession, createShop, type Shop } from '#e2e/browser/merchant.ts'
import { db } from '#lib/base/db/client.ts'
import { beginAuthenticator, confirmAuthenticator } from '#lib/services/people/authenticator.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { generateTotp } from '#lib/testing/totp.ts'

test.use({
  locale: BROWSER_LOCALE,
  viewport: { width: 1440, height: 844 },
  actionTimeout: 20_000,
  // The first request of a proof of identity.
  expectedStatuses: [403],
})

/** Sets up an authenticator app of the owner. */
async function addApp({ id: accountId }: Shop): Promise<void> {
  const { user } = await db().membership.findFirstOrThrow({
    where: { accountId },
    include: { user: true },
  })
  const owner = { ...user, sessionId: await openSessionId(user.id) }
  const { secret } = await beginAuthenticator(owner)
  await confirmAuthenticator(owner, generateTotp(secret))
}

test.describe('the longest names can be read @torture @one-size', () => {
  let shop: Shop
  let ids: Ids
  test.beforeAll(async () => {
    shop = await createShop(NAME)
    // First, because it ends the other sessions.
    await addApp(shop)
    const links = await makeLinks(shop)
    ids = { ...links, ...(await fillShop(shop)), ...(await fillBank(shop)) }
    ids.admin = await createSession({ isAdmin: true })
  })
  test.afterAll(() => closeBank(shop, ids.bank ?? ''))

  for (const [session, dialogs] of [
    ['owner', MEMBER_DIALOGS],
    ['admin', ADMIN_DIALOGS],
  ] as const)
    for (const [name, path, open] of dialogs)
      test(`in the dialog of the ${session}: ${name}`, async ({ page, context }) => {
        await addSession(context, ids[session] ?? '')
        await page.goto(fillAddress(path, ids))
        await open(page)
        const dialog = page.getByRole('dialog').filter({ visible: true })
        await expect(dialog).toBeVisible()
        expect(await inspect(page, name)).toEqual([])
        await expect(dialog).toBeVisible()
      })
})
