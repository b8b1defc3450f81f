import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright/test'
import { credentialsAt, openAt, settingsAt } from '#e2e/banks/open.ts'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { startBehindTls, type TlsServer } from '#e2e/browser/behind-tls.ts'
import { expectFits, PHONE } from '#e2e/browser/layout.ts'
import { connectToApplication, createSession, createShop } from '#e2e/browser/merchant.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'

test.use({ ignoreHTTPSErrors: true, locale: 'en-US', viewport: { width: 1280, height: 860 } })

const SCOPES = ['cob.read', 'cob.write', 'pix.read', 'webhook.read', 'webhook.write']

let server: TlsServer
let bank: RunningBank
let session: string
test.beforeAll(async () => {
  await connectToApplication()
  // Banks send notices to https addresses only, and the test bank has a private one.
  server = await startBehindTls({
    SMTP_URL: 'smtp://127.0.0.1:9',
    BANK_ALLOW_CIDRS: '127.0.0.0/8',
  })
})
test.afterAll(() => server.close())

test.beforeEach(async ({ context }) => {
  bank = await startBank()
  session = await createSession({ isAdmin: true })
  const where = { secretHash: hashSecret(session) }
  const { userId } = await db().userSession.findUniqueOrThrow({ where })
  const data = { userId, sealed: new Uint8Array(), confirmedAt: new Date() }
  await db().authenticator.create({ data })
  const cookie = { secure: true, httpOnly: true, sameSite: 'Lax' } as const
  await context.addCookies([
    { name: '__Host-troco-session', value: session, url: server.url, ...cookie },
  ])
})

/** The bank ends, so that its connections must not be served, or other tests would see them fail. */
test.afterEach(async () => {
  const data = { environment: 'homologation', isAssignable: false, disabledAt: new Date() }
  const receivingKeys = { hasSome: bank.keys }
  await db().connection.updateMany({ where: { receivingKeys }, data })
  await bank.stop()
})

/** Opens the page of a connection without an account. */
async function openBank(page: Page, changes: Partial<NewConnection> = {}) {
  const name = `Banco ${newId()}`
  const opened = await openAt(bank, { name, environment: 'homologation', ...changes })
  await page.goto(`${server.url}/admin/banks/${opened.id}`)
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
  return { name, ...opened }
}

const check = (page: Page) => page.getByRole('button', { name: /^Check (now|again)$/ }).click()
const state = (page: Page) => page.getByTestId('bank-state').first()

test('an admin adds a bank, checks it, registers its notices, assigns it and closes it', async ({
  page,
}) => {
  const shop = await createShop(`Loja do banco ${newId()}`)
  await page.goto(`${server.url}/admin/accounts/${shop.id}`)
  await expect(page.getByText('No production bank connection')).toBeVisible()
  await page.getByRole('link', { name: 'Go to banks' }).click()
  await page.getByRole('link', { name: 'Add a bank' }).click()
  const name = `Banco ${newId()}`
  await page.getByRole('button', { name: 'Add bank' }).click()
  await expect(page.getByText('Enter a name (up to 60 characters, unique).')).toBeVisible()
  await expect(page.getByText('Choose a P12 file that can be read')).toBeVisible()
  await page.getByLabel('Receiving keys').fill('no key')
  await page.getByLabel('Receiving keys').blur()
  // Before the password, which only sending asks for.
  await expect(page.getByText('Enter Pix keys, one per line')).toBeVisible()
  await expectAccessible(page)
  await expectFits(page, PHONE)
  await fillBank(page, name)
  await page.getByRole('button', { name: 'Add bank' }).click()
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
  await expect(state(page)).toHaveText('Not checked')
  expect(await page.content()).not.toContain(bank.clientSecret)

  await check(page)
  await expect(page.getByText('The check passed')).toBeVisible({ timeout: 30_000 })
  await expect(state(page)).toHaveText('Working')
  await expect(page.getByTestId('finding-notices_missing')).toContainText('Register the address')
  await page.getByRole('button', { name: 'Register the address' }).click()
  await expect(page.getByText(/: registered$/)).toBeVisible()
  await check(page)
  await expect(page.getByTestId('finding-notices_ours')).toBeVisible({ timeout: 30_000 })
  await expectAccessible(page)
  await expectFits(page, PHONE)

  const bankUrl = page.url()
  await page.goto(`${server.url}/admin/accounts/${shop.id}`)
  await page.getByLabel('Receives through').selectOption({ label: name })
  await page.getByRole('button', { name: 'Save' }).first().click()
  await expect(page.getByText('Saved.')).toBeVisible()
  await page.goto(bankUrl)
  await expect(page.getByRole('link', { name: shop.name })).toBeVisible()

  await page.getByLabel('Per withdrawal').fill('1,000')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Saved.')).toBeVisible()

  await page.getByRole('button', { name: 'Close connection' }).click()
  const dialog = page.getByRole('dialog', { name: `Close ${name}?` })
  await expect(dialog.getByText('1 account can no longer use it')).toBeVisible()
  await dialog.getByRole('button', { name: 'Close connection' }).click()
  await expect(dialog.getByText('Use 3 to 200 characters')).toBeVisible()
  await dialog.getByLabel('Reason').fill('The contract ended')
  await dialog.getByRole('button', { name: 'Close connection' }).click()
  await expect(state(page)).toHaveText('Closed')
  await expect(page.getByText('Nothing is open there.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Check now' })).toHaveCount(0)
  await page.goto(`${server.url}/admin/banks`)
  await expect(page.getByRole('link', { name })).toBeVisible()
  await expectAccessible(page)
  await expectFits(page, PHONE)
})

