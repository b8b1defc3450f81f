import { readFileSync } from 'node:fs'
import type { BrowserContext, Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { expectFits, PHONE } from '#e2e/browser/layout.ts'
import { openShop, type Shop, signOut } from '#e2e/browser/merchant.ts'
import { readPdf } from '#lib/testing/pdf.ts'

const LONG_NAME =
  'Ação Comércio de Pães e Confeitaria São João do Nascimento e Irmãos Ltda, matriz de Pindamonhangaba'
const PAYER = { client_email: 'ana@example.com', client_doc: '529.982.247-25' }

async function callApi(shop: Shop, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' }
  const url = `${readSetting('BASE_URL')}/api${path}`
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  const { data } = (await response.json()) as {
    data: { id: string; transaction_id: string; end_to_end_id: string }
  }
  return data
}

async function payCharge(shop: Shop, client_name = 'Ana Beatriz Rocha') {
  const charge = { amount: 123_456, client_name, ...PAYER }
  const { transaction_id: id } = await callApi(shop, 'POST', '/transactions', charge)
  await callApi(shop, 'POST', `/sandbox/transactions/${id}`, { outcome: 'paid' })
  return callApi(shop, 'GET', `/transactions/${id}`)
}

async function payOut(shop: Shop) {
  const order = { amount: 5_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const { id } = await callApi(shop, 'POST', '/withdrawals', order)
  await callApi(shop, 'POST', `/sandbox/withdrawals/${id}`, { outcome: 'approved' })
  return callApi(shop, 'GET', `/withdrawals/${id}`)
}

async function savePdf(page: Page, button: string): Promise<{ name: string; pdf: string }> {
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: button, exact: true }).click()
  const saved = await download
  return { name: saved.suggestedFilename(), pdf: readFileSync(await saved.path(), 'latin1') }
}

/** Returns the content of the QR code of a receipt. */
async function readReceiptUrl(context: BrowserContext, shop: Shop, chargeId: string) {
  const headers = { 'troco-mode': 'test', 'troco-account': shop.id }
  const response = await context.request.get(
    `/api/dashboard/charges/${chargeId}/receipt?locale=pt-BR`,
    {
      headers,
    },
  )
  const [url = ''] = (await readPdf((await response.body()).toString('latin1'))).codes
  return url
}

async function openReceipt(context: BrowserContext, page: Page, name?: string) {
  const shop = await openShop(context, name)
  const charge = await payCharge(shop, name)
  await page.goto(`/test/charges/${charge.id}`)
  await page.getByRole('link', { name: 'Comprovante' }).click()
  await expect(page).toHaveTitle('Comprovante · Troco')
  await expect(page.getByTestId('receipt')).toBeVisible()
  return { shop, charge }
}

test.describe('on a phone', () => {
  test.use({ locale: 'pt-BR', viewport: PHONE })

  test('a member opens the receipt of a charge, and saves it in both languages', async ({
    page,
    context,
  }) => {
    const { shop, charge } = await openReceipt(context, page, LONG_NAME)
    const receipt = page.getByTestId('receipt')
    for (const text of [
      'Pix recebido',
      'R$ 1.234,56',
      charge.end_to_end_id,
      'Não é documento fiscal.',
      'Teste: nenhum dinheiro foi movimentado',
      '***.982.247-**',
    ]) {
      await expect(receipt).toContainText(text)
    }
    await expect(receipt).not.toContainText('529.982')
    await expect(page.getByRole('img', { name: 'QR code' })).toBeVisible()
    await expectFits(page)
    await expectAccessible(page)
    const portuguese = await savePdf(page, 'Baixar PDF')
    expect(portuguese.name).toBe(`comprovante-${charge.id}.pdf`)
    const read = await readPdf(portuguese.pdf)
    expect(read.codes).toEqual([await readReceiptUrl(context, shop, charge.id)])
    expect(read.text).toContain(charge.end_to_end_id)
    const english = await savePdf(page, 'PDF em inglês')
    expect((await readPdf(english.pdf)).text).toContain('This is not a tax document.')
  })
})

