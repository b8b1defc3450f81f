import { expect, readSetting, test } from '#e2e/browser/app.ts'
import { pressOn, tabTo, typeInto, visitStops } from '#e2e/browser/keyboard.ts'
import { openShop, signOut } from '#e2e/browser/merchant.ts'
import { openPerson } from '#e2e/browser/person.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'
import { findUnreadable } from '#e2e/browser/text-layout.ts'
import { call } from '#lib/testing/call.ts'

test.use({ locale: 'pt-BR' })

const PAYER = {
  Nome: 'Rita Lima',
  'E-mail': 'rita@example.com',
  'CPF ou CNPJ': '529.982.247-25',
}

test('a merchant works by keyboard alone, and always sees where the focus is', {
  tag: '@torture',
}, async ({ page, context }) => {
  test.setTimeout(120_000)
  const { email, password } = await openPerson(context)
  await signOut(context)
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const field = (name: string) => page.getByLabel(name, { exact: true })
  const title = page.getByRole('heading', { level: 1 })
  const openByPalette = async (text: string, name: string) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await expect(page.getByRole('option', { name, selected: true })).toBeVisible()
    await page.keyboard.press('Enter')
  }

  await page.goto('/login')
  await typeInto(page, field('E-mail'), email)
  await typeInto(page, field('Senha'), password)
  await page.keyboard.press('Enter')
  await page.waitForURL('/test/home')

  await pressOn(page, page.getByRole('link', { name: 'Pular para o conteúdo' }))
  await expect(page.getByRole('main')).toBeFocused()
  await pressOn(page, page.getByRole('main').getByRole('link', { name: 'Nova cobrança' }).first())
  await page.waitForURL('/test/charges/new')
  await typeInto(page, field('Valor'), '49,90')
  for (const [name, value] of Object.entries(PAYER)) await typeInto(page, field(name), value)
  await pressOn(page, button('Criar cobrança'))
  await expect(title).toHaveText('R$ 49,90')

  await pressOn(page, page.getByRole('link', { name: 'Pagar no banco simulado' }))
  await pressOn(page, button('Pagar'))
  await pressOn(page, page.getByRole('link', { name: 'Ver a cobrança' }))
  const refund = button('Devolver')
  await pressOn(page, refund)
  await expect(page.getByRole('dialog')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(refund).toBeFocused()
  await page.keyboard.press('Enter')
  await tabTo(page, page.getByRole('dialog').getByLabel('Valor'))
  await page.keyboard.press('Control+a')
  await page.keyboard.type('10,00')
  await pressOn(page, button('Devolver R$ 10,00'))
  await expect(page.getByText('R$ 10,00 devolvidos ao pagador')).toBeVisible()
  await expect(refund).toBeFocused()

  await openByPalette('solicitar saque', 'Solicitar saque')
  await page.waitForURL('/test/withdrawals/new')
  await typeInto(page, field('Valor'), '25,00')
  await typeInto(page, field('Chave Pix'), 'ana@example.com')
  await pressOn(page, button('Continuar'))
  await pressOn(page, button('Confirmar saque'))
  await expect(title).toHaveText('R$ 25,00')

  await openByPalette('criar token', 'Criar token')
  await typeInto(page, field('Nome'), 'Caixa')
  await pressOn(page, button('Criar token'))
  await pressOn(page, button('Já salvei'))
  await expect(page.getByTestId('token-row').filter({ hasText: 'Caixa' })).toBeVisible()

  await openByPalette('webhooks', 'Webhooks')
  await pressOn(page, page.getByRole('main').getByRole('link', { name: 'Novo destino' }).first())
  await typeInto(page, field('Endereço'), 'http://localhost:4000/webhooks')
  await pressOn(page, button('Criar destino'))
  await expect(page.getByRole('heading', { name: 'Destino criado' })).toBeFocused()

  await page.keyboard.press('Control+k')
  await page.keyboard.type('49,90')
  await expect(page.getByRole('option', { selected: true })).toContainText('Rita Lima')
  await page.keyboard.press('Enter')
  await expect(title).toHaveText('R$ 49,90')
  expect(await visitStops(page)).toEqual([])

  await pressOn(page, page.locator('[popovertarget]').filter({ visible: true }))
  await pressOn(page, page.getByRole('dialog').getByRole('button', { name: 'Sair' }))
  await page.waitForURL('/login')
})

for (const [key, tag] of [
  ['ArrowDown', ''],
  ['Enter', ' @torture'],
  [' ', ' @torture'],
] as const)
  test(`a menu opened by '${key}'${tag} highlights its first choice, from the first time on`, async ({
    page,
    context,
  }) => {
    await openShop(context)
    await page.goto('/test/charges')
    const period = page.getByRole('button', { name: 'Período: Desde o início' })
    for (const _ of ['first', 'again']) {
      await pressOn(page, period, key)
      await expect(page.getByRole('menuitemradio').first()).toBeFocused()
      await page.keyboard.press('ArrowDown')
      await expect(page.getByRole('menuitemradio').nth(1)).toBeFocused()
      await page.keyboard.press('Escape')
      await expect(period).toBeFocused()
    }
  })

const PAGES = [
  'home',
  'charges',
  'charges/new',
  'withdrawals/new',
  'statement',
  'webhooks',
  'webhooks/endpoints/new',
  'settings',
  'settings/tokens/new',
  'settings/members',
]

test.describe('at 200 %', { tag: '@one-size' }, () => {
  test.use({ viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 })

  test('pages do not scroll sideways, and bars do not cover the focus', {
    tag: '@torture',
  }, async ({ page, context }) => {
    test.setTimeout(120_000)
    const { token } = await openShop(context)
    const body = {
      amount: 999_999_999,
      client_name: 'Companhia Paranaense de Energia e Saneamento',
      client_email: 'ana@example.com',
      client_doc: '529.982.247-25',
    }
    for (let index = 0; index < 5; index++)
      await call(readSetting('BASE_URL'), 'POST', '/transactions', { token, body })
    const waitForQuiet = await watchRequests(page)
    for (const path of PAGES) {
      await page.goto(`/test/${path}`)
      await waitForQuiet()
      expect(await findUnreadable(page), path).toEqual([])
      expect(await visitStops(page), path).toEqual([])
    }
  })

  test('a dialog is reached and scrolled by keyboard', async ({ page, context }) => {
    await openShop(context)
    await page.goto('/test/settings/members')
    await pressOn(page, page.getByRole('button', { name: 'Convidar' }))
    const dialog = page.getByRole('dialog')
    await tabTo(page, dialog.getByRole('button', { name: 'Enviar convite' }))
    const { y, height } = (await dialog.boundingBox()) ?? { y: -1, height: 0 }
    expect(y).toBeGreaterThanOrEqual(0)
    expect(y + height).toBeLessThanOrEqual(450)
  })
})
