import { expect, test } from '#e2e/browser/app.ts'
import { ADMIN_DIALOGS, FOUNDER_DIALOGS, MEMBER_DIALOGS } from '#e2e/browser/extreme-dialogs.ts'
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
import { db, type Prisma } from '#lib/db/client.ts'
import { beginAuthenticator, confirmAuthenticator } from '#lib/people/factors.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { issueToken } from '#lib/tokens/issue.ts'

test.use({
  locale: BROWSER_LOCALE,
  viewport: { width: 1440, height: 844 },
  actionTimeout: 20_000,
  // The first request of a proof of identity.
  expectedStatuses: [403],
})

/** Makes one delivery delivered and the others failed, as after an hour of attempts. */
async function endDeliveries({ id: accountId }: Shop): Promise<string> {
  const [delivered, ...failed] = await db().delivery.findMany({ where: { accountId } })
  const update = (ids: string[], data: Prisma.DeliveryUpdateManyMutationInput) =>
    db().delivery.updateMany({
      where: { accountId, id: { in: ids } },
      data: { dueAt: null, ...data },
    })
  await update([delivered?.id ?? ''], { status: 'delivered', deliveredAt: new Date() })
  await update(
    failed.map(({ id }) => id),
    { status: 'exhausted' },
  )
  return delivered?.id ?? ''
}

/** Lets a token exceed the role of the member who created it. */
async function demoteIssuer({ id: accountId }: Shop): Promise<void> {
  await createSession({ accountId, role: 'owner' })
  const { userId } = await db().membership.findFirstOrThrow({
    where: { accountId },
    orderBy: { createdAt: 'desc' },
  })
  const permissions = ['withdrawals:write'] as const
  const token = { accountId, mode: 'test' as const, name: NAME, permissions: [...permissions] }
  await issueToken(token, { type: 'user', id: userId })
  const where = { accountId_userId: { accountId, userId } }
  await db().membership.update({ where, data: { role: 'viewer' } })
}

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
    ids.delivered = await endDeliveries(shop)
    await demoteIssuer(shop)
    // The shop has two owners, so that its withdrawals would wait for approval.
    const silent = await makeSilentMerchant()
    await db().account.update({ where: { id: silent.id }, data: { name: NAME } })
    Object.assign(ids, { silent: silent.id, unanswered: (await withdrawInSilence(silent)).id })
    ids.admin = await createSession({ isAdmin: true })
    ids.founder = (await makeLinks(await createShop(NAME))).owner ?? ''
  })
  test.afterAll(() => closeBank(shop, ids.bank ?? ''))

  for (const [session, dialogs] of [
    ['owner', MEMBER_DIALOGS],
    ['founder', FOUNDER_DIALOGS],
    ['admin', ADMIN_DIALOGS],
  ] as const)
    for (const [name, path, open] of dialogs)
      test(`in the dialog of the ${session}: ${name}`, async ({ page, context }) => {
        await addSession(context, ids[session] ?? '')
        await page.goto(fillAddress(path, ids))
        await open(page)
        const dialog = page.getByRole('dialog').or(page.getByRole('menu')).filter({ visible: true })
        await expect(dialog).toBeVisible()
        expect(await inspect(page, name)).toEqual([])
        await expect(dialog).toBeVisible()
      })
})
