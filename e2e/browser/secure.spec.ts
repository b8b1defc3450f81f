import { readFileSync } from 'node:fs'
import type { Page } from 'playwright/test'
import { expect, expectAccessible, fillSignIn, readSetting, test } from '#e2e/browser/app.ts'
import { startBehindTls, type TlsServer } from '#e2e/browser/behind-tls.ts'
import { createSession, createShop, findShopAccount } from '#e2e/browser/merchant.ts'
import { openPrintedLink } from '#e2e/browser/person.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'
import { OPENID_CLIENT, openOpenidProvider } from '#lib/testing/openid-provider.ts'
import { generateTotp } from '#lib/testing/totp.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { createEndpoint } from '#lib/webhooks/endpoints.ts'

const PASSWORD = 'sete gatos no telhado'

test.use({ ignoreHTTPSErrors: true, locale: 'en-US', viewport: { width: 1280, height: 860 } })

let tlsServer: TlsServer
let shop: Awaited<ReturnType<typeof createShop>>
let provider: Awaited<ReturnType<typeof openOpenidProvider>>
test.beforeAll(async () => {
  shop = await createShop('Loja segura')
  provider = await openOpenidProvider()
  tlsServer = await startBehindTls({
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: OPENID_CLIENT.id,
    OIDC_CLIENT_SECRET: OPENID_CLIENT.secret,
    OIDC_NAME: 'Acme',
    SIGNUPS: 'open',
    // Nothing listens: the worker of the application under test logs the mails.
    SMTP_URL: 'smtp://127.0.0.1:9',
  })
})
test.afterAll(() => Promise.all([tlsServer.close(), provider.close()]))

async function setOwnerPassword() {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
  const passwordHash = await hashPassword(PASSWORD)
  return db().user.update({ where: { id: userId }, data: { passwordHash } })
}

async function signInByForm(page: Page) {
  const owner = await setOwnerPassword()
  await page.goto(`${tlsServer.url}/login`)
  await fillSignIn(page, owner.email, PASSWORD, { isOnLogin: true })
  await page.waitForURL(`${tlsServer.url}/test/home`)
  return owner
}

/** Opens a page of the test mode in a session whose proof of identity is too old. */
async function openWithoutProof(page: Page, userId: string, path: string) {
  await db().$executeRaw`
    UPDATE user_sessions SET proved_at = now() - interval '6 minutes'
    WHERE user_id = ${userId}::uuid`
  await page.goto(`${tlsServer.url}/test/${path}`)
}

async function confirmIdentity(page: Page) {
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' })
  await dialog.getByLabel('Password').fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await expect(dialog).toBeHidden()
}

