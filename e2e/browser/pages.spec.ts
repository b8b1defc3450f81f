import {
  expect,
  expectAccessible,
  expectBalance,
  fillSignIn,
  holdScripts,
  readBalanceCents,
  readSetting,
  signInAsAdmin,
  signInAsDemo,
  signOut,
  test,
} from '#e2e/browser/app.ts'
import { expectFits, findPlace, listRows, openAccountMenu } from '#e2e/browser/layout.ts'
import { createShop, openShop } from '#e2e/browser/merchant.ts'
import { openPerson } from '#e2e/browser/person.ts'
import { db } from '#lib/db/client.ts'
import { ACCOUNT_COOKIE } from '#lib/session/schema.ts'

const PORTUGUESE_AMOUNT = /^R\$ \d{1,3}(\.\d{3})*,\d{2}$/
const ENGLISH_AMOUNT = /^R\$ \d{1,3}(,\d{3})*\.\d{2}$/

test.describe('on a desktop, in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 1280, height: 860 } })

  test('the merchant signs in and sees the balance and the latest charges', async ({ page }) => {
    await signInAsDemo(page)
    await expect(page).toHaveURL('/test/home')
    await expect(page.locator('html')).toHaveAttribute('lang', 'pt-BR')
    await expectBalance(page, PORTUGUESE_AMOUNT)
    const latest = listRows(page).filter({ has: page.locator('a[href*="/charges/"]') })
    await expect(latest).toHaveCount(6)
  })

  test('the exact time of a charge is shown on keyboard focus', async ({ page }) => {
    await signInAsDemo(page)
    const first = listRows(page).getByRole('link').first()
    await expect(page.getByRole('tooltip')).toHaveCount(0)
    await first.focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Shift+Tab')
    await expect(first).toBeFocused()
    await expect(page.getByRole('tooltip')).toHaveText(/^\d{1,2} de \w+ de \d{4}/)
  })

  test('live mode says that it is not enabled and links back', async ({ page }) => {
    await signInAsDemo(page)
    await (await findPlace(page, /^Modo de teste/)).click()
    await expect(page.getByRole('heading', { name: /produção ainda não/ })).toBeVisible()
    await page.getByRole('link', { name: 'Voltar ao modo de teste' }).click()
    await expectBalance(page, PORTUGUESE_AMOUNT)
  })

  test('the chosen theme is in the first response', async ({ page }) => {
    await page.goto('/login')
    await page.getByRole('radio', { name: 'Escuro' }).press('Space')
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
    const html = await (await page.request.get('/login')).text()
    expect(html).toContain('data-theme="dark"')
  })

  test('without a session every path leads to the sign-in page', async ({ page }) => {
    for (const path of ['/', '/dashboard', '/signin', '/test/home', '/admin/accounts']) {
      await page.goto(path)
      await expect(page).toHaveURL(/\/login(\?next=|$)/)
    }
  })

  test('signing in opens the requested page', async ({ page }) => {
    await page.goto('/test/charges?status=paid')
    await fillSignIn(page, readSetting('DEMO_EMAIL'), readSetting('DEMO_PASSWORD'), {
      isOnLogin: true,
    })
    await expect(page).toHaveURL('/test/charges?status=paid')
  })

  test.describe('a form', () => {
    test.use({ expectedStatuses: [401] })

    test('survives the end of the session and a server that is gone, without secrets', {
      tag: '@torture',
    }, async ({ page, context }) => {
      const { email, password } = await openPerson(context)
      const PAYER = {
        client_name: 'Rita Lima',
        client_email: 'rita@example.com',
        client_doc: '529.982.247-25',
        amount: '49,90',
      }
      await page.goto('/test/charges/new')
      for (const [name, value] of Object.entries(PAYER))
        await page.locator(`[name=${name}]`).fill(value)
      await page.getByText('Mais opções').click()
      await page.getByLabel('Expira em').selectOption('7 dias')
      const ROWS = {
        'items.1.name': 'Pão de queijo',
        'items.1.quantity': '2',
        'items.1.price': '24,95',
        'items.3.name': 'Café',
        'metadata.1.key': 'mesa',
        'metadata.1.value': '12',
      }
      const add = (name: string) => page.getByRole('button', { name }).click()
      for (const _ of [1, 2, 3]) await add('Adicionar item')
      await page.getByRole('button', { name: 'Remover item 2' }).click()
      await add('Adicionar metadado')
      for (const [name, value] of Object.entries(ROWS))
        await page.locator(`[name="${name}"]`).fill(value)
      await expect(page.locator('[name=items] [data-understood]').first()).toHaveText('R$ 24,95')
      const submit = page.getByRole('button', { name: 'Criar cobrança' })
      await page.route('**/api/transactions', route => route.abort('aborted'), { times: 1 })
      await submit.click()
      const alert = page.getByRole('main').getByRole('alert')
      await expect(alert).toContainText('não repetimos o envio')
      await db().userSession.deleteMany({ where: { user: { email } } })
      await submit.click()
      await expect(page).toHaveURL('/login?next=%2Ftest%2Fcharges%2Fnew&ended')
      await expect(page.getByText('Sua sessão terminou.')).toBeVisible()
      await expectAccessible(page)
      const release = await holdScripts(page)
      await fillSignIn(page, email, password, { isOnLogin: true })
      await expect(page).toHaveURL('/test/charges/new')
      // What is typed before the scripts run is newer than the draft.
      await page.locator('[name=amount]').fill('59,90')
      release()
      for (const [name, value] of Object.entries({ ...PAYER, ...ROWS, amount: '59,90' }))
        await expect(page.locator(`[name="${name}"]`)).toHaveValue(value)
      await expect(page.locator('[name="items.2.name"]')).toHaveCount(0)
      await expect(page.locator('fieldset :focus')).toHaveCount(0)
      await page.getByRole('button', { name: 'Remover item 2' }).click()
      await submit.click()
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 59,90')
      await expect(page.getByRole('timer')).toHaveText(/^Expira em (6 d 23|7 d 00)/)

      const chargePath = new URL(page.url()).pathname
      const description = page.getByRole('dialog').getByRole('textbox')
      await page.getByRole('button', { name: 'Adicionar' }).click()
      await description.fill('Mensalidade de março')
      await db().userSession.deleteMany({ where: { user: { email } } })
      await page.getByRole('dialog').getByRole('button', { name: 'Salvar' }).click()
      await expect(page.getByText('Sua sessão terminou.')).toBeVisible()
      await fillSignIn(page, email, password, { isOnLogin: true })
      await expect(page).toHaveURL(chargePath)
      // The page was loaded anew: a click before its scripts run does nothing.
      await expect(async () => {
        await page.getByRole('button', { name: 'Adicionar' }).click({ timeout: 5_000 })
        await expect(description).toBeVisible({ timeout: 5_000 })
      }).toPass({ timeout: 60_000 })
      await expect(description).toHaveValue('Mensalidade de março')

      await page.goto('/test/settings/security')
      await page.getByLabel('Senha atual').fill(password)
      await page.getByLabel('Nova senha').fill('another four words nobody expects')
      await db().userSession.deleteMany({ where: { user: { email } } })
      await page.getByRole('button', { name: 'Trocar a senha' }).click()
      await expect(page.getByText('Sua sessão terminou.')).toBeVisible()
      const kept = await page.evaluate(() => JSON.stringify(sessionStorage))
      expect(kept).not.toContain('words nobody expects')
    })
  })

  test.describe('a draft', () => {
    test.use({ expectedStatuses: [401] })

    test('of a charge opens the section of options only for what it changes there', {
      tag: '@torture',
    }, async ({ page, context }) => {
      const { id, email, password } = await openPerson(context)
      await context.clearCookies()
      await page.goto('/login?next=/test/charges/new')
      await fillSignIn(page, email, password, { isOnLogin: true })
      const name = page.locator('[name=client_name]')
      const options = page.locator('details')
      const loseSession = async () => {
        await db().userSession.deleteMany({ where: { userId: id } })
        await page.getByRole('button', { name: 'Criar cobrança' }).click()
        await expect(page.getByText('Sua sessão terminou.')).toBeVisible()
        await fillSignIn(page, email, password, { isOnLogin: true })
        await expect(page).toHaveURL('/test/charges/new')
      }
      await page.locator('[name=amount]').fill('10')
      await name.fill('Ana Souza')
      await page.locator('[name=client_email]').fill('ana@example.com')
      await page.locator('[name=client_doc]').fill('529.982.247-25')
      await page.locator('[name=client_phone]').fill('+55 11 98765-4321')
      await loseSession()
      await expect(name).toHaveValue('Ana Souza')
      await expect(options).not.toHaveAttribute('open')
      await page.getByText('Mais opções').click()
      await page.getByLabel('Expira em').selectOption('7 dias')
      await loseSession()
      await expect(page.getByLabel('Expira em')).toHaveValue('604800')
      await expect(options).toHaveAttribute('open', '')
    })

    test('is offered in the account in which it was typed, not in another of the same user', {
      tag: '@torture',
    }, async ({ page, context }) => {
      const { id, email, password } = await openPerson(context)
      const { accountId } = await db().membership.findFirstOrThrow({ where: { userId: id } })
      const other = await createShop('Outra padaria')
      await db().membership.create({ data: { accountId: other.id, userId: id, role: 'owner' } })
      const url = readSetting('BASE_URL')
      const choose = (value: string) => context.addCookies([{ name: ACCOUNT_COOKIE, value, url }])
      const name = page.locator('[name=client_name]')
      const signInTo = async (account: string) => {
        await choose(account)
        await fillSignIn(page, email, password, { isOnLogin: true })
        await expect(page).toHaveURL('/test/charges/new')
      }
      const loseSession = async () => {
        await page.locator('[name=amount]').fill('10')
        await name.fill('Ana Souza')
        await page.locator('[name=client_email]').fill('ana@example.com')
        await page.locator('[name=client_doc]').fill('529.982.247-25')
        await db().userSession.deleteMany({ where: { userId: id } })
        await page.getByRole('button', { name: 'Criar cobrança' }).click()
        await expect(page.getByText('Sua sessão terminou.')).toBeVisible()
      }
      await context.clearCookies()
      await page.goto('/login?next=/test/charges/new')
      await signInTo(accountId)
      await loseSession()
      await signInTo(accountId)
      await expect(name).toHaveValue('Ana Souza')
      await loseSession()
      await signInTo(other.id)
      await expect(page.getByText('Outra padaria').first()).toBeAttached()
      // The form works, so its scripts have looked for a draft.
      await page.getByRole('button', { name: 'Criar cobrança' }).click()
      await expect(page.getByText('Preencha este campo.').first()).toBeVisible()
      await expect(name).toHaveValue('')
    })

    test('returns to its own form, and never to another user who signs in in this tab', {
      tag: '@torture',
    }, async ({ page, context }) => {
      const [first, second] = [await openPerson(context), await openPerson(context)]
      const { accountId } = await db().membership.findFirstOrThrow({ where: { userId: first.id } })
      await db().membership.updateMany({ where: { userId: second.id }, data: { accountId } })
      const name = page.getByLabel('Seu nome')
      const loseSession = async () => {
        await name.fill('Outro nome')
        await db().userSession.deleteMany({ where: { userId: first.id } })
        await page.getByRole('button', { name: 'Salvar' }).last().click()
        await expect(page.getByText('Sua sessão terminou.')).toBeVisible()
      }
      await context.clearCookies()
      await page.goto('/login?next=/test/settings')
      await fillSignIn(page, first.email, first.password, { isOnLogin: true })
      await loseSession()
      await fillSignIn(page, first.email, first.password, { isOnLogin: true })
      await expect(name).toHaveValue('Outro nome')
      await expect(page.getByLabel('Nome da empresa ou loja')).toHaveValue('Padaria do Teste')
      await loseSession()
      await fillSignIn(page, second.email, second.password, { isOnLogin: true })
      await expect(page).toHaveURL('/test/settings')
      await expect.poll(() => page.evaluate(() => sessionStorage.length)).toBe(0)
      await expect(name).toHaveValue(second.email)
    })
  })

  test('signing out ends the session on the server', { tag: '@torture' }, async ({
    page,
    context,
    browser,
  }) => {
    await signInAsDemo(page)
    const cookies = (await context.cookies()).filter(({ name }) => name.endsWith('troco-session'))
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Lax', path: '/' }])
    await signOut(page)
    const otherContext = await browser.newContext({ baseURL: readSetting('BASE_URL') })
    await otherContext.addCookies(cookies)
    const otherPage = await otherContext.newPage()
    await otherPage.goto('/test/home')
    await expect(otherPage).toHaveURL('/login?next=%2Ftest%2Fhome')
    await otherContext.close()
  })

  test('each sign-in gets a new session secret', { tag: '@torture' }, async ({ page, context }) => {
    const readSecret = async () =>
      (await context.cookies()).find(({ name }) => name.endsWith('troco-session'))?.value
    await signInAsDemo(page)
    const first = await readSecret()
    await signOut(page)
    expect(await readSecret()).toBeUndefined()
    await signInAsDemo(page)
    expect(await readSecret()).not.toBe(first)
  })
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 390, height: 844 } })

  // Uses its own merchant, because the language is stored with the user.
  test('the balance is the same in both languages', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
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

  // e2e/browser/tour.spec.ts checks phones of 390 px.
  test('no page is wider than a phone of 360 px', {
    tag: ['@torture', '@one-size'],
  }, async ({ page }) => {
    await page.setViewportSize({ width: 360, height: 780 })
    await signInAsDemo(page)
    for (const path of ['home', 'charges', 'settings/members', 'settings/security']) {
      await page.goto(`/test/${path}`)
      await expectFits(page)
    }
  })
})

