import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright/test'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { listRows, PHONE } from '#e2e/browser/layout.ts'
import { openShop } from '#e2e/browser/merchant.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const PIX_KEY = { pixKeyType: 'cpf', pixKey: '52998224725', dictKey: '52998224725' } as const

test.use({ locale: 'pt-BR' })

/** Creates a shop with R$ 1.000,00 and a rejected withdrawal of R$ 250,00. */
async function openBusyShop(context: Parameters<typeof openShop>[0]) {
  const shop = await openShop(context)
  const { id } = await createWithdrawal(shop.id, 'test', { ...PIX_KEY, amount: 25_000 })
  await rejectWithdrawal({ accountId: shop.id, withdrawalId: id, reason: REFUSAL })
  return { shop, withdrawalId: id }
}

test('the sums of the statement add up, and each row links to its source', async ({
  page,
  context,
}) => {
  const { withdrawalId } = await openBusyShop(context)
  await page.goto('/test/statement')
  await expect(page.getByRole('heading', { name: 'Extrato' })).toBeVisible()
  const summary = page.locator('dl').filter({ has: page.getByTestId('closing') })
  await expect(summary).toContainText('R$ 0,00')
  await expect(summary).toContainText('+ R$ 1.250,00')
  await expect(summary).toContainText('− R$ 250,00')
  await expect(page.getByTestId('closing')).toHaveText('R$ 1.000,00')
  const rows = page
    .getByRole('main')
    .getByRole('link', { name: /^(Estorno|Saque|Cobrança)/ })
    .filter({ visible: true })
  await expect(rows).toHaveText(['Estorno de saque recusado', 'Saque', 'Cobrança paga'])
  await expect(page.getByText('***.982.247-**').filter({ visible: true })).toHaveCount(2)
  await expectAccessible(page)
  await rows.first().click()
  await expect(page).toHaveURL(new RegExp(`/test/withdrawals/${withdrawalId}$`))
})

test.describe('on a phone', () => {
  test.use({ viewport: PHONE })

  test('a movement shows its amount, and below it the balance by that name', {
    tag: '@one-size',
  }, async ({ page, context }) => {
    await openBusyShop(context)
    await page.goto('/test/statement')
    for (const [name, amount, balance] of [
      ['Estorno de saque recusado', '+ R$ 250,00', 'R$ 1.000,00'],
      ['Saque', '− R$ 250,00', 'R$ 750,00'],
      ['Cobrança paga', '+ R$ 1.000,00', 'R$ 1.000,00'],
    ] as const) {
      const link = page.getByRole('link', { name, exact: true })
      const card = listRows(page).filter({ has: link })
      await expect(card).toContainText(amount)
      await expect(card.getByText('Saldo').locator('..')).toHaveText(`Saldo ${balance}`)
    }
  })
})

/** Chooses February 2024 with the keyboard alone. */
async function chooseFebruary(page: Page): Promise<void> {
  const chip = page.getByRole('button', { name: 'Período: Hoje' })
  const dialog = page.getByRole('dialog', { name: 'Escolher mês' })
  await chip.focus()
  const open = async () => {
    await page.keyboard.press('Enter')
    await page.getByRole('menuitemradio', { name: 'Escolher mês' }).press('Enter')
    await expect(dialog).toBeVisible()
  }
  // The first opening waits for the dialog's script, the second one does not.
  for (const _ of ['first', 'second']) {
    await open()
    await page.keyboard.press('Escape')
    await expect(chip).toBeFocused()
  }
  await open()
  const previousYear = dialog.getByRole('button', { name: 'Ano anterior' })
  while ((await dialog.getByRole('status').textContent()) !== '2024') {
    await previousYear.press('Enter')
  }
  await expectAccessible(page)
  await dialog.getByRole('radio', { checked: true }).focus()
  while (!(await dialog.getByRole('radio', { name: 'fevereiro' }).isChecked())) {
    await page.keyboard.press('ArrowRight')
  }
  await page.keyboard.press('Enter')
}

test('the period is in the URL, and an empty period offers the whole statement', async ({
  page,
  context,
}) => {
  await openBusyShop(context)
  await page.goto('/test/statement?period=custom&from=2020-01-01&to=2020-01-31')
  await expect(page.getByText('Nenhuma movimentação neste período')).toBeVisible()
  await page.getByRole('link', { name: 'Ver tudo' }).click()
  await expect(page).toHaveURL(/period=all/)
  await expect(
    page.getByRole('link', { name: 'Cobrança paga' }).filter({ visible: true }),
  ).toBeVisible()
  await page.getByRole('button', { name: /^Período/ }).click()
  await page.getByRole('menuitemradio', { name: 'Este mês' }).click()
  await expect(page).toHaveURL(/period=this_month/)
  await expect(page.getByRole('button', { name: 'Período: Este mês' })).toBeVisible()
  await expect(
    page.getByRole('link', { name: 'Cobrança paga' }).filter({ visible: true }),
  ).toBeVisible()
  await page.getByRole('button', { name: /^Período/ }).click()
  await page.getByRole('menuitemradio', { name: 'Hoje' }).click()
  await expect(page).toHaveURL(/period=today/)
  await chooseFebruary(page)
  await expect(page).toHaveURL(/period=2024-02$/)
  await expect(page.getByRole('button', { name: 'Período: fevereiro de 2024' })).toBeVisible()
  await expect(page.getByText('Nenhuma movimentação neste período')).toBeVisible()
  await page.getByRole('button', { name: 'Limpar: Período' }).click()
  await expect(page).toHaveURL(/period=all/)
})

test.describe('in English', () => {
  test.use({ locale: 'en-US' })

  test('the statement is downloaded as CSV and as OFX', async ({ page, context }) => {
    await openBusyShop(context)
    await page.goto('/test/statement')
    for (const [format, expectedText] of [
      ['CSV', 'Charge paid'],
      ['OFX', '<BALAMT>1000.00</BALAMT>'],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Download ${format}` }).click(),
      ])
      const suffix = format.toLowerCase()
      expect(download.suggestedFilename()).toMatch(new RegExp(`^statement-[\\d-]+\\.${suffix}$`))
      const file = await readFile(await download.path(), 'utf8')
      expect(file).toContain(expectedText)
      expect(file.split(format === 'CSV' ? '\r\n' : '<STMTTRN>')).toHaveLength(
        format === 'CSV' ? 5 : 4,
      )
    }
  })
})

test.describe('a failed export', () => {
  test.use({ expectedStatuses: [503] })

  test('saves no file and shows the reason', { tag: '@torture' }, async ({ page, context }) => {
    await openShop(context)
    await page.goto('/test/statement')
    await page.route('**/api/dashboard/statement/export**', route =>
      route.fulfill({
        status: 503,
        headers: { 'x-error-code': 'service_unavailable' },
        json: { error: 'Service unavailable' },
      }),
    )
    let downloads = 0
    page.on('download', () => downloads++)
    await page.getByRole('button', { name: 'Baixar CSV' }).click()
    await expect(page.getByText('O download foi interrompido e nada foi salvo.')).toBeVisible()
    expect(downloads).toBe(0)
  })
})
