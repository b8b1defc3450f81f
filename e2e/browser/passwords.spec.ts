import type { BrowserContext } from 'playwright/test'
import { expect, expectAccessible, fillSignIn, readSetting, test } from '#e2e/browser/app.ts'
import { openAccountMenu, PHONE } from '#e2e/browser/layout.ts'
import { createShop, signInAs } from '#e2e/browser/merchant.ts'
import { db } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'
import { findPrintedLink } from '#lib/testing/mailbox.ts'

test.use({ locale: 'pt-BR' })

const OLD_PASSWORD = 'girassol verde 88'
const NEW_PASSWORD = 'tulipa azul no cais 7'

/** Creates an owner with a password; signs the owner in if `context` is set. */
async function makeOwner(context?: BrowserContext): Promise<string> {
  const { id: accountId } = await createShop('Loja das Senhas')
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId } })
  const passwordHash = await hashPassword(OLD_PASSWORD)
  const { email } = await db().user.update({ where: { id: userId }, data: { passwordHash } })
  if (context) await signInAs(context, email)
  return email
}

test.describe('with refusals', () => {
  test.use({ expectedStatuses: [422] })

  test('changing the password ends the session in the other browser, but not in this one', {
    tag: '@torture',
  }, async ({ page, context, browser }) => {
    const email = await makeOwner(context)
    const otherContext = await browser.newContext({
      baseURL: readSetting('BASE_URL'),
      locale: 'pt-BR',
    })
    await signInAs(otherContext, email)
    const otherPage = await otherContext.newPage()
    await otherPage.goto('/test/home')
    await expect(otherPage.getByRole('navigation').first()).toBeVisible()
    // A page that is open goes to the sign-in page by itself, at a time of its own.
    await otherPage.goto('about:blank')
    await page.goto('/test/settings/security')
    await expectAccessible(page)
    await expect(page.getByTestId('device-row')).toHaveCount(2)
    const current = page.getByLabel('Senha atual')
    const newPassword = page.getByLabel('Nova senha')
    const change = page.getByRole('button', { name: 'Trocar a senha' })
    await current.fill(OLD_PASSWORD)
    await newPassword.fill('curta')
    await expect(page.getByText('Faltam 7 caracteres.')).toBeVisible()
    await newPassword.fill('password1234')
    await change.click()
    const easy = page.getByText('Senha fácil de adivinhar.')
    await expect(easy).toBeVisible()
    await current.fill('não é esta')
    await expect(easy).toBeVisible()
    await newPassword.fill(NEW_PASSWORD)
    await expect(easy).toBeHidden()
    await change.click()
    await expect(page.getByText('Senha atual incorreta.')).toBeVisible()
    await current.fill(OLD_PASSWORD)
    await change.click()
    await expect(page.getByText('Senha trocada.')).toBeVisible()
    await expect(newPassword).toHaveValue('')
    await expect(page.getByTestId('device-row')).toHaveCount(1)
    await otherPage.goto('/test/home')
    await otherPage.waitForURL('**/login?*')
    await otherContext.close()
    await page.reload()
    await expect(page.getByRole('heading', { name: 'Segurança' })).toBeVisible()
  })
})

test('a forgotten password is reset by a mailed link, which works once', async ({ page }) => {
  const email = await makeOwner()
  await page.goto('/login')
  await page.getByRole('link', { name: 'Esqueceu a senha?' }).click()
  await expect(page.getByRole('heading', { name: 'Esqueceu a senha?' })).toBeVisible()
  await expectAccessible(page)
  await page.getByLabel('E-mail').fill(email)
  await page.getByRole('button', { name: 'Enviar o link' }).click()
  await expect(page.getByText('enviamos um link para lá')).toBeVisible()
  let link = ''
  await expect(() => {
    link = findPrintedLink(email, readSetting('LOG'))
  }).toPass()
  await page.goto(link)
  await expect(page.getByText(`Para ${email}.`)).toBeVisible()
  await expectAccessible(page)
  await page.getByLabel('Nova senha').fill(NEW_PASSWORD)
  await page.getByRole('button', { name: 'Salvar a senha' }).click()
  await expect(page.getByText('Sua senha foi trocada.')).toBeVisible()
  await page.goto(link)
  await expect(page.getByText('Este link já foi usado')).toBeVisible()
  await page.getByRole('link', { name: 'Pedir outro link' }).click()
  await page.getByRole('link', { name: 'Voltar para o login' }).click()
  await expect(page.getByRole('heading', { name: 'Entre na sua conta' })).toBeVisible()
  await fillSignIn(page, email, NEW_PASSWORD, { isOnLogin: true })
  await page.waitForURL('**/test/home')
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: PHONE })

  test('a device is signed out from another device', { tag: '@torture' }, async ({
    page,
    context,
    browser,
  }) => {
    const email = await makeOwner(context)
    const userAgent = 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36'
    const lostContext = await browser.newContext({ baseURL: readSetting('BASE_URL'), userAgent })
    const lostPage = await lostContext.newPage()
    await fillSignIn(lostPage, email, OLD_PASSWORD)
    await lostPage.waitForURL('**/test/home')
    await page.goto('/test/home')
    await (await openAccountMenu(page)).getByRole('link', { name: 'Security' }).click()
    await expect(page.getByRole('heading', { name: 'Devices' })).toBeVisible()
    await expectAccessible(page)
    const row = page.getByTestId('device-row').filter({ hasText: 'Chrome · Windows' })
    await row.getByRole('button', { name: 'Sign out' }).click()
    await expect(row).toHaveCount(0)
    await expect(page.getByText('1 session ended.')).toBeVisible()
    const laterPage = await lostContext.newPage()
    await laterPage.goto('/test/home')
    await laterPage.waitForURL('**/login?*')
    await lostContext.close()
  })
})