test.describe('on paper', { tag: '@one-size' }, () => {
  test.use({ locale: 'pt-BR', viewport: { width: 794, height: 1123 }, colorScheme: 'dark' })

  test('only the receipt is printed, dark on white', async ({ page, context }) => {
    await openReceipt(context, page)
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    await expect(page.getByTestId('receipt')).toBeVisible()
    for (const role of ['navigation', 'button', 'link'] as const) {
      await expect(page.getByRole(role).filter({ visible: true })).toHaveCount(0)
    }
    const colors = await page.evaluate(() => {
      const style = getComputedStyle(document.body)
      return [getComputedStyle(document.documentElement).backgroundColor, style.color]
    })
    expect(colors).toEqual(['rgb(255, 255, 255)', 'rgb(23, 33, 29)'])
    const pdf = await page.pdf({ format: 'A4', printBackground: true })
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1)
  })
})

test.describe('in English', () => {
  test.use({ locale: 'en', viewport: { width: 1280, height: 900 } })

  test('a member opens the receipt of a withdrawal', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const { id, end_to_end_id } = await payOut(shop)
    await page.goto(`/test/withdrawals/${id}`)
    await page.getByRole('link', { name: 'Receipt' }).click()
    const receipt = page.getByTestId('receipt')
    await expect(receipt).toContainText('Pix sent')
    await expect(receipt).toContainText(end_to_end_id)
    await expect(receipt).toContainText('h***@example.com')
    await expect(receipt).toContainText('This is not a tax document.')
    const { name, pdf } = await savePdf(page, 'Download PDF')
    expect(name).toBe(`receipt-${id}.pdf`)
    expect((await readPdf(pdf)).text).toContain('h***@example.com')
  })
})

test.describe('the public page', () => {
  // axe adds styles to the page, which its CSP forbids.
  test.use({ locale: 'pt-BR', viewport: { width: 390, height: 844 }, expectedStatuses: [404] })

  test.describe('without JavaScript and without sign-in', () => {
    test.use({ javaScriptEnabled: false })

    test('a receipt proves itself, and a changed one does not', async ({ page, context }) => {
      const shop = await openShop(context)
      const { id, end_to_end_id } = await payCharge(shop)
      const url = await readReceiptUrl(context, shop, id)
      await signOut(context)
      await page.goto(url)
      await expect(page.getByRole('heading', { name: 'Comprovante autêntico' })).toBeVisible()
      await expect(page.getByText(end_to_end_id)).toBeVisible()
      await expect(page.getByTestId('test-ribbon')).toContainText('nenhum dinheiro')
      await page.getByRole('link', { name: 'English' }).click()
      await expect(page.getByRole('heading', { name: 'Genuine receipt' })).toBeVisible()
      await page.goto(url.replace('.123456.', '.923456.'))
      await expect(page.getByRole('heading', { name: 'Comprovante inválido' })).toBeVisible()
      await expect(page.getByText('9.234,56')).toHaveCount(0)
    })
  })

  test.describe('accessibility', () => {
    test.use({ bypassCSP: true })

    test('each outcome has no violation and fits on a phone', { tag: '@torture' }, async ({
      page,
      context,
    }) => {
      const shop = await openShop(context)
      const { id } = await payCharge(shop)
      const url = await readReceiptUrl(context, shop, id)
      for (const address of [url, `${url}?lang=en`, `${url}A`, `${url}A?lang=en`]) {
        await page.goto(address)
        await expectAccessible(page)
        await expectFits(page)
      }
      await callApi(shop, 'POST', `/transactions/${id}/refunds`, { amount: 1_000 })
      await expect(async () => {
        await page.goto(url)
        await expect(page.getByTestId('receipt-outcome')).toContainText('devolução parcial', {
          timeout: 1_000,
        })
      }).toPass()
      await expectAccessible(page)
    })
  })
})