test.describe('refusals', () => {
  test.use({ locale: 'pt-BR', expectedStatuses: [401, 404] })

  test('a wrong password shows an error and keeps the e-mail', async ({ page }) => {
    await fillSignIn(page, readSetting('DEMO_EMAIL'), 'not the password')
    await expect(page.getByRole('alert').filter({ hasText: 'incorretos' })).toBeVisible()
    await expect(page).toHaveURL('/login')
    await expect(page.getByLabel('E-mail')).toHaveValue(readSetting('DEMO_EMAIL'))
    await expect(page.getByLabel('Senha')).toBeFocused()
  })

  test('an unknown e-mail shows the same error', { tag: '@torture' }, async ({ page }) => {
    await fillSignIn(page, 'nobody@troco.local', 'not the password')
    await expect(page.getByRole('alert').filter({ hasText: 'incorretos' })).toBeVisible()
  })

  test('a mode other than test and live is 404', { tag: '@torture' }, async ({ page }) => {
    expect((await page.goto('/other/home'))?.status()).toBe(404)
    await expectAccessible(page)
  })
})

test.describe('the operator', () => {
  test.use({ locale: 'pt-BR' })

  test('sees the account of the demo merchant', { tag: '@torture' }, async ({ page }) => {
    await signInAsAdmin(page)
    await expect(page).toHaveURL('/admin')
    await page.goto(`/admin/accounts?q=${encodeURIComponent(readSetting('DEMO_EMAIL'))}`)
    const row = listRows(page).filter({ hasText: readSetting('DEMO_EMAIL') })
    await expect(row).toContainText('Ativa')
  })
})

// Checks the open menu only: e2e/browser/tour.spec.ts checks the pages.
for (const { locale, width, details } of [
  { locale: 'pt-BR', width: 1280, details: { tag: '@torture' } },
  { locale: 'en-US', width: 390, details: {} },
]) {
  test.describe(`accessibility, ${locale}, ${width} px`, details, () => {
    test.use({ locale, viewport: { width, height: 860 } })

    test('the account menu has no violation', async ({ page }) => {
      await signInAsDemo(page)
      await openAccountMenu(page)
      await expectAccessible(page)
    })
  })
}
