import type { Page } from 'playwright/test'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { findPlace, listRows, PHONE } from '#e2e/browser/layout.ts'
import { createShop, openAdmin, openShop, type Shop } from '#e2e/browser/merchant.ts'
import { PAGES } from '#e2e/browser/page-table.ts'
import { findUnreadable } from '#e2e/browser/text-layout.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

/** Gives the reason in the open dialog and confirms it. */
async function confirm(page: Page, action: string, reason: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: action, exact: true }).click()
}

async function searchAccounts(page: Page, text: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Name, owner’s e-mail or account number' }).fill(text)
  await expect(page).toHaveURL(new RegExp(`q=${encodeURIComponent(text).replaceAll('%20', '\\+')}`))
}

async function requestPayout(shop: Shop): Promise<string> {
  const key = { pixKeyType: 'cpf', pixKey: CANARY.document, dictKey: CANARY.document } as const
  return (await createWithdrawal(shop.id, 'test', { amount: 1_000, ...key })).id
}

/** Creates a paid charge with the document in every text, an endpoint and a delivery of the payment. */
async function createMarkedCharge(page: Page, shop: Shop): Promise<string> {
  const marker = `cli-${CANARY.document}`
  const headers = { authorization: `Bearer ${shop.token}` }
  const post = async (path: string, data: object) =>
    (await (await page.request.post(`/api${path}`, { headers, data })).json()).data
  const free = { metadata: { [marker]: Number(CANARY.document) }, items: [{ name: marker }] }
  const { transaction_id: id } = await post('/transactions', {
    amount: 1_500,
    client_name: `Ana ${CANARY.document}`,
    client_doc: CANARY.document,
    client_email: `${marker}@example.com`,
    external_id: marker,
    ...free,
    webhook_url: `https://a.example/${marker}`,
  })
  await post(`/sandbox/transactions/${id}`, { outcome: 'paid' })
  return id
}

test('an admin suspends and activates several accounts for a reason, and reads one’s payments masked', {
  tag: '@torture',
}, async ({ page }) => {
  const name = `Rede ${Date.now()}`
  const [first] = [await createShop(`${name} Norte`), await createShop(`${name} Sul`)]
  const withdrawal = await requestPayout(first)
  const admin = await openAdmin(page)
  await admin.goto('/admin')
  await expectAccessible(admin)
  for (const mode of ['Live', 'Test'])
    for (const title of ['Volume paid', 'Conversion'])
      await expect(
        admin.getByRole('region', { name: mode }).getByRole('heading', { name: title }),
      ).toBeVisible()
  for (const title of ['API errors', 'API response time'])
    await expect(admin.getByRole('heading', { name: title })).toBeVisible()
  await admin.getByRole('link', { name: '7 days' }).click()
  await expect(admin).toHaveURL('/admin?span=7d')
  await admin.getByText('Show figures').first().click()
  await expect(
    admin.getByRole('table', { name: 'Volume paid, Live' }).getByRole('row'),
  ).toHaveCount(29)

  await (await findPlace(admin, /^Accounts/)).click()
  await searchAccounts(admin, name)
  const states = admin.getByTestId('account-status').filter({ visible: true })
  const select = (label: string | RegExp) =>
    admin.getByLabel(label).filter({ visible: true }).check()
  await expect(states).toHaveCount(2)
  await select('Select all accounts on this page')
  await expectAccessible(admin)
  await admin.getByRole('button', { name: 'Suspend' }).click()
  await confirm(admin, 'Suspend', 'fraud wave')
  await expect(admin.getByRole('dialog')).toContainText('2 accounts changed')
  await admin.getByRole('dialog').getByText('Close', { exact: true }).click()
  await expect(states).toHaveText(['Suspended', 'Suspended'])
  // The selection outlasts another search.
  await select(`Select ${first.name}`)
  await searchAccounts(admin, `${name} Sul`)
  await expect(states).toHaveCount(1)
  await select(/^Select Rede/)
  await admin.getByRole('button', { name: 'Activate' }).click()
  await confirm(admin, 'Activate', 'cleared')
  await expect(admin.getByRole('dialog')).toContainText('2 accounts changed')
  await admin.getByRole('dialog').getByText('Close', { exact: true }).click()
  await expect(states).toHaveText(['Active'])

  await admin.goto(`/admin/accounts/${first.id}`)
  await admin.getByRole('link', { name: 'Withdrawals' }).click()
  await expect(admin.getByRole('heading', { level: 1 })).toHaveText('Withdrawals')
  await expect(listRows(admin)).toContainText('***.982.247-**')
  expect(await admin.content()).not.toContain(CANARY.document)
  await admin.getByRole('link', { name: 'Charges' }).click()
  await expect(admin.getByRole('heading', { level: 1 })).toHaveText('Charges')
  await expect(listRows(admin)).toHaveCount(1)
  await expectAccessible(admin)
  await admin.getByRole('button', { name: 'Live' }).click()
  await expect(admin.getByText('No charges in live mode yet.')).toBeVisible()
  await admin.goto(`/admin/accounts/${first.id}/withdrawals?q=${withdrawal}`)
  await listRows(admin).getByRole('link').click()
  await expect(admin).toHaveURL(new RegExp(`charge=${withdrawal}#payment$`))

  const { user } = await db().membership.findFirstOrThrow({
    where: { accountId: first.id },
    include: { user: true },
  })
  await admin.goto(`/admin/people?q=${user.email}`)
  await admin.getByRole('link', { name: user.name }).click()
  await expect(admin.getByRole('link', { name: first.name })).toBeVisible()
  await expectAccessible(admin)
  await admin.getByRole('button', { name: 'Send password link' }).click()
  await confirm(admin, 'Send password link', 'locked out')
  await expect(admin.getByText(`Link sent to ${user.email}.`)).toBeVisible()
  await expect(admin.getByRole('list', { name: 'Audit log' })).toContainText('locked out')
  await admin.context().close()
})

