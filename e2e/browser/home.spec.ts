import type { Page } from 'playwright/test'
import { expect, expectAccessible, expectBalance, readSetting, test } from '#e2e/browser/app.ts'
import { expectFits, listRows } from '#e2e/browser/layout.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { loseDispute, openDispute } from '#lib/charges/disputes/dispute.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { checkLedger } from '#lib/ledger/check.ts'
import { call } from '#lib/testing/call.ts'
import { openReceiver } from '#lib/testing/receiver.ts'

const HOME_PATH = '/test/home'
const CHARGE_FIELDS = { amount: 4_990, client_name: 'Rita Lima', client_email: 'rita@example.com' }

async function createCharge({ token }: Shop, overrides: object = {}): Promise<string> {
  const body = { ...CHARGE_FIELDS, client_doc: '52998224725', ...overrides }
  const response = await call(readSetting('BASE_URL'), 'POST', '/transactions', { token, body })
  return response.body.data.transaction_id
}

async function payCharge({ token }: Shop, id: string): Promise<void> {
  const body = { outcome: 'paid' }
  await call(readSetting('BASE_URL'), 'POST', `/sandbox/transactions/${id}`, { token, body })
}

const firstSteps = (page: Page) => page.getByTestId('first-steps')
/** The first status element shows the progress; the other one reports copying. */
const progress = (page: Page) => firstSteps(page).getByRole('status').first()

