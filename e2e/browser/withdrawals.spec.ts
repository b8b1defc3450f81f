import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright/test'
import { expect, expectAccessible, expectBalance, test } from '#e2e/browser/app.ts'
import { listRows, PHONE } from '#e2e/browser/layout.ts'
import { openShop } from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

test.use({ locale: 'pt-BR' })

const findStatus = (page: Page) => page.getByTestId('withdrawal-status').filter({ visible: true })

test.describe('on a phone', () => {
  test.use({ viewport: PHONE })

  test('a withdrawal shows the key as the bank reads it, then the result', async ({
    page,
    context,
  }) => {
    await openShop(context)
    await page.goto('/test/withdrawals')
    await expect(page.getByText('Nenhum saque ainda')).toBeVisible()
    await page.getByRole('link', { name: 'Solicitar saque' }).first().click()
    await expectBalance(page, 'R$ 1.000,00')
    await page.getByLabel('Valor').fill('150,5')
    await page.getByLabel('Chave Pix').fill('11 98765-4321')
    await page.getByLabel('Anotação').fill('Frete de novembro')
    await expect(page.getByLabel('Tipo da chave')).toHaveValue('phone')
    await expect(page.getByText('Seu saldo ficará em R$ 849,50 após este saque.')).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Continuar' }).click()
    await expect(page.getByText('+55 (11) 98765-4321')).toBeVisible()
    await expect(page.getByTestId('amount')).toHaveText('R$ 150,50')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Voltar e corrigir' }).click()
    await expect(page.getByLabel('Chave Pix')).toHaveValue('11 98765-4321')
    await expect(page.getByLabel('Valor')).toHaveValue('150,50')
    await page.getByLabel('Valor').press('Enter')
    await page.getByRole('button', { name: 'Confirmar saque' }).click()
    await page.waitForURL(/\/test\/withdrawals\/[0-9a-f-]{36}$/)
    await expect(findStatus(page)).toHaveText('Enviado')
    const steps = page.getByRole('list', { name: 'Histórico' }).getByRole('listitem')
    await expect(steps.nth(0)).toContainText('Saque solicitado')
    await expect(steps.nth(1)).toContainText('novo saldo: R$ 849,50')
    await expect(steps.last()).toContainText('Dinheiro enviado')
    await expect(page.getByText('+55 (11) *****-4321')).toBeVisible()
    await page.getByRole('button', { name: 'Revelar' }).click()
    await expect(page.getByText('+55 (11) 98765-4321')).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('navigation').getByRole('link', { name: 'Saques' }).first().click()
    await expect(findStatus(page)).toHaveText('Enviado')
    await expect(page.getByTestId('withdrawal-total')).toHaveText('1 saqueR$ 150,50 no total')
    await expect(listRows(page)).toContainText('+55 (11) *****-4321Frete de novembro')
    await expectAccessible(page)
  })
})

test.describe('in English', () => {
  test.use({ locale: 'en-US' })

  test('a withdrawal that the simulated bank rejects returns the amount', {
    tag: '@torture',
  }, async ({ page, context }) => {
    await openShop(context)
    await page.goto('/test/withdrawals')
    await page.getByRole('link', { name: 'Request withdrawal' }).first().click()
    await page.getByRole('button', { name: 'Withdraw all' }).click()
    await page.getByLabel('Pix key').fill('HOLD@Example.com')
    await page.getByRole('button', { name: 'Continue' }).click()
    await expect(page.getByText('hold@example.com', { exact: true })).toBeVisible()
    await page.getByRole('button', { name: 'Confirm withdrawal' }).click()
    await page.waitForURL(/\/withdrawals\/[0-9a-f-]{36}$/)
    await expect(findStatus(page)).toHaveText('Processing')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    await expect(findStatus(page)).toHaveText('Rejected')
    await expect(page.getByText('Event created: withdrawal.rejected.')).toBeVisible()
    const announcement = 'Withdrawal rejected: the amount is back in the balance.'
    await expect(page.getByText(announcement)).toBeAttached()
    await expect(page.getByText('Rejected at the simulated bank.')).toBeVisible()
    await expect(page.getByText('new balance: R$ 1,000.00')).toBeVisible()
    await page.goto('/test/withdrawals/new')
    await expectBalance(page, 'R$ 1,000.00')
  })
})

test('eleven digits that fit two types of key require a choice', async ({ page, context }) => {
  await openShop(context)
  await page.goto('/test/withdrawals/new')
  await page.getByLabel('Valor').fill('10')
  await page.getByLabel('Chave Pix').fill('12345678900')
  await expect(page.getByText('Onze dígitos podem ser CPF ou celular. Escolha.')).toBeVisible()
  await page.getByRole('button', { name: 'Continuar' }).click()
  await expect(page.getByText('Escolha o tipo da chave.')).toBeVisible()
  await expect(page.getByLabel('Tipo da chave')).toBeFocused()
  await page.getByLabel('Tipo da chave').selectOption('phone')
  await page.getByRole('button', { name: 'Continuar' }).click()
  await expect(page.getByText('+55 (12) 34567-8900')).toBeVisible()
  await page.getByRole('button', { name: 'Voltar e corrigir' }).click()
  await page.getByLabel('Tipo da chave').selectOption('cpf')
  await page.getByRole('button', { name: 'Continuar' }).click()
  await expect(page.getByText('123.456.789-00')).toBeVisible()
})

