import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'

const PAYER = {
  client_name: 'João Conceição',
  client_email: 'joao@example.com',
  client_doc: '529.982.247-25',
}

async function openCharge(shop: Shop, amount: number, external_id: string) {
  const response = await fetch(`${readSetting('BASE_URL')}/api/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ amount, external_id, ...PAYER }),
  })
  const { data } = (await response.json()) as { data: { transaction_id: string; br_code: string } }
  return { id: data.transaction_id, code: data.br_code }
}

test.describe('on a desktop', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })

  test('an invalid code is rejected with the reason; a valid code is read and paid', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context, 'Padaria São João')
    const { id, code } = await openCharge(shop, 123_456, 'mesa-7')
    await page.goto('/test/bank')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Banco simulado')
    const field = page.getByLabel('Código Pix Copia e Cola')
    const read = page.getByRole('button', { name: 'Ler código' })
    await read.click()
    await expect(field).toHaveAccessibleDescription('Preencha este campo.')
    await field.fill(code.replace('Padaria', 'Padarla'))
    await read.click()
    await expect(field).toHaveAccessibleDescription(/o CRC no fim não confere/)
    await expect(field).toBeFocused()
    await field.fill(` ${code}\n`)
    await read.click()
    await expect(page.getByTestId('bank-amount')).toHaveText('R$ 1.234,56')
    const screen = page.getByRole('region', { name: 'Tela do banco' })
    await expect(screen).toContainText('para Padaria Sao Joao')
    await expect(screen).toContainText('mesa-7')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Pagar' }).click()
    await expect(page.getByRole('heading', { name: 'Pagamento feito' })).toBeFocused()
    await expect(page.getByText('Nenhuma cobrança em aberto')).toBeVisible()
    await expect(page.getByRole('link', { name: 'Ver a cobrança' })).toHaveAttribute(
      'href',
      `/test/charges/${id}`,
    )
    await page.goto(`/test/bank?charge=${id}`)
    await expect(screen).toContainText('Uma cobrança só pode ser paga uma vez.')
    await expect(page.getByRole('button', { name: /Pagar/ })).toHaveCount(0)
  })
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 390, height: 844 } })

  test('an open charge is chosen from the list, expires and can still be paid', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    await openCharge(shop, 4_990, 'order-1')
    await page.goto('/test/bank')
    await expectAccessible(page)
    await page.getByRole('link', { name: PAYER.client_name }).click()
    await expect(page.getByTestId('bank-amount')).toHaveText('R$ 49.90')
    await page.getByRole('button', { name: 'Use another code' }).click()
    await expect(page.getByLabel('Pix code')).toBeVisible()
    await page.getByRole('link', { name: PAYER.client_name }).click()
    await page.getByRole('button', { name: 'Simulate expiry' }).click()
    await expect(page.getByRole('heading', { name: 'The charge expired' })).toBeVisible()
    await page.getByRole('link', { name: 'View charge' }).click()
    await page.getByRole('link', { name: 'Pay at the simulated bank' }).click()
    await expect(page.getByText('A bank can confirm a payment after')).toBeVisible()
    await page.getByRole('button', { name: 'Pay anyway' }).click()
    await expect(page.getByRole('heading', { name: 'Payment made' })).toBeVisible()
    await page.getByRole('button', { name: 'Use another code' }).click()
    await expect(page.getByLabel('Pix code')).toBeVisible()
  })

  test('a code in the URL is read at once; a code of another merchant is rejected', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    const { code } = await openCharge(shop, 4_990, 'order-2')
    await page.goto(`/test/bank?code=${encodeURIComponent(code)}`)
    await expect(page.getByTestId('bank-amount')).toHaveText('R$ 49.90')
    await openShop(context)
    await page.goto(`/test/bank?code=${encodeURIComponent(code)}`)
    await expect(page.getByLabel('Pix code')).toHaveValue(code)
    await expect(page.getByLabel('Pix code')).toHaveAccessibleDescription(
      /doesn’t belong to a test charge of this account/,
    )
  })
})

test.describe('a charge of another merchant', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 390, height: 844 }, expectedStatuses: [404] })

  test('is not found', async ({ page, context }) => {
    const { id } = await openCharge(await openShop(context), 4_990, 'order-3')
    await openShop(context)
    await page.goto(`/test/bank?charge=${id}`)
    await expect(page.getByRole('heading', { name: 'Página não encontrada' })).toBeVisible()
  })
})
