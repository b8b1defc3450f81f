import type { BrowserContext, Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { expectFits } from '#e2e/browser/layout.ts'
import { openShop, type Shop, signOut } from '#e2e/browser/merchant.ts'

const PAYER = {
  client_name: 'Canária da Silva',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
}

interface Charge {
  transaction_id: string
  br_code: string
  payment_url: string
}

async function callApi(shop: Shop, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' }
  const response = await fetch(`${readSetting('BASE_URL')}/api/transactions${path}`, {
    method,
    headers,
    body: JSON.stringify(body),
  })
  return ((await response.json()) as { data: Charge }).data
}

/** Creates a shop and signs its owner out, because payers have no session. */
async function openShopSignedOut(context: BrowserContext, name?: string): Promise<Shop> {
  const shop = await openShop(context, name)
  await signOut(context)
  return shop
}

async function openCharge(shop: Shop, amount: number): Promise<Charge> {
  const { transaction_id: id } = await callApi(shop, 'POST', '', { amount, ...PAYER })
  return callApi(shop, 'GET', `/${id}`)
}

async function simulateOutcome(
  shop: Shop,
  charge: Charge,
  outcome: 'paid' | 'failed',
): Promise<void> {
  const path = `/../sandbox/transactions/${charge.transaction_id}`
  await callApi(shop, 'POST', path, { outcome })
}

/** Sets a mark on the page and returns a check for it; a reload removes the mark. */
async function markPage(page: Page): Promise<() => Promise<boolean>> {
  await page.evaluate(() => Object.assign(window, { isSamePage: true }))
  return () => page.evaluate(() => 'isSamePage' in window)
}

test.describe('on a phone', () => {
  test.use({
    locale: 'pt-BR',
    viewport: { width: 360, height: 740 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })

  test('a payer copies the code, pays and sees the payment without a reload', async ({
    page,
    context,
  }) => {
    const shop = await openShopSignedOut(context, 'Padaria da Praça')
    const charge = await openCharge(shop, 123_456)
    await page.goto(charge.payment_url)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(
      'Pague R$ 1.234,56 para Padaria da Praça',
    )
    await expect(page.getByRole('img', { name: 'QR code' })).toBeVisible()
    await expect(page.getByTestId('br-code')).toHaveText(charge.br_code)
    await expect(page.getByRole('timer')).toHaveText(/^(23:59:\d\d|1 d 00:00:00)$/)
    await expect(page.getByTestId('test-ribbon')).toContainText(
      'Este código não funciona em nenhum banco',
    )
    await page.getByRole('button', { name: 'Copiar código Pix' }).click()
    await expect(page.getByRole('button', { name: 'Código copiado' })).toBeVisible()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(charge.br_code)
    const isSamePage = await markPage(page)
    await simulateOutcome(shop, charge, 'paid')
    await expect(page.getByRole('heading', { name: 'Pagamento recebido' })).toBeVisible()
    // The page ends the announcement of the copy after two seconds.
    await page.waitForTimeout(2_000)
    await expect(page.getByRole('status')).toHaveText(
      'Pagamento recebido. Padaria da Praça recebeu R$ 1.234,56.',
    )
    await expect(page).toHaveTitle('Pagamento recebido · Padaria da Praça')
    await expect(page.getByText(/^E\d{8}/)).toBeVisible()
    await expect(page.getByTestId('br-code')).toHaveCount(0)
    expect(await isSamePage()).toBe(true)
  })

  test('on a low screen the button to copy is above the code and in view', async ({
    page,
    context,
  }) => {
    const shop = await openShopSignedOut(
      context,
      'Comércio de Alimentos Naturais do Vale do Ribeira',
    )
    const charge = await openCharge(shop, 4_990)
    await page.setViewportSize({ width: 320, height: 568 })
    await page.goto(charge.payment_url)
    const button = await page.getByRole('button', { name: 'Copiar código Pix' }).boundingBox()
    const code = await page.getByTestId('qr-code').boundingBox()
    if (!button || !code) throw new Error('The button or the code is missing')
    expect(button.y + button.height).toBeLessThan(Math.min(code.y, 568))
    for (const name of await page.getByText('Comércio de Alimentos').all())
      expect((await name.boundingBox())?.height).toBeLessThan(26)
    await expectFits(page)
  })

  test.describe('accessibility', () => {
    // axe adds styles to the page, which its CSP forbids.
    test.use({ bypassCSP: true, expectedStatuses: [404] })

    test('every state of the page has no violation', async ({ page, context }) => {
      const shop = await openShopSignedOut(context)
      const charge = await openCharge(shop, 4_990)
      await page.goto(charge.payment_url)
      await expectAccessible(page)
      await simulateOutcome(shop, charge, 'paid')
      await page.goto(charge.payment_url)
      await expectAccessible(page)
      await page.goto('/pay/AAAAAAAAAAAAAAAAAAAAAA')
      await expectAccessible(page)
    })
  })
})

test.describe('without JavaScript', () => {
  test.use({ locale: 'pt-BR', javaScriptEnabled: false, viewport: { width: 360, height: 740 } })

  test('the whole code can be selected, and the page turns to paid by itself', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShopSignedOut(context)
    const charge = await openCharge(shop, 4_990)
    await page.goto(charge.payment_url)
    await expect(page.getByTestId('br-code')).toHaveText(charge.br_code)
    const codeBox = await page.getByTestId('br-code').boundingBox()
    expect(codeBox?.height).toBeGreaterThan(60)
    await expect(page.getByRole('button')).toHaveCount(0)
    await expect(page.getByText(/^Expira em \d+ de /)).toBeVisible()
    await simulateOutcome(shop, charge, 'paid')
    // The page reads itself anew every few seconds without a script.
    const paid = page.getByRole('heading', { name: 'Pagamento recebido' })
    await expect(paid).toBeVisible({ timeout: 45_000 })
  })
})

test.describe('in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 320, height: 640 }, expectedStatuses: [404] })

  test('a failed charge is shown on a phone of 320 px, in the chosen language', {
    tag: ['@torture', '@one-size'],
  }, async ({ page, context }) => {
    const shop = await openShopSignedOut(context, 'Um Nome de Loja Bem Comprido que Não Cabe Ltda')
    const charge = await openCharge(shop, 999_999_999_999)
    await page.goto(charge.payment_url)
    await expect(page.getByRole('button', { name: 'Copy Pix code' })).toBeVisible()
    await expectFits(page)
    await simulateOutcome(shop, charge, 'failed')
    await expect(page.getByRole('heading', { name: 'This charge failed' })).toBeVisible()
    await page.getByRole('link', { name: 'Português' }).click()
    await expect(page.getByRole('heading')).toHaveText('A cobrança não foi concluída')
    await page.goto('/pay/AAAAAAAAAAAAAAAAAAAAAA')
    await expect(page.getByRole('heading')).toHaveText('Payment link not found')
  })

  test('a lost connection is shown, and the page recovers', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShopSignedOut(context)
    const charge = await openCharge(shop, 4_990)
    await page.goto(charge.payment_url)
    await page.route('**/pay/**', route => route.abort('aborted'))
    await expect(page.getByText('You’re offline.')).toBeVisible()
    await page.unroute('**/pay/**')
    await simulateOutcome(shop, charge, 'paid')
    await expect(page.getByRole('heading', { name: 'Payment received' })).toBeVisible()
    await expect(page.getByText('You’re offline.')).toBeHidden()
  })
})