test.describe('over HTTPS', () => {
  test.use({ expectedStatuses: [403, 422] })

  test('creating a token requires a new proof of identity', async ({ page, context }) => {
    const owner = await setOwnerPassword()
    const first = await page.goto(`${tlsServer.url}/login`)
    expect(first?.headers()['strict-transport-security']).toMatch(/^max-age=\d{8}/)
    await fillSignIn(page, owner.email, PASSWORD, { isOnLogin: true })
    await page.waitForURL(`${tlsServer.url}/test/home`)
    const cookie = (await context.cookies()).find(({ name }) => name.endsWith('troco-session'))
    expect(cookie).toMatchObject({
      name: '__Host-troco-session',
      path: '/',
      domain: 'localhost',
      secure: true,
      httpOnly: true,
      sameSite: 'Lax',
    })
    await openWithoutProof(page, owner.id, 'settings/tokens/new')
    await page.getByLabel('Name').fill('Loja virtual')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' })
    await dialog.getByLabel('Password').fill('not this one')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect(dialog.getByText('Wrong password.')).toBeVisible()
    expect(await db().token.count({ where: { accountId: shop.id } })).toBe(1)
    await confirmIdentity(page)
    await expect(page.getByTestId('token-value')).toContainText('troco_test_')
    expect(await db().token.count({ where: { accountId: shop.id } })).toBe(2)
  })

  test('an export requires a new proof of identity, and then saves the file', {
    tag: '@torture',
  }, async ({ page }) => {
    const owner = await signInByForm(page)
    await openWithoutProof(page, owner.id, 'charges')
    const exportButton = page.getByRole('button', { name: 'Export CSV' })
    await exportButton.click()
    await expect(page.getByLabel('Password')).toBeFocused()
    await page.keyboard.press('Escape')
    await expect(page.getByText('you didn’t confirm it’s you')).toBeVisible()
    await exportButton.click()
    const [download] = await Promise.all([page.waitForEvent('download'), confirmIdentity(page)])
    expect(readFileSync(await download.path(), 'utf8').split('\r\n')).toHaveLength(3)
  })

  test('refunding, renaming the account and moving an endpoint require a new proof of identity', {
    tag: '@torture',
  }, async ({ page }) => {
    const owner = await signInByForm(page)
    const charge = await db().charge.findFirstOrThrow({ where: { accountId: shop.id } })
    await openWithoutProof(page, owner.id, `charges/${charge.id}`)
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    const refundDialog = page.getByRole('dialog', { name: 'Refund the payer' })
    await refundDialog.getByLabel('Amount').fill('5')
    await refundDialog.getByRole('button', { name: 'Refund R$ 5.00' }).click()
    await confirmIdentity(page)
    await expect(refundDialog).toBeHidden()
    const where = { accountId: shop.id, amount: 500 }
    await expect.poll(() => db().refund.count({ where })).toBe(1)

    await openWithoutProof(page, owner.id, 'settings')
    await page.getByLabel('Business name').fill('Loja renomeada')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await confirmIdentity(page)
    await expect(page.getByText('Saved.')).toBeVisible()

    const owned = { accountId: shop.id, mode: 'test' as const, note: async () => {} }
    const url = 'https://example.com/hook'
    const id = await createEndpoint(owned, { url, event_types: ['transaction.paid'] })
    await openWithoutProof(page, owner.id, `webhooks/endpoints/${id}`)
    await page.getByLabel('Address').fill('https://example.com/moved')
    await page.getByRole('button', { name: 'Save' }).click()
    await confirmIdentity(page)
    await expect(page.getByText('Saved', { exact: true })).toBeVisible()
    expect(await db().webhookEndpoint.findFirstOrThrow({ where: { id } })).toMatchObject({
      url: 'https://example.com/moved',
    })
  })

  test('staff must set up a second factor before they see the admin pages', {
    tag: '@torture',
  }, async ({ page }) => {
    const owner = await setOwnerPassword()
    await db().user.update({ where: { id: owner.id }, data: { isAdmin: true } })
    await page.goto(`${tlsServer.url}/login`)
    await fillSignIn(page, owner.email, PASSWORD, { isOnLogin: true })
    await page.waitForURL(`${tlsServer.url}/test/home`)
    await page.goto(`${tlsServer.url}/admin/accounts`)
    await expect(page).toHaveURL(`${tlsServer.url}/test/settings/security`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Set up' }).click()
    const secret = (await page.getByTestId('app-secret').textContent()) ?? ''
    await page.getByLabel('Authenticator code').fill(generateTotp(secret))
    await page.getByRole('button', { name: 'Turn on' }).click()
    await expect(page.getByTestId('recovery-codes').getByRole('listitem')).toHaveCount(10)
    await page.goto(`${tlsServer.url}/admin/accounts`)
    await expect(page.getByRole('heading', { name: 'Accounts' })).toBeVisible()
    await db().user.update({ where: { id: owner.id }, data: { isAdmin: false } })
  })
})

test.describe('the company’s OpenID provider', () => {
  // The first request to connect it asks for a proof of identity.
  test.use({ expectedStatuses: [403] })

  test('is connected by a user, who then signs in with one click', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
    const { email } = await db().user.findUniqueOrThrow({ where: { id: userId } })
    await db().authenticator.deleteMany({ where: { userId } })
    provider.signIn({ sub: userId, email, email_verified: true })
    await page.goto(`${tlsServer.url}/login?next=/test/statement`)
    await page.getByRole('button', { name: 'Acme' }).click()
    await expect(page.getByText('This e-mail already has a login here.')).toBeVisible()
    await expectAccessible(page)
    await signInByForm(page)
    await openWithoutProof(page, userId, 'settings/security')
    await page.getByRole('button', { name: 'Connect Acme' }).click()
    await confirmIdentity(page)
    await expect(page.getByText('Acme is connected.')).toBeVisible()
    await expectAccessible(page)
    await context.clearCookies()
    await page.goto(`${tlsServer.url}/login?next=/test/statement`)
    await page.getByRole('button', { name: 'Acme' }).click()
    await page.waitForURL(`${tlsServer.url}/test/statement`)
    await expect(page.getByRole('heading', { name: 'Statement' })).toBeVisible()
  })

  test('proves an identity only after it asked for credentials', { tag: '@torture' }, async ({
    page,
  }) => {
    const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
    await db().authenticator.deleteMany({ where: { userId } })
    const oidcSubject = `${provider.issuer}|${userId}`
    await db().user.update({ where: { id: userId }, data: { oidcSubject, passwordHash: null } })
    provider.signIn({ sub: userId }, new Date(Date.now() - 3_600_000))
    await page.goto(`${tlsServer.url}/login?next=/test/settings/tokens/new`)
    await page.getByRole('button', { name: 'Acme' }).click()
    await page.getByLabel('Name').fill('Loja virtual')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' })
    await dialog.getByRole('button', { name: 'Sign in again' }).click()
    await page.getByRole('button', { name: 'Acme' }).click()
    await page.getByLabel('Name').fill('Loja virtual')
    await page.getByRole('button', { name: 'Create token' }).click()
    await expect(page.getByTestId('token-value')).toContainText('troco_test_')
  })
})

