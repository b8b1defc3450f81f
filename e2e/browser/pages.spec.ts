import {
  expect,
  expectAccessible,
  expectBalance,
  fillSignIn,
  openAccountMenu,
  readBalanceCents,
  setting,
  signInAsAdmin,
  signInAsDemo,
  signOut,
  test,
} from '#e2e/browser/app.ts'
import { openShop } from '#e2e/browser/merchant.ts'

const PORTUGUESE_AMOUNT = /^R\$ \d{1,3}(\.\d{3})*,\d{2}$/
const ENGLISH_AMOUNT = /^R\$ \d{1,3}(,\d{3})*\.\d{2}$/

test.describe('at a desk, in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 1280, height: 860 } })

  test('the merchant signs in and sees the balance and the latest charges', async ({ page }) => {
    await signInAsDemo(page)
    await expect(page).toHaveURL('/test/home')
    await expect(page.locator('html')).toHaveAttribute('lang', 'pt-BR')
    await expectBalance(page, PORTUGUESE_AMOUNT)
    const latest = page.getByRole('table', { name: 'Últimas cobranças' })
    await expect(latest.getByRole('row')).toHaveCount(7)
  })

  test('the exact time of a charge shows to the keyboard', async ({ page }) => {
    await signInAsDemo(page)
    const first = page.getByRole('table').locator('time').first()
    await expect(page.getByRole('tooltip')).toHaveCount(0)
    await first.focus()
    await expect(page.getByRole('tooltip')).toHaveText(/^\d{1,2} de \w+ de \d{4}/)
  })

  test('live mode says that it is not enabled, and leads back', async ({ page }) => {
    await signInAsDemo(page)
    await page.getByRole('link', { name: /^Modo de teste/ }).click()
    await expect(page.getByRole('heading', { name: /produção ainda não/ })).toBeVisible()
    await page.getByRole('link', { name: 'Voltar ao modo de teste' }).click()
    await expectBalance(page, PORTUGUESE_AMOUNT)
  })

  test('a chosen theme is there from the first byte', async ({ page }) => {
    await page.goto('/login')
    await page.getByRole('radio', { name: 'Escuro' }).press('Space')
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
    const html = await (await page.request.get('/login')).text()
    expect(html).toContain('data-theme="dark"')
  })

  test('nobody passes without a session, and an address that is none says so', async ({ page }) => {
    for (const path of ['/', '/dashboard', '/signin', '/test/home', '/admin/accounts']) {
      await page.goto(path)
      await expect(page).toHaveURL(/\/login(\?next=|$)/)
    }
  })

  test('whoever has to sign in first comes to where they were going', async ({ page }) => {
    await page.goto('/test/charges?status=paid')
    await fillSignIn(page, setting('DEMO_EMAIL'), setting('DEMO_PASSWORD'), { stays: true })
    await expect(page).toHaveURL('/test/charges?status=paid')
  })

  test('sign-out ends the session on the server too', async ({ page, context, browser }) => {
    await signInAsDemo(page)
    const cookies = (await context.cookies()).filter(({ name }) => name.endsWith('troco-session'))
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Lax', path: '/' }])
    await signOut(page)
    const thief = await browser.newContext({ baseURL: setting('BASE_URL') })
    await thief.addCookies(cookies)
    const stolen = await thief.newPage()
    await stolen.goto('/test/home')
    await expect(stolen).toHaveURL('/login?next=%2Ftest%2Fhome')
    await thief.close()
  })

  test('each sign-in gets a secret of its own', async ({ page, context }) => {
    const secret = async () =>
      (await context.cookies()).find(({ name }) => name.endsWith('troco-session'))?.value
    await signInAsDemo(page)
    const first = await secret()
    await signOut(page)
    expect(await secret()).toBeUndefined()
    await signInAsDemo(page)
    expect(await secret()).not.toBe(first)
  })

  test('somebody signed in is sent on from the sign-in page', async ({ page }) => {
    await signInAsDemo(page)
    await page.goto('/login')
    await expect(page).toHaveURL('/test/home')
  })
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 390, height: 844 } })

  // Their own merchant: the choice is kept with the person, wherever they sign in next.
  test('the merchant reads the same balance in both languages', async ({ page, context }) => {
    await openShop(context)
    await page.goto('/test/home')
    await expectBalance(page, ENGLISH_AMOUNT)
    const cents = await readBalanceCents(page)
    const menu = await openAccountMenu(page)
    await menu.getByRole('button', { name: 'Português' }).click()
    await expectBalance(page, PORTUGUESE_AMOUNT)
    await expect(page.locator('html')).toHaveAttribute('lang', 'pt-BR')
    expect(await readBalanceCents(page)).toBe(cents)
  })

  // Phones of 390 px are seen in e2e/browser/tour.spec.ts.
  test('no page is wider than a phone of 360 px', async ({ page }) => {
    await page.setViewportSize({ width: 360, height: 780 })
    await signInAsDemo(page)
    for (const path of ['home', 'charges', 'settings/members', 'settings/security']) {
      await page.goto(`/test/${path}`)
      const room = page.locator('html')
      expect(await room.evaluate(html => html.scrollWidth), path).toBeLessThanOrEqual(360)
    }
  })
})

test.describe('refusals', () => {
  test.use({ locale: 'pt-BR', refusals: [401, 404] })

  test('a wrong password gets the message and stays', async ({ page }) => {
    await fillSignIn(page, setting('DEMO_EMAIL'), 'not the password')
    await expect(page.getByRole('alert').filter({ hasText: 'não conferem' })).toBeVisible()
    await expect(page).toHaveURL('/login')
    await expect(page.getByLabel('E-mail')).toHaveValue(setting('DEMO_EMAIL'))
    await expect(page.getByLabel('Senha')).toBeFocused()
  })

  test('an unknown e-mail gets the very same message', async ({ page }) => {
    await fillSignIn(page, 'nobody@troco.local', 'not the password')
    await expect(page.getByRole('alert').filter({ hasText: 'não conferem' })).toBeVisible()
  })

  test('a world that is neither test nor live does not exist', async ({ page }) => {
    expect((await page.goto('/other/home'))?.status()).toBe(404)
    await expectAccessible(page)
  })
})

test.describe('the operator', () => {
  test.use({ locale: 'pt-BR' })

  test('sees the account of the demo merchant', async ({ page }) => {
    await signInAsAdmin(page)
    await expect(page).toHaveURL('/admin/accounts')
    await page.goto(`/admin/accounts?q=${encodeURIComponent(setting('DEMO_EMAIL'))}`)
    const row = page.getByRole('row').filter({ hasText: setting('DEMO_EMAIL') })
    await expect(row).toContainText('Ativa')
  })
})

// The pages themselves are examined in e2e/browser/tour.spec.ts.
for (const { locale, width, details } of [
  { locale: 'pt-BR', width: 1280, details: { tag: '@torture' } },
  { locale: 'en-US', width: 390, details: {} },
]) {
  test.describe(`everybody can use it, ${locale}, ${width} px`, details, () => {
    test.use({ locale, viewport: { width, height: 860 } })

    test('the menu of the account', async ({ page }) => {
      await signInAsDemo(page)
      await openAccountMenu(page)
      await expectAccessible(page)
    })
  })
}
