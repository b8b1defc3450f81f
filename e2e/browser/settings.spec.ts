import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { openAccountMenu, PHONE } from '#e2e/browser/layout.ts'
import { openShop, signInAs } from '#e2e/browser/merchant.ts'
import { db } from '#lib/db/client.ts'

test.use({ locale: 'pt-BR' })

const CHARGE = {
  amount: 1_500,
  client_name: 'Ana Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
}

test('a new name, city and expiry apply from the next charge', async ({ page, context }) => {
  const { token } = await openShop(context, 'Loja antiga')
  await page.goto('/test/settings')
  await expectAccessible(page)
  const name = page.getByLabel('Nome da empresa ou loja')
  await name.fill('')
  await page.getByRole('button', { name: 'Salvar' }).first().click()
  await expect(page.getByText('Use de 1 a 100 caracteres, com letras')).toBeVisible()
  await name.fill('Pão & Companhia')
  await name.press('Tab')
  await expect(page.getByText('No código Pix: Pao & Companhia')).toBeVisible()
  await page.getByLabel('Cidade').fill('São Luís')
  await page.getByLabel('Cobranças expiram em').selectOption('15 minutos')
  await page.getByLabel('Fuso horário').selectOption('America/Manaus')
  await page.getByRole('button', { name: 'Salvar' }).first().click()
  await expect(page.getByText('Salvo.')).toBeVisible()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(CHARGE) }
  const response = await fetch(`${readSetting('BASE_URL')}/api/transactions`, init)
  expect((await response.json()).data.br_code).toContain('5915Pao & Companhia6008Sao Luis')
  await page.reload()
  await expect(name).toHaveValue('Pão & Companhia')
  await expect(page.getByLabel('Fuso horário')).toHaveValue('America/Manaus')
})

test('what the settings and the list of tokens show is all that a program of API Pix needs', async ({
  page,
  context,
}) => {
  const { token } = await openShop(context)
  await page.goto('/test/settings/tokens')
  const read = async (name: string) => {
    const label = `Copiar ${name}`
    const button = page.getByRole('button', { name: label }).first()
    return (await button.textContent())?.replace(label, '') ?? ''
  }
  const id = await read('ID')
  await page.goto('/test/settings')
  const [address, chave] = [await read('Endereço'), await read('Chave')]
  const send = async (method: string, path: string, authorization: string, body: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(address + path, { method, headers, body: JSON.stringify(body) })
    return response.json()
  }
  const basic = `Basic ${Buffer.from(`${id}:${token}`).toString('base64')}`
  const grant = { grant_type: 'client_credentials' }
  const { access_token } = await send('POST', '/oauth/token', basic, grant)
  const charge = { calendario: { expiracao: 3600 }, valor: { original: '15.00' }, chave }
  const cob = await send('POST', '/v2/cob', `Bearer ${access_token}`, charge)
  expect(cob).toMatchObject({ status: 'ATIVA', chave })
  await page.goto(`/test/charges/${cob.txid}`)
  await expectAccessible(page)
})

test('language and theme follow the user to another browser', { tag: '@torture' }, async ({
  page,
  context,
  browser,
}) => {
  const { id } = await openShop(context)
  await page.goto('/test/settings')
  const waitForSaved = (body: string) =>
    page.waitForResponse(
      response =>
        response.url().endsWith('/dashboard/profile') &&
        response.request().postData() === body &&
        response.ok(),
    )
  const [theme] = await Promise.all([
    waitForSaved('{"theme":"dark"}'),
    page.getByRole('main').getByRole('radio', { name: 'Escuro' }).check({ force: true }),
  ])
  expect(theme.status()).toBe(200)
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  const menu = await openAccountMenu(page)
  await expect(menu.getByRole('radio', { name: 'Escuro' })).toBeChecked()
  await page.keyboard.press('Escape')
  await Promise.all([
    waitForSaved('{"locale":"en"}'),
    page.getByRole('radio', { name: 'English' }).check({ force: true }),
  ])
  await expect(page.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible()

  const otherContext = await browser.newContext({
    locale: 'pt-BR',
    baseURL: readSetting('BASE_URL'),
  })
  const { user } = await db().membership.findFirstOrThrow({
    where: { accountId: id },
    include: { user: true },
  })
  await signInAs(otherContext, user.email)
  const otherPage = await otherContext.newPage()
  await otherPage.goto('/test/settings')
  await expect(otherPage.getByRole('heading', { name: 'Settings', level: 1 })).toBeVisible()
  await expect(otherPage.locator('html')).toHaveAttribute('data-theme', 'dark')
  await otherContext.close()
})

test.describe('in English, on a phone', () => {
  test.use({ locale: 'en-US', viewport: PHONE })

  test('the user’s name is stored, and the account id can be copied', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const { id } = await openShop(context)
    await page.goto('/test/settings')
    await expectAccessible(page)
    await page.getByLabel('Your name').fill('Ana Paula')
    await page.getByRole('button', { name: 'Save' }).last().click()
    await expect(page.getByText('Saved.')).toBeVisible()
    await page.reload()
    await expect(page.getByLabel('Your name')).toHaveValue('Ana Paula')
    await expect(page.getByText(id)).toBeVisible()
    await expect(page.getByRole('button', { name: 'Copy Account number' })).toBeVisible()
  })

  test('a member who is not an owner sees the account settings but cannot change them', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const { id } = await openShop(context)
    await db().membership.updateMany({ where: { accountId: id }, data: { role: 'viewer' } })
    await page.goto('/test/settings')
    await expect(page.getByLabel('Business name')).toBeDisabled()
    await page.goto('/test/settings/tokens')
    await expect(page.getByText('Only owners and developers')).toBeVisible()
    // The only button of the only token.
    const button = page.getByTestId('token-row').getByRole('button')
    await expect(button).toHaveAccessibleName(/^Copy ID /)
  })
})
