import type { Page } from 'playwright/test'
import { expect, expectAccessible, fillSignIn, readSetting, test } from '#e2e/browser/app.ts'
import { signOut } from '#e2e/browser/merchant.ts'
import { openPerson } from '#e2e/browser/person.ts'
import { db } from '#lib/db/client.ts'
import { beginAuthenticator, confirmAuthenticator } from '#lib/people/factors.ts'
import { openSessionId } from '#lib/testing/member.ts'
import { generateTotp } from '#lib/testing/totp.ts'

const SECURITY_PATH = '/test/settings/security'
const FORGED_SECRET = 'A'.repeat(43)

/** Adds a virtual authenticator that confirms everything. */
async function addVirtualAuthenticator(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page)
  await client.send('WebAuthn.enable')
  const options = { protocol: 'ctap2', transport: 'internal', isUserVerified: true } as const
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...options,
      hasResidentKey: true,
      hasUserVerification: true,
      automaticPresenceSimulation: true,
    },
  })
}

/** Finds alerts with text: Next has an empty alert of its own. */
function errorAlert(page: Page) {
  return page.getByRole('alert').filter({ hasText: /./ })
}

/** Ends the delays after wrong codes. */
const endDelays = () => db().$executeRaw`
  UPDATE sign_in_attempts SET ends_at = ends_at - interval '15 minutes'
  WHERE scope IN ('factor', 'challenge')`

test.describe('on a desktop, in Portuguese', () => {
  test.use({
    locale: 'pt-BR',
    viewport: { width: 1280, height: 860 },
    expectedStatuses: [401, 422],
  })

  test('with an authenticator app the password alone does not sign in', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const { id, email, password } = await openPerson(context)
    await page.goto(SECURITY_PATH)
    await page.getByRole('button', { name: 'Configurar' }).click()
    const secret = (await page.getByTestId('app-secret').textContent()) ?? ''
    await expectAccessible(page)
    await page.getByLabel('Código do aplicativo').fill('000000')
    await page.getByRole('button', { name: 'Ativar' }).click()
    await expect(page.getByText('Código incorreto.')).toBeVisible()
    await page.getByLabel('Código do aplicativo').fill(generateTotp(secret))
    await page.getByRole('button', { name: 'Ativar' }).click()
    await expect(page.getByTestId('recovery-codes').getByRole('listitem')).toHaveCount(10)
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog').getByRole('alert')).toBeVisible()
    await expect(page.getByTestId('recovery-codes').getByRole('listitem')).toHaveCount(10)
    await page.getByRole('button', { name: 'Já salvei' }).click()
    await expect(page.getByText('Restam 10 códigos.')).toBeVisible()
    await expectAccessible(page)

    await signOut(context)
    const cookie = { name: 'troco-session', value: FORGED_SECRET, url: readSetting('BASE_URL') }
    await context.addCookies([cookie])
    await fillSignIn(page, email, password)
    await expect(page.getByRole('heading', { name: 'Confirme que é você' })).toBeVisible()
    await expectAccessible(page)
    await page.goto('/test/home')
    await expect(page).toHaveURL(/\/login\?next=/)
    await fillSignIn(page, email, password, { isOnLogin: true })
    await page.getByLabel('Código').fill(generateTotp(secret, 9))
    await page.getByRole('button', { name: 'Confirmar' }).click()
    await expect(errorAlert(page)).toContainText('Código incorreto')
    await page.getByLabel('Código').fill(generateTotp(secret, 1))
    await page.getByRole('button', { name: 'Confirmar' }).click()
    await page.waitForURL('/test/home')
    const sessionCookie = (await context.cookies()).find(({ name }) => name === 'troco-session')
    expect(sessionCookie?.value).toMatch(/^[\w-]{43}$/)
    expect(sessionCookie?.value).not.toBe(FORGED_SECRET)
    const where = { actorId: id, action: 'user.signed_in' }
    const signedIn = await db().auditRecord.findMany({ where })
    expect(signedIn).toMatchObject([{ after: { by: 'code' }, ip: expect.any(String) }])
  })

  test('a passkey signs in alone or after the password, and no longer after its removal', async ({
    page,
    context,
  }) => {
    const { email, password } = await openPerson(context)
    await addVirtualAuthenticator(page)
    await page.goto(SECURITY_PATH)
    await page.getByRole('button', { name: 'Adicionar' }).click()
    await page.getByLabel('Nome', { exact: true }).fill('Notebook da loja')
    await page.getByRole('button', { name: 'Criar chave de acesso' }).click()
    await expect(page.getByTestId('recovery-codes')).toBeVisible()
    await page.getByRole('button', { name: 'Já salvei' }).click()
    await expect(page.getByText('ainda sem uso')).toBeVisible()

    await signOut(context)
    await page.goto('/login')
    await page.getByRole('button', { name: 'Entrar com chave de acesso' }).click()
    await page.waitForURL('/test/home')

    await signOut(context)
    await fillSignIn(page, email, password)
    await page.getByRole('button', { name: 'Usar a chave de acesso' }).click()
    await page.waitForURL('/test/home')

    await page.goto(SECURITY_PATH)
    const keys = page.getByRole('list', { name: 'Chaves de acesso' })
    await expect(keys).toContainText('Último uso')
    await page.getByRole('button', { name: 'Remover Notebook da loja' }).click()
    await page.getByRole('button', { name: 'Remover', exact: true }).click()
    await expect(page.getByText('Notebook da loja')).toHaveCount(0)
    await signOut(context)
    await page.goto('/login')
    await page.getByRole('button', { name: 'Entrar com chave de acesso' }).click()
    await expect(errorAlert(page)).toContainText('Não reconhecemos')
    await fillSignIn(page, email, password, { isOnLogin: true })
    await page.waitForURL('/test/home')
  })
})