async function fillBank(page: Page, name: string) {
  const { api_url, token_url, trusted_certificates } = settingsAt(bank)
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Bank', { exact: true }).selectOption('api_pix')
  await page.getByLabel('Receiving keys').fill(bank.keys.join('\n'))
  await page.getByLabel('Client ID').fill(bank.clientId)
  await page.getByLabel('Client secret').fill(bank.clientSecret)
  await page.getByLabel('Certificate format').selectOption('pem')
  const { cert, key } = bank.certificates.client
  await page.locator('#certificate-file').setInputFiles(cert)
  await page.locator('#private_key-file').setInputFiles(key)
  await page.getByLabel('API address').fill(api_url)
  await page.getByLabel('Token address').fill(token_url)
  const authority = join(bank.folder, 'authority.pem')
  writeFileSync(authority, trusted_certificates)
  await page.locator('#trusted_certificates-file').setInputFiles(authority)
}

test('an expired certificate is named with what to do, and new credentials solve it', {
  tag: '@torture',
}, async ({ page }) => {
  const expired = credentialsAt(bank, 'pem', bank.certificates.expiredClient)
  const { name } = await openBank(page, { credentials: JSON.stringify(expired) })
  await expect(page.getByText(`The certificate of ${name} has expired`)).toBeVisible()
  await check(page)
  await expect(page.getByText('The check failed')).toBeVisible({ timeout: 30_000 })
  const finding = page.getByTestId('finding-certificate_expired')
  await expect(finding).toContainText('Get a new certificate from the bank')
  await expect(state(page)).toHaveText('Check failed')
  await expectAccessible(page)

  await page.getByRole('button', { name: 'Renew credentials' }).click()
  await page.getByLabel('Client ID').fill(bank.clientId)
  await page.getByLabel('Client secret').fill('wrong')
  await page.locator('#p12-file').setInputFiles(bank.certificates.p12.plain)
  await page.getByRole('button', { name: 'Check and replace' }).click()
  await expect(page.getByText('The old credentials are still in use')).toBeVisible({
    timeout: 30_000,
  })
  await expect(page.getByTestId('finding-token_refused')).toBeVisible()
  await expectFits(page, PHONE)
  await page.getByLabel('Client secret').fill(bank.clientSecret)
  await page.getByRole('button', { name: 'Check and replace' }).click()
  await expect(page.getByText('The new credentials are in use.')).toBeVisible({ timeout: 30_000 })
  await expect(state(page)).toHaveText('Working')
})

test('a missing scope is named with what to do', { tag: '@torture' }, async ({ page }) => {
  await openBank(page)
  await bank.run('change', { scopes: SCOPES })
  await check(page)
  const finding = page.getByTestId('finding-scope_missing')
  await expect(finding).toContainText('pix.write', { timeout: 30_000 })
  await expect(finding).toContainText('Add it to the application')
  await expect(state(page)).toHaveText('Check failed')
})

test('a foreign address for notices is replaced only after a confirmation that names it', {
  tag: '@torture',
}, async ({ page }) => {
  const { id } = await openBank(page)
  const gateway = await gatewayOfConnection(id)
  const address = 'https://other.example/hook/canary'
  await gateway.registerWebhook?.(address, AbortSignal.timeout(10_000))
  const readUrls = async () => (await bank.run('readRecords')).webhooks.map(({ url }) => url)
  await check(page)
  const finding = page.getByTestId('finding-notices_foreign')
  await expect(finding).toContainText('other.example', { timeout: 30_000 })
  await page.getByRole('button', { name: 'Register the address' }).click()
  await expect(page.getByText(/still goes to other\.example$/)).toBeVisible()
  expect(await readUrls()).toEqual([address])
  expect(await page.content()).not.toContain('canary')
  await page.getByRole('button', { name: 'Replace the address' }).click()
  const dialog = page.getByRole('dialog', { name: 'Replace the address of another system?' })
  await expect(dialog).toContainText('other.example')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Replace the address' }).click()
  await expect(page.getByText(/: registered$/)).toBeVisible()
  expect(await readUrls()).toEqual([expect.stringContaining(`/api/banks/${id}/notices/`)])
})

test.describe('without a fresh proof of identity', () => {
  test.use({ expectedStatuses: [403] })

  test('a check asks who it is, and nothing is sent to the bank', async ({ page }) => {
    const { id } = await openBank(page)
    await db().userSession.update({
      where: { secretHash: hashSecret(session) },
      data: { provedAt: new Date(Date.now() - 3_600_000) },
    })
    await check(page)
    await expect(page.getByRole('dialog', { name: 'Confirm it’s you' })).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(page.getByText('you didn’t confirm it’s you')).toBeVisible()
    const { checkedAt } = await db().connection.findUniqueOrThrow({ where: { id } })
    expect(checkedAt).toBeNull()
  })
})
