import { expect, test } from '#e2e/browser/app.ts'
import { findPlace } from '#e2e/browser/layout.ts'
import { openShop, signInAs } from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

test('a viewer sees no action that would be refused', async ({ page, context }) => {
  const shop = await openShop(context)
  const email = `viewer-${newId()}@troco.example`
  const user = await db().user.create({ data: { id: newId(), email, name: email, ...VERIFIED } })
  await db().membership.create({ data: { accountId: shop.id, userId: user.id, role: 'viewer' } })
  await signInAs(context, email)
  for (const [path, linkName] of [
    ['charges', 'New charge'],
    ['withdrawals', 'Request withdrawal'],
    ['webhooks/endpoints', 'New endpoint'],
    ['settings/tokens', 'Create token'],
  ] as const) {
    await page.goto(`/test/${path}`)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await expect(page.getByRole('link', { name: linkName })).toHaveCount(0)
  }
  await page.goto('/test/home')
  await expect(page.getByTestId('balance')).toHaveText('R$ 1,000.00')
  await expect(await findPlace(page, 'Statement')).toBeVisible()
  await expect(page.getByRole('link', { name: 'Withdraw', exact: true })).toHaveCount(0)
})

test.describe('by URL', () => {
  test.use({ expectedStatuses: [403] })

  test('finance can withdraw, and learns whom to ask for a token', async ({ page, context }) => {
    const shop = await openShop(context)
    const email = `finance-${newId()}@troco.example`
    const user = await db().user.create({ data: { id: newId(), email, name: email, ...VERIFIED } })
    await db().membership.create({ data: { accountId: shop.id, userId: user.id, role: 'finance' } })
    await signInAs(context, email)
    await page.goto('/test/withdrawals')
    await page.getByRole('link', { name: 'Request withdrawal' }).first().click()
    await expect(page.getByRole('heading', { name: 'Request withdrawal' })).toBeVisible()
    expect((await page.goto('/test/settings/tokens/new'))?.status()).toBe(403)
    await expect(page.getByRole('heading', { name: 'Not allowed' })).toBeVisible()
    const owner = await db().user.findFirstOrThrow({
      where: { memberships: { some: { accountId: shop.id, role: 'owner' } } },
    })
    await expect(
      page.getByText(
        'This page is for “Create and revoke API tokens”. It needs the role Owner or Developer.',
      ),
    ).toBeVisible()
    await expect(
      page.getByText(`You’re signed in as ${email}, with the role Finance in ${shop.name}.`),
    ).toBeVisible()
    await expect(page.getByText('Ask an owner:')).toContainText(owner.name)
    expect((await page.goto('/test/settings/audit'))?.status()).toBe(403)
    await expect(page.getByText('“View the audit log”. It needs the role Owner.')).toBeVisible()
  })
})
