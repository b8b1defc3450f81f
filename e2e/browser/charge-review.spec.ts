import type { Page } from 'playwright/test'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { PHONE } from '#e2e/browser/layout.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'
import { db } from '#lib/db/client.ts'

const THRESHOLD = 100_000

const setThreshold = (shop: Shop, chargeReviewAbove: number | null) =>
  db().account.update({ where: { id: shop.id }, data: { chargeReviewAbove } })
/** Without the welcome charge. */
const countCharges = async (shop: Shop) =>
  (await db().charge.count({ where: { accountId: shop.id } })) - 1

async function fillCharge(page: Page, amount: string): Promise<void> {
  await page.locator('[name=client_name]').fill('Mercearia Ñandú & Cia')
  await page.locator('[name=client_email]').fill('compras@nandu.example')
  await page.locator('[name=client_doc]').fill('52998224725')
  await page.locator('input[name=description]').fill('Pedido 1047')
  await page.locator('[name=amount]').fill(amount)
}

test.describe('on a phone', () => {
  test.use({ viewport: PHONE, locale: 'pt-BR' })

  test('a charge above the threshold is created once, after its amount was confirmed', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await setThreshold(shop, THRESHOLD)
    await page.goto('/test/charges/new')
    await fillCharge(page, '12.345,60')
    const create = page.getByRole('button', { name: 'Criar cobrança' })
    await create.dblclick()
    const title = page.getByRole('heading', { name: 'Confira antes de confirmar' })
    await expect(title).toBeVisible()
    await expect(page.getByTestId('amount')).toHaveText('R$ 12.345,60')
    await expect(page.getByText('Mercearia Ñandú & Cia')).toBeVisible()
    await expect(page.getByText('529.982.247-25')).toBeVisible()
    await expect(page.getByText('Pedido 1047')).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Voltar e corrigir' }).click()
    await expect(page.getByLabel('Valor', { exact: true })).toBeFocused()
    await page.getByLabel('Valor', { exact: true }).fill('1.234,56')
    await page.keyboard.press('Enter')
    await expect(title).toBeFocused()
    await expect(page.getByTestId('amount')).toHaveText('R$ 1.234,56')
    expect(await countCharges(shop)).toBe(0)
    await page.getByRole('button', { name: 'Confirmar cobrança' }).dblclick()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 1.234,56')
    await expect(page.getByText('Pedido 1047')).toBeVisible()
    expect(await countCharges(shop)).toBe(1)
  })
})

test.describe('in English', () => {
  test.use({ locale: 'en-US' })

  test('an owner sets the threshold; a charge at it is created without a review', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    await page.goto('/test/settings')
    const threshold = page.getByLabel('Review charges above')
    await expect(threshold).toHaveValue('')
    await threshold.fill('1,0000')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await expect(page.getByText('R$ 100.00').first()).toBeVisible()
    await threshold.fill('1,000')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await expect(page.getByText('Saved.')).toBeVisible()
    const stored = await db().account.findUniqueOrThrow({ where: { id: shop.id } })
    expect(stored.chargeReviewAbove).toBe(100_000n)
    await page.reload()
    await expect(threshold).toHaveValue('1,000.00')
    await page.goto('/test/settings/audit')
    await page.getByText('Account details changed').filter({ visible: true }).click()
    await expect(page.getByText('Review of charges above: empty → R$ 1,000.00')).toBeVisible()
    await page.goto('/test/charges/new')
    await fillCharge(page, '1,000.00')
    await page.getByRole('button', { name: 'Create charge' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 1,000.00')
  })
})

test.describe('a threshold that was lowered after the form was opened', () => {
  test.use({ locale: 'pt-BR', expectedStatuses: [409, 422] })

  test('still leads to the review, and a refusal of the confirmed charge back to its field', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await page.goto('/test/charges/new')
    await fillCharge(page, '50')
    await page.getByText('Mais opções').click()
    await page.getByLabel('Referência').fill('pedido-1')
    await setThreshold(shop, 0)
    await page.getByRole('button', { name: 'Criar cobrança' }).click()
    await expect(page.getByTestId('amount')).toHaveText('R$ 50,00')
    expect(await countCharges(shop)).toBe(0)
    await db().charge.updateMany({
      where: { accountId: shop.id },
      data: { externalId: 'pedido-1' },
    })
    await page.getByRole('button', { name: 'Confirmar cobrança' }).click()
    await expect(page.getByText('Esta referência já foi usada.')).toBeVisible()
    await expect(page.getByLabel('Referência')).toBeFocused()
    await page.getByLabel('Referência').fill('pedido-2')
    await page.getByRole('button', { name: 'Criar cobrança' }).click()
    await page.getByRole('button', { name: 'Confirmar cobrança' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 50,00')
    expect(await countCharges(shop)).toBe(1)
  })
})