test.describe('on a phone, in English', () => {
  test.use({
    locale: 'en-US',
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    expectedStatuses: [401],
  })

  test('a recovery code signs in once, and new codes require a second factor', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const { id, email, password } = await openPerson(context)
    const owner = { id, email, name: email, locale: 'en', sessionId: await openSessionId(id) }
    const { secret } = await beginAuthenticator(owner)
    const [firstCode = ''] = (await confirmAuthenticator(owner, generateTotp(secret))) ?? []
    // Stores that only an old code was used, so that the current code is unused.
    await db().authenticator.update({ where: { userId: id }, data: { lastCounter: 0 } })
    await signOut(context)
    const signInWithCode = async (code: string) => {
      await fillSignIn(page, email, password)
      await page.getByRole('button', { name: 'Use a recovery code' }).click()
      await page.getByLabel('Recovery code').fill(code)
      await page.getByRole('button', { name: 'Confirm', exact: true }).click()
    }
    await signInWithCode(firstCode.toUpperCase().replace('-', ' '))
    await page.waitForURL('/test/home')
    await page.goto(SECURITY_PATH)
    await expect(page.getByText('9 codes left')).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Generate new codes' }).click()
    await page.getByLabel('Authenticator code').fill(generateTotp(secret, 0))
    await page.getByRole('button', { name: 'Confirm', exact: true }).click()
    await expect(page.getByTestId('recovery-codes')).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog').getByRole('alert')).toContainText('won’t be shown again')
    await expect(page.getByTestId('recovery-codes')).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'I’ve saved them' }).click()
    await expect(page.getByText('10 codes left')).toBeVisible()

    await signOut(context)
    await signInWithCode(firstCode)
    for (let attempt = 1; attempt < 5; attempt++) {
      await expect(errorAlert(page)).toContainText('That code is wrong')
      await endDelays()
      const response = page.waitForResponse(/\/api\/auth\/callback\/credentials/)
      await page.getByRole('button', { name: 'Confirm', exact: true }).click()
      await response
    }
    await expect(errorAlert(page)).toContainText('Sign in again with your password')
    await expect(page.getByLabel('E-mail')).toHaveValue(email)
    await expect(page.getByLabel('Password')).toBeFocused()
  })
})