test('an admin views the dashboard as the merchant, read-only and masked, and the owner sees why', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context, `Vista ${Date.now()} 39053344705 ${'Paranaense'.repeat(6)}`)
  const withdrawal = await requestPayout(shop)
  const admin = await openAdmin(page)
  await admin.goto(`/admin/accounts/${shop.id}`)
  await admin.getByRole('button', { name: 'View as merchant' }).click()
  await confirm(admin, 'View as merchant', 'asked by phone')
  await expect(admin).toHaveURL('/test/home')
  const banner = admin.getByRole('region', { name: 'View as merchant' })
  await expect(banner).toContainText(
    /You are viewing Vista \d+ \*{3}\.533\.447-\*\* (Paranaense){6}, read-only, until/,
  )
  await expectAccessible(admin)
  const size = admin.viewportSize() ?? PHONE
  await admin.setViewportSize({ width: 360, height: 740 })
  expect(await findUnreadable(admin)).toEqual([])
  await admin.setViewportSize(size)
  const charge = await createMarkedCharge(page, shop)
  const endpoint = newId()
  const url = `https://a.example/${CANARY.document}`
  const owned = { accountId: shop.id, id: endpoint, mode: 'test', host: 'a.example' }
  await db().webhookEndpoint.create({ data: { ...owned, url, eventTypes: ['transaction.paid'] } })
  const { id: delivery } = await db().delivery.findFirstOrThrow({ where: { accountId: shop.id } })
  const headers = { authorization: `Bearer ${shop.token}` }
  await page.request.get('/api/account', { headers })
  const requestOf = () => db().requestLog.findFirst({ where: { accountId: shop.id } })
  await expect.poll(requestOf).not.toBeNull()
  const ids = {
    requests: (await requestOf())?.id,
    charges: charge,
    withdrawals: withdrawal,
    endpoints: endpoint,
    deliveries: delivery,
  }
  for (const [pattern, audience] of Object.entries(PAGES)) {
    if (!pattern.startsWith('/[mode]/')) continue
    const isShown = audience === 'member' || audience === 'person'
    const path = pattern
      .replace('[mode]', 'test')
      .replace(/(\w+)\/\[id\]/, (_, kind: keyof typeof ids) => `${kind}/${ids[kind]}`)
    const response = await admin.request.get(path)
    const html = await response.text()
    if (!isShown) expect(html, path).toContain('404')
    else expect([response.status(), html.includes('You are viewing')], path).toEqual([200, true])
    for (const secret of [CANARY.document, CANARY.formattedDocument, 'whsec_', shop.token])
      expect(html, path).not.toContain(secret)
  }
  for (const query of [`q=${CANARY.document.slice(0, 5)}`, `q=cli-${CANARY.document}`])
    for (const list of ['charges', 'withdrawals'])
      expect(await (await admin.request.get(`/test/${list}?${query}`)).text()).not.toContain(
        list === 'charges' ? charge : withdrawal,
      )
  const guess = await admin.request.get(`/test/charges/cli-${CANARY.document}`)
  expect(await guess.text()).toContain('404')
  await admin.goto(`/test/withdrawals/${withdrawal}`)
  await expect(admin.getByText('***.982.247-**').first()).toBeVisible()
  await expect(admin.getByRole('link', { name: /^(New charge|Request withdrawal)/ })).toHaveCount(0)

  await banner.getByRole('button', { name: 'End viewing' }).click()
  await expect(admin).toHaveURL(`/admin/accounts/${shop.id}`)
  await expect(banner).toHaveCount(0)
  await page.goto('/test/settings/audit')
  const record = page.getByRole('button', {
    name: 'Viewing by an administrator started',
  })
  await record.filter({ visible: true }).click()
  await expect(page.getByRole('dialog')).toContainText('asked by phone')
  await admin.context().close()
})
