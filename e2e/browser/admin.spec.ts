import { devices, type Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { findPlace } from '#e2e/browser/layout.ts'
import {
  addSession,
  createSession,
  createShop,
  openAdmin,
  openShop,
} from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, assignConnection } from '#lib/testing/connection.ts'

async function callWithToken(token: string): Promise<[number, string]> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${readSetting('BASE_URL')}/api/account`, { headers })
  return [response.status, ((await response.json()) as { error?: string }).error ?? '']
}

async function confirm(page: Page, action: string, reason?: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  if (reason) await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: action, exact: true }).click()
  await expect(dialog).toHaveCount(0)
}

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

test('an admin suspends an account: the API responds 403 and its pages show the reason', async ({
  page,
  context,
}) => {
  const shop = await openShop(context, `Suspensa ${Date.now()}`)
  const admin = await openAdmin(page)
  await admin.goto('/admin/accounts')
  const search = admin.getByRole('searchbox', { name: 'Name, owner’s e-mail or account number' })
  await search.fill(shop.name)
  await search.press('Enter')
  await expect(admin).toHaveURL(/q=Suspensa/)
  await admin.getByRole('link', { name: shop.name }).click()
  await expect(admin.getByRole('heading', { level: 1, name: shop.name })).toBeVisible()
  await expectAccessible(admin)
  await admin.getByRole('button', { name: 'Suspend', exact: true }).click()
  await admin.getByRole('dialog').getByRole('button', { name: 'Suspend', exact: true }).click()
  await expect(admin.getByText('Use 3 to 200 characters, on one line.')).toBeVisible()
  await confirm(admin, 'Suspend', 'unusual chargebacks')
  await expect(admin.getByTestId('account-status')).toHaveText('Suspended')
  expect(await callWithToken(shop.token)).toEqual([403, 'Account not active'])

  await page.goto('/test/charges')
  await expect(page.getByText('Reason: unusual chargebacks')).toBeVisible()
  await expect(page.getByRole('link', { name: 'New charge' })).toHaveCount(0)
  await admin.getByRole('button', { name: 'Activate', exact: true }).click()
  await confirm(admin, 'Activate')
  await expect(admin.getByTestId('account-status')).toHaveText('Active')
  expect(await callWithToken(shop.token)).toEqual([200, ''])
  await admin.context().close()
})

test('an admin revokes a leaked token: the API responds 401 and the owner sees the reason', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context)
  const admin = await openAdmin(page)
  await admin.goto('/admin/tokens')
  const search = admin.getByRole('searchbox', {
    name: 'Prefix (troco_test_…), last four characters or account',
  })
  await search.fill(shop.token)
  await expect(admin).toHaveURL(/q=troco_test_\w{9}$/)
  const row = admin.getByTestId('token-row')
  await expect(row).toHaveCount(1)
  await expectAccessible(admin)
  await row.getByRole('button', { name: 'Revoke' }).click()
  await confirm(admin, 'Revoke', 'found on a public site')
  await expect(row).toContainText('Revoked by the administrator.')
  expect(await callWithToken(shop.token)).toEqual([401, 'Unauthenticated'])
  await page.goto('/test/settings/tokens')
  await expect(page.getByTestId('token-row')).toContainText(
    'Revoked by the administrator. Reason: found on a public site',
  )
  await admin.context().close()
})

test('an admin sets limits, which the owner sees, and reveals a payer’s document for a reason', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context)
  const admin = await openAdmin(page)
  await admin.goto(`/admin/accounts/${shop.id}`)
  // A form above it has the same button while a bank can be assigned.
  const form = admin.locator('form').filter({ has: admin.getByLabel('Per charge') })
  const save = form.getByRole('button', { name: 'Save' })
  await admin.getByLabel('Per charge').fill('1,000')
  await admin.getByLabel('Withdrawals per night').fill('abc')
  await save.click()
  await expect(admin.getByText(/^Enter an amount in reais/)).toBeVisible()
  await admin.getByLabel('Withdrawals per night').fill('0')
  await save.click()
  await expect(admin.getByText('Saved.')).toBeVisible()
  await page.goto('/test/settings')
  await expect(page.getByRole('definition').filter({ hasText: 'R$ 1,000.00' })).toBeVisible()
  await expect(page.getByRole('definition').filter({ hasText: 'no limit' })).toHaveCount(2)

  const charge = await db().charge.findFirstOrThrow({ where: { accountId: shop.id } })
  await admin.getByLabel('ID of the charge, withdrawal or refund').fill(charge.id)
  await admin.getByRole('button', { name: 'Find' }).click()
  const payer = admin.getByTestId('payer-document')
  await expect(payer).toHaveText(/^\*\*/)
  await admin.getByRole('button', { name: 'Reveal' }).click()
  await confirm(admin, 'Reveal', 'ticket 7')
  await expect(payer).not.toContainText('*')
  await expect(admin.getByRole('list', { name: 'Audit log' })).toContainText('ticket 7')
  await admin.context().close()
})

test('an account that only pays out in live mode is offered no new charge, and told why', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context)
  const id = await addConnection(new StubBank())
  await assignConnection(id, shop)
  const newCharge = page.locator('a[href="/live/charges/new"]')
  await page.goto('/live/charges')
  await expect(newCharge).not.toHaveCount(0)
  await db().account.update({ where: { id: shop.id }, data: { receivingConnectionId: null } })
  for (const path of ['home', 'charges', 'webhooks']) {
    await page.goto(`/live/${path}`)
    await expect(page.locator('a[href="/live/withdrawals"]')).not.toHaveCount(0)
    await expect(newCharge, path).toHaveCount(0)
    await expect(page.getByText(/^Create (the|your) first/), path).toHaveCount(0)
  }
  await page.goto('/live/charges/new')
  await expect(page).toHaveURL(/\/live\/charges$/)
  await expect(page.getByText('Charges aren’t enabled for this account')).toBeVisible()
  const palette = page.getByRole('combobox')
  await expect(async () => {
    await page.keyboard.press('ControlOrMeta+k')
    await expect(palette).toBeVisible({ timeout: 2_000 })
  }).toPass()
  await palette.fill('new')
  await expect(page.getByRole('option', { name: 'Request withdrawal' })).toBeVisible()
  await expect(page.getByRole('option', { name: 'New charge' })).toHaveCount(0)
})

test('an owner asks for live mode, and an admin sees it', async ({ page, context }) => {
  const shop = await openShop(context, `Loja que cresce ${newId()}`)
  const admin = await openAdmin(page)
  await page.goto('/live/home')
  await expect(page.getByText('Live mode isn’t enabled yet')).toBeVisible()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Request live mode' }).click()
  await expect(page.getByText('Requested. Your administrator sees the request.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Request live mode' })).toHaveCount(0)

  await admin.goto('/admin')
  await expect(await findPlace(admin, /^Accounts \d+ waiting$/)).toBeVisible()
  await expectAccessible(admin)
  await admin.getByRole('link', { name: /for live mode$/ }).click()
  await admin.getByRole('link', { name: shop.name }).first().click()
  await expect(admin.getByRole('heading', { level: 1, name: shop.name })).toBeVisible()
  await page.reload()
  await expect(page.getByText('Requested. Your administrator sees the request.')).toBeVisible()
  await admin.context().close()
})

test('an admin takes a connection to a bank from an account', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  const admin = await openAdmin(page)
  await page.goto('/live/home')
  await expect(page.getByText('Live mode isn’t enabled yet')).toBeVisible()

  const id = await addConnection(new StubBank(), { name: `Banco Azul ${shop.id}` })
  await assignConnection(id, shop)
  await admin.goto(`/admin/accounts/${shop.id}`)
  await expectAccessible(admin)
  await takeConnection(admin, 'Pays out through')
  await page.goto('/live/withdrawals')
  await expect(page.getByText('Withdrawals aren’t enabled for this account')).toBeVisible()
  await expect(page.getByRole('link', { name: 'Request withdrawal' })).toHaveCount(0)
  await page.goto('/live/withdrawals/new')
  await expect(page).toHaveURL(/\/live\/withdrawals$/)

  await admin.reload()
  await expect(admin.getByLabel('Receives through')).toHaveValue(id)
  await takeConnection(admin, 'Receives through')
  await page.goto('/live/withdrawals')
  await expect(page.getByText('Live mode isn’t enabled yet')).toBeVisible()
  await admin.context().close()
})

async function takeConnection(admin: Page, label: string) {
  await admin.getByLabel(label).selectOption('')
  await admin.getByRole('button', { name: 'Save' }).first().click()
  await expect(admin.getByText('Saved.')).toBeVisible()
}

test.describe('on a phone', () => {
  test.use({ viewport: devices['iPhone 13'].viewport })

  test('an admin finds an account and revokes its tokens @torture', async ({ page, context }) => {
    const shop = await createShop(`De bolso ${Date.now()}`)
    await addSession(context, await createSession({ isAdmin: true }))
    await page.goto(`/admin/accounts?q=${encodeURIComponent(shop.name)}`)
    await expectAccessible(page)
    await page.getByRole('link', { name: shop.name }).click()
    await expect(page.getByRole('heading', { level: 1, name: shop.name })).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Revoke all' }).click()
    await confirm(page, 'Revoke all', 'lost phone')
    await expect(page.getByTestId('token-row')).toContainText('Revoked by the administrator.')
    expect(await callWithToken(shop.token)).toEqual([401, 'Unauthenticated'])
    await page.goto('/admin/tokens')
    await expectAccessible(page)
  })
})