test('a new account waits until an admin activates it, and then the API works', {
  tag: '@torture',
}, async ({ page, browser }) => {
  const [email, name] = [`shop-${newId()}@troco.example`, `Nova ${Date.now()}`]
  await page.goto(`${tlsServer.url}/signup`)
  await page.getByLabel('Business name').fill(name)
  await page.getByLabel('Your name').fill('Ann Baker')
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByText(`We sent a message to ${email}.`)).toBeVisible()
  await openPrintedLink(page, email, 1, tlsServer.url)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL(`${tlsServer.url}/test/home`)
  const activationNotice = page.getByText('This account is waiting for approval')
  await expect(activationNotice).toBeVisible()
  await expect(page.getByRole('link', { name: 'New charge' })).toHaveCount(0)
  const { id: accountId } = await findShopAccount(email)
  const tokenOptions = { accountId, mode: 'test', name: 'Early' } as const
  const permissions: ['account:read'] = ['account:read']
  const { token } = await issueToken({ ...tokenOptions, permissions }, { type: 'system' })
  const authorization = `Bearer ${token}`
  const callApi = () =>
    page.request.get(`${tlsServer.url}/api/account`, { headers: { authorization } })
  expect(await (await callApi()).json()).toEqual({ error: 'Account not active' })

  const adminContext = await browser.newContext({ locale: 'en-US', viewport: page.viewportSize() })
  const value = await createSession({ isAdmin: true })
  await adminContext.addCookies([{ name: 'troco-session', value, url: readSetting('BASE_URL') }])
  const admin = await adminContext.newPage()
  await admin.goto(`${readSetting('BASE_URL')}/admin/accounts`)
  await admin.getByRole('button', { name: /waiting for approval$/ }).click()
  await admin.getByRole('link', { name }).click()
  await admin.getByRole('button', { name: 'Activate', exact: true }).click()
  const dialog = admin.getByRole('dialog')
  await dialog.getByLabel('Reason').fill('known merchant')
  await dialog.getByRole('button', { name: 'Activate' }).click()
  await expect(admin.getByTestId('account-status')).toHaveText('Active')
  await adminContext.close()

  expect(await (await callApi()).json()).toEqual({ name, balance: 100_000 })
  await page.reload()
  await expect(activationNotice).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'New charge' }).first()).toBeVisible()
})
