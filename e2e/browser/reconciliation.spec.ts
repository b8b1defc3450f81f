import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { expectFits, listRows, PHONE } from '#e2e/browser/layout.ts'
import { addSession, createSession, createShop } from '#e2e/browser/merchant.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { keepStray } from '#lib/testing/differences.ts'
import { makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

test.beforeEach(async ({ context }) => {
  await addSession(context, await createSession({ isAdmin: true }))
})

/** An amount that no other test pays, so that only one charge fits. */
const newAmount = () => 100_000 + (Date.now() % 800_000)

test('an admin matches a payment to the charge that fits, and sees who settled it and why', async ({
  page,
}) => {
  const merchant = await makeMerchant(`Conciliada e muito, muito comprida ${Date.now()} Ltda`)
  const amount = newAmount()
  await openCharge(merchant, amount)
  const { itemId } = await keepStray(amount)
  await page.goto('/admin/reconciliation')
  await expect(page.getByTestId('open-count')).not.toHaveText('0')
  await expectAccessible(page)
  await listRows(page).locator(`a[href="/admin/reconciliation/${itemId}"]`).click()
  await expect(
    page.getByRole('heading', { level: 1, name: 'Payment without a charge' }),
  ).toBeVisible()
  await expect(page.getByText('Exactly one unpaid charge fits')).toBeVisible()
  await expect(page.getByRole('radio', { name: 'Match to a charge' })).toBeChecked()
  await expect(page.getByText(merchant.name)).toBeVisible()
  await expectAccessible(page)
  await expectFits(page, PHONE)
  await page.getByRole('button', { name: 'Settle', exact: true }).click()
  await expect(page.getByText('Use 3 to 200 characters, on one line.')).toBeVisible()
  await page.getByLabel('Reason').fill('The payer confirmed the order')
  await page.getByRole('button', { name: 'Settle', exact: true }).click()
  await expect(page.getByTestId('item-state').first()).toHaveText('Matched to a charge')
  await expect(page.getByText('The payer confirmed the order')).toBeVisible()
})

test('an admin credits a payment to an account, which shows on its statement', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await createShop(`Creditada ${Date.now()}`)
  const { itemId } = await keepStray(newAmount())
  await page.goto(`/admin/reconciliation/${itemId}`)
  await page.getByRole('radio', { name: 'Credit to an account' }).check()
  await page.getByLabel('Account ID').fill('unknown')
  await page.getByLabel('Reason').fill('Agreed by phone')
  await page.getByRole('button', { name: 'Settle', exact: true }).click()
  await expect(page.getByText('Enter the ID of an account.')).toBeVisible()
  await page.getByLabel('Account ID').fill(shop.id)
  await page.getByRole('button', { name: 'Settle', exact: true }).click()
  await expect(page.getByTestId('item-state').first()).toHaveText('Credited to an account')
  await context.clearCookies()
  const session = await createSession({ accountId: shop.id, role: 'owner' })
  await addSession(context, session)
  await page.goto('/test/statement')
  await expect(
    page.getByText('Payment assigned by the administrator').filter({ visible: true }),
  ).toBeVisible()
})

test('a difference of a day shows what the bank and the books have, as rows with amounts', {
  tag: '@torture',
}, async ({ page }) => {
  const merchant = await makeMerchant()
  const { id: chargeId } = await openCharge(merchant, 6_100)
  const id = newId()
  const at = '2026-11-20T15:00:00.000Z'
  const named = { transaction_id: chargeId, account_id: merchant.id }
  const facts = {
    what: 'payment',
    day: '2026-11-20',
    bank: { amount: 6_000, at, kind: 'payment', end_to_end_id: 'E123' },
    ours: { amount: 6_100, at, state: 'booked', ...named },
  }
  const item = { id, connectionId: SIMULATOR_CONNECTION_ID, kind: 'day_different', key: id, facts }
  await db().difference.create({ data: { ...item, day: new Date('2026-11-20') } })
  await page.goto('/admin/reconciliation?kind=day_different')
  const row = listRows(page).filter({ has: page.locator(`a[href$="${id}"]`) })
  await expect(row).toContainText('R$ 60.00')
  await row.getByRole('link').click()
  const side = (name: string) =>
    page.getByRole('heading', { name, exact: true }).locator('xpath=ancestor::div[2]')
  await expect(side('The bank')).toContainText('TypePayment received')
  await expect(side('The bank')).toContainText('AmountR$ 60.00')
  await expect(side('Troco')).toContainText('AmountR$ 61.00')
  await expect(side('Troco')).toContainText('In TrocoBooked')
  await expect(page.getByText('{"')).toHaveCount(0)
  await expectAccessible(page)
})
