import { readFileSync } from 'node:fs'
import type { Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { listRows, PHONE } from '#e2e/browser/layout.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'

test.use({ locale: 'pt-BR' })

const PAYER = { client_email: 'joao@example.com', client_doc: '529.982.247-25' }

async function createCharge({ token }: Shop, body: object): Promise<string> {
  const response = await fetch(`${readSetting('BASE_URL')}/api/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ amount: 1_500, client_name: 'Ana Rocha', ...PAYER, ...body }),
  })
  expect(response.status).toBe(200)
  return (await response.json()).data.transaction_id
}

async function payCharge({ token }: Shop, id: string): Promise<void> {
  const response = await fetch(`${readSetting('BASE_URL')}/api/sandbox/transactions/${id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ outcome: 'paid' }),
  })
  expect(response.status).toBe(200)
}

/** Finds the payers' links in the list: a table on desktops, cards on phones. */
const payerLinks = (page: Page) =>
  page.locator('main a[href*="/charges/0"]').filter({ visible: true })

test('a merchant searches, filters and clears the filters', async ({ page, context }) => {
  const shop = await openShop(context)
  await createCharge(shop, { client_name: 'João da Conceição', external_id: 'pedido 7' })
  await createCharge(shop, { client_name: 'Mercearia Ñandú', amount: 99_900 })
  await page.goto('/test/charges')
  await expect(page.getByTestId('charge-totals')).toHaveText(/3 cobranças.*R\$ 2\.014,00 no total/)
  await expectAccessible(page)

  await page.getByRole('searchbox').fill('joao da con')
  await expect(payerLinks(page)).toHaveText(['João da Conceição'])
  await expect(page.getByText('1 filtro aplicado')).toBeVisible()
  await page.getByRole('button', { name: 'Pagas' }).click()
  await expect(page.getByText('Nenhuma cobrança encontrada')).toBeVisible()
  await page.getByRole('button', { name: 'Limpar filtros' }).first().click()
  await expect(payerLinks(page)).toHaveCount(3)
})

test.describe('on a phone', () => {
  test.use({ viewport: PHONE })

  test('charges between two amounts are listed and exported as CSV', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await createCharge(shop, { client_name: 'Mercearia Ñandú', amount: 99_900 })
    await createCharge(shop, {})
    await page.goto('/test/charges')
    await page.getByRole('button', { name: 'Valor: Qualquer' }).click()
    await page.getByLabel('Mínimo', { exact: true }).fill('998,00')
    await page.getByLabel('Máximo', { exact: true }).fill('10')
    await page.getByRole('button', { name: 'Aplicar' }).click()
    await expect(page.getByText('não pode ser menor')).toBeVisible()
    await page.getByLabel('Máximo', { exact: true }).fill('1.000,00')
    await page.getByRole('button', { name: 'Aplicar' }).click()
    await expect(payerLinks(page)).toHaveCount(2)
    await expect(page).toHaveURL(/min_amount=99800&max_amount=100000/)

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Exportar CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^cobrancas-\d{4}-\d\d-\d\d\.csv$/)
    const lines = readFileSync(await download.path(), 'utf8').split('\r\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]?.startsWith('\uFEFFReferência;')).toBe(true)
    expect(lines[1]).toContain(';999,00;')
    expect(lines[3]).toBe('')
  })
})

test('a pending charge turns to paid in the list without a reload', async ({ page, context }) => {
  const shop = await openShop(context)
  const id = await createCharge(shop, { external_id: 'pedido 8' })
  await page.goto('/test/charges?q=pedido+8')
  const row = listRows(page).filter({ hasText: 'pedido 8' })
  await expect(row).toContainText('Pendente')
  await payCharge(shop, id)
  await expect(row).toContainText('Paga')
})

test('an incomplete export is not saved, and the page says so', async ({ page, context }) => {
  await openShop(context)
  await page.goto('/test/charges')
  await page.route('**/api/dashboard/charges/export*', route =>
    route.fulfill({ contentType: 'text/csv', body: '\uFEFFa;b\r\n1;2\r\n\u001e2' }),
  )
  let saved = 0
  page.on('download', () => saved++)
  await page.getByRole('button', { name: 'Exportar CSV' }).click()
  await expect(page.getByRole('alert').filter({ hasText: 'nada foi salvo' })).toBeVisible()
  expect(saved).toBe(0)
})

test.describe('in English', () => {
  test.use({ locale: 'en-US' })

  test('older charges are on further pages, which keep the filters', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    for (let index = 0; index < 26; index++)
      await createCharge(shop, { client_name: `Payer ${index}` })
    await page.goto('/test/charges?status=pending')
    await expect(payerLinks(page)).toHaveCount(25)
    await page.getByRole('link', { name: 'Older' }).click()
    await expect(payerLinks(page)).toHaveText(['Payer 0'])
    await expect(page).toHaveURL(/status=pending&cursor=/)
    await expect(page.getByText('1 filter applied')).toBeVisible()
    await expect(payerLinks(page)).toHaveAttribute('href', /\/test\/charges\/[0-9a-f-]{36}$/)
  })
})