test.describe('on a desktop, in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 1280, height: 900 } })

  test('a payment appears without a reload, and the first steps complete by themselves', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const id = await createCharge(shop)
    await page.goto(HOME_PATH)
    await expectBalance(page, 'R$ 1.000,00')
    await expect(progress(page)).toHaveText('1 de 3 feitos')
    await expect(firstSteps(page).getByRole('listitem')).toHaveText([
      /Pague uma cobrança de teste/,
      /Crie um token de API/,
      /Receba um webhook/,
    ])
    await expect(firstSteps(page).getByRole('link', { name: 'Nova cobrança' })).toHaveAttribute(
      'href',
      '/test/charges/new',
    )
    const row = listRows(page).filter({ hasText: 'Rita Lima' })
    await expect(row).toContainText('Pendente')
    await payCharge(shop, id)
    await expect(progress(page)).toHaveText('2 de 3 feitos')
    await expect(
      firstSteps(page).locator('[href="/test/webhooks/endpoints/new"]').first(),
    ).toBeVisible()
    await expect(row).toContainText('Paga')
    await expectBalance(page, 'R$ 1.049,90')
    await expectAccessible(page)
    const receiver = await openReceiver()
    await payCharge(shop, await createCharge(shop, { webhook_url: receiver.url }))
    await expect(progress(page)).toHaveText(/^Tudo pronto/)
    await expect(firstSteps(page)).toBeHidden()
    await receiver.close()
    const link = page.getByRole('link', { name: 'Rita Lima' }).last()
    await expect(link).toHaveAttribute('href', `/test/charges/${id}`)
  })

  test('a line says which withdrawals are pending for long', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const { id: accountId, token } = await openShop(context)
    const body = { amount: 25_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
    const order = await call(readSetting('BASE_URL'), 'POST', '/withdrawals', { token, body })
    await page.goto(HOME_PATH)
    await expect(page.getByText('reservados em 1 saque')).toBeVisible()
    await expect(page.getByText('há mais de 10 minutos')).toHaveCount(0)
    const where = { accountId_id: { accountId, id: order.body.data.id } }
    const createdAt = new Date(Date.now() - 11 * 60_000)
    await db().withdrawal.update({ where, data: { createdAt } })
    await page.reload()
    const line = page.getByText('está pendente há mais de 10 minutos')
    await expect(line).toContainText('1 saque de R$ 250,00')
    await expectAccessible(page)
    await line.getByRole('link', { name: '1 saque' }).click()
    await expect(page).toHaveURL('/test/withdrawals?status=pending')
    await expect(listRows(page).filter({ hasText: '250,00' })).toBeVisible()
  })

  test('a disputed payment is held, and its charge shows the dispute', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const id = await createCharge(shop, { amount: 60_000 })
    await payCharge(shop, id)
    const { endToEndId } = await db().charge.findFirstOrThrow({ where: { id } })
    const report = {
      connectionId: SIMULATOR_CONNECTION_ID,
      bankId: newId(),
      amount: 60_000,
      endToEndId: endToEndId ?? '',
    }
    await openDispute(report)
    await page.goto(HOME_PATH)
    await expectBalance(page, 'R$ 1.000,00')
    const balance = page.getByRole('region', { name: 'Saldo' })
    await expect(balance).toContainText('mais R$ 600,00 reservados por pagamentos contestados')
    await expect(balance).not.toContainText('Nenhum valor reservado')
    await page.goto(`/test/charges/${id}`)
    await expect(page.getByText('O pagador contestou R$ 600,00', { exact: true })).toBeVisible()
    await expectAccessible(page)
    await loseDispute({ ...report, amount: 45_000 })
    await page.reload()
    await expect(page.getByText('Contestação perdida: R$ 450,00 devolvidos')).toBeVisible()
    await expect(page.getByText('R$ 150,00 liberados da contestação')).toBeVisible()
  })

  test('hidden first steps stay hidden', { tag: '@torture' }, async ({ page, context }) => {
    await openShop(context)
    await page.goto(HOME_PATH)
    await firstSteps(page).getByRole('button', { name: 'Ocultar' }).click()
    await expect(firstSteps(page)).toBeHidden()
    await page.reload()
    await expectBalance(page, 'R$ 1.000,00')
    await expect(firstSteps(page)).toBeHidden()
  })

  test('the ledger badge shows the result of the last check', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const { id } = await openShop(context)
    await checkLedger(db(), id)
    await page.goto(HOME_PATH)
    await page.getByText('Saldo conferido').hover()
    await expect(page.getByRole('tooltip')).toHaveText(/^Conferido em \d/)
    const wrong = 'every balance is the sum of its entries: test, available balance'
    await db().ledgerCheck.update({ where: { accountId: id }, data: { wrong } })
    await page.reload()
    await expect(page.getByText('Divergência no saldo')).toBeVisible()
    await expect(
      page.getByRole('alert').filter({ hasText: 'fale com o administrador' }),
    ).toBeVisible()
    await expectAccessible(page)
  })

  test('the period of the chart is in the URL, its values in a table and at each bar', {
    tag: '@torture',
  }, async ({ page, context }) => {
    await openShop(context)
    await page.goto(HOME_PATH)
    const table = page.getByRole('table', { name: 'Recebimentos' })
    await expect(table.getByRole('row')).toHaveCount(31)
    await expect(table.getByRole('row').last()).toHaveText(/R\$ 1\.000,001$/)
    await page.getByRole('application').focus()
    await page.keyboard.press('End')
    for (let index = 0; index < 29; index++) await page.keyboard.press('ArrowRight')
    await expect(page.getByText('1 cobrança paga')).toBeVisible()
    await page.getByRole('button', { name: 'Últimos 90 dias' }).click()
    await expect(page).toHaveURL(`${HOME_PATH}?period=90d`)
    await expect(table.getByRole('row')).toHaveCount(91)
    await page.getByRole('button', { name: 'Período' }).click()
    await page.getByRole('menuitemradio', { name: 'Mês passado' }).click()
    await expect(page).toHaveURL(`${HOME_PATH}?period=last_month`)
    await expect(page.getByText('Nenhum recebimento neste período')).toBeVisible()
    await page.getByRole('button', { name: 'Período' }).click()
    await page.getByRole('menuitemradio', { name: 'Escolher datas' }).click()
    const dialog = page.getByRole('dialog', { name: 'Escolher datas' })
    const [from, to] = [
      dialog.getByRole('textbox', { name: 'De' }),
      dialog.getByRole('textbox', { name: 'Até' }),
    ]
    await from.fill('31/02/2026')
    await dialog.getByRole('button', { name: 'Aplicar' }).click()
    await expect(dialog.getByText('Informe a data como dd/mm/aaaa.')).toBeVisible()
    await from.fill('30/01/2026')
    await to.fill('29/01/2026')
    await dialog.getByRole('button', { name: 'Aplicar' }).click()
    await expect(dialog.getByText('Escolha um dia igual ou posterior')).toBeVisible()
    await expect(to).toBeFocused()
    await to.fill('31/01/2026')
    await dialog.getByRole('button', { name: 'Até: Calendário' }).press('Enter')
    const calendar = page.getByRole('dialog', { name: 'Até' })
    await expect(calendar.getByRole('button', { name: /31 de janeiro de 2026$/ })).toBeFocused()
    await expectAccessible(page)
    for (const key of ['ArrowRight', 'PageDown', 'PageUp', 'ArrowRight', 'Enter'])
      await page.keyboard.press(key)
    await expect(calendar).toBeHidden()
    await expect(to).toHaveValue('02/02/2026')
    await dialog.getByRole('button', { name: 'Aplicar' }).click()
    await expect(page).toHaveURL(`${HOME_PATH}?period=custom&from=2026-01-30&to=2026-02-02`)
    await expect(table.getByRole('row')).toHaveCount(5)
    await expect(page.getByText('Nenhum recebimento neste período')).toBeVisible()
    await page.goBack()
    await page.goBack()
    await expect(page.getByRole('button', { name: 'Últimos 90 dias' })).toHaveAttribute(
      'aria-pressed',
      'true',
    )
  })
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 390, height: 844 } })

  test('the home page shows the balance, its actions and the held amount @torture', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context, 'Padaria com um Nome Muito Comprido de Verdade Ltda')
    const order = { amount: 12_345, pix_key: 'hold@example.com', pix_key_type: 'email' }
    const { token } = shop
    await call(readSetting('BASE_URL'), 'POST', '/withdrawals', { token, body: order })
    await page.goto(HOME_PATH)
    await expectBalance(page, 'R$ 876.55')
    await expect(page.getByText('plus R$ 123.45 held in 1 withdrawal')).toBeVisible()
    for (const [name, path] of [
      ['New charge', '/test/charges/new'],
      ['Withdraw', '/test/withdrawals/new'],
    ]) {
      const link = page.getByRole('main').getByRole('link', { name, exact: true })
      await expect(link.filter({ visible: true }).first()).toHaveAttribute('href', path ?? '')
    }
    await expect(page.getByRole('application')).toBeVisible()
    await expectAccessible(page)
    await expectFits(page)
  })
})