test('invalid input is reported at its field, before any request', async ({ page, context }) => {
  await openShop(context)
  await page.goto('/test/withdrawals/new')
  await page.getByRole('button', { name: 'Continuar' }).click()
  await expect(page.getByText('Informe o valor (mínimo R$ 10,00).')).toBeVisible()
  await expect(page.getByText('Preencha este campo.')).toHaveCount(1)
  await expect(page.getByLabel('Valor')).toBeFocused()
  await page.getByLabel('Valor').fill('9,99')
  await page.getByLabel('Chave Pix').fill('ana@')
  await page.getByRole('button', { name: 'Continuar' }).click()
  await expect(page.getByText('O saque mínimo é de R$ 10,00.')).toBeVisible()
  const keyProblem = page.getByText('Isto não parece uma chave Pix.', { exact: false })
  await expect(keyProblem).toBeVisible()
  await page.getByLabel('Chave Pix').fill('ana@example.com')
  await expect(keyProblem).toHaveCount(0)
  await expect(page.getByText('O saque mínimo é de R$ 10,00.')).toBeVisible()
})

test.describe('refused by the server', () => {
  test.use({ expectedStatuses: [422, 503, 409] })

  test('the form reports an unavailable bank, a used reference and an insufficient balance', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const key = {
      pixKeyType: 'email',
      pixKey: 'hold@a.example',
      dictKey: 'hold@a.example',
    } as const
    await createWithdrawal(shop.id, 'test', { ...key, amount: 1_000, externalId: 'payout-1' })
    await page.goto('/test/withdrawals/new')
    await page.getByLabel('Valor').fill('2.000')
    await page.getByLabel('Chave Pix').fill('unavailable@example.com')
    await page.getByText('Referência e webhook').click()
    await page.getByLabel('Referência').fill('payout-1')
    await expect(page.getByText('Faltam R$ 1.010,00 no saldo para este saque.')).toBeVisible()
    await page.getByRole('button', { name: 'Continuar' }).click()
    await expect(page.getByText('Saldo insuficiente. Disponível: R$ 990,00.')).toBeVisible()
    await expect(page.getByLabel('Valor')).toBeFocused()
    await page.getByLabel('Valor').fill('20')
    const confirm = async () => {
      await page.getByRole('button', { name: 'Continuar' }).click()
      await page.getByRole('button', { name: 'Confirmar saque' }).click()
    }
    await confirm()
    await expect(
      page.getByText('Serviço temporariamente indisponível.', { exact: false }),
    ).toBeVisible()
    await page.getByRole('button', { name: 'Voltar e corrigir' }).click()
    await page.getByLabel('Chave Pix').fill('ana@example.com')
    await confirm()
    await expect(page.getByText('Esta referência já foi usada. Escolha outra.')).toBeVisible()
    await expect(page.getByLabel('Referência')).toBeFocused()
    await page.getByLabel('Referência').fill('payout-2')
    await page.getByRole('button', { name: 'Continuar' }).click()
    await createWithdrawal(shop.id, 'test', { ...key, amount: 98_000 })
    await page.getByRole('button', { name: 'Confirmar saque' }).click()
    await expect(page.getByText('Saldo insuficiente. Disponível: R$ 10,00.')).toBeVisible()
    await expect(page.getByLabel('Valor')).toBeFocused()
    await page.getByLabel('Valor').fill('10')
    await confirm()
    await expect(findStatus(page)).toHaveText('Enviado')
  })
})

test.describe('withdrawals', () => {
  test.use({ expectedStatuses: [404] })

  test('are found by filters, and are 404 for another merchant', { tag: '@torture' }, async ({
    page,
    context,
    browser,
  }) => {
    const shop = await openShop(context)
    const key = { pixKeyType: 'cpf', pixKey: '529.982.247-25', dictKey: '52998224725' } as const
    const withdrawal = await createWithdrawal(shop.id, 'test', { ...key, amount: 1_000 })
    await page.goto('/test/withdrawals?status=rejected')
    await expect(page.getByText('Nenhum saque encontrado')).toBeVisible()
    await page.getByRole('button', { name: 'Limpar filtros' }).click()
    await expect(page.getByText('***.982.247-**').filter({ visible: true })).toBeVisible()
    await page
      .getByRole('searchbox', { name: 'Chave Pix, referência, anotação, valor ou ID' })
      .fill('52998224725')
    await expect(page).toHaveURL(/q=52998224725/)
    await expect(page.getByText('***.982.247-**').filter({ visible: true })).toBeVisible()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Exportar CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^saques-\d{4}-\d\d-\d\d\.csv$/)
    const [, row, end] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    expect([row, end]).toEqual([expect.stringContaining(withdrawal.id), ''])
    const otherContext = await browser.newContext({ locale: 'pt-BR' })
    await openShop(otherContext, 'Outra loja')
    const otherPage = await otherContext.newPage()
    for (const id of [withdrawal.id, newId(), 'x']) {
      const response = await otherPage.goto(new URL(`/test/withdrawals/${id}`, page.url()).href)
      expect(response?.status()).toBe(404)
      await expect(otherPage.getByRole('heading', { name: 'Página não encontrada' })).toBeAttached()
    }
    await otherContext.close()
  })
})
