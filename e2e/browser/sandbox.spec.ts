import type { Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { expectFits, listRows, PHONE, takePictures } from '#e2e/browser/layout.ts'
import { addSession, createSession, openShop, type Shop } from '#e2e/browser/merchant.ts'
import { call } from '#lib/testing/call.ts'

const PAYER = { client_name: 'Rita Lima', client_doc: '529.982.247-25' }

async function send(shop: Shop, path: string, body: object) {
  const response = await call(readSetting('BASE_URL'), 'POST', path, { token: shop.token, body })
  expect(response.status, response.text).toBe(200)
  return response.body.data
}

/** Creates a charge whose refunds wait for a decision, and pays it. */
async function payCharge(shop: Shop, amount: number): Promise<string> {
  const order = { amount, ...PAYER, client_email: 'hold@example.com' }
  const { transaction_id: id } = await send(shop, '/transactions', order)
  await send(shop, `/sandbox/transactions/${id}`, { outcome: 'paid' })
  return id
}

const findBank = (page: Page, name: string) => page.getByRole('region', { name })

test.describe('on a phone', () => {
  test.use({ locale: 'pt-BR', viewport: PHONE })

  test('a refund is refused, and the payment disputed and lost in part, in place of the bank', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    await page.goto(`/test/charges/${await payCharge(shop, 10_000)}`)
    const bank = findBank(page, 'Banco simulado')
    const decide = (group: string, name: string) =>
      bank.getByRole('group', { name: group }).getByRole('button', { name })
    const dialog = page.getByRole('dialog')
    const confirm = (name: string) => dialog.getByRole('button', { name }).click()
    await page.getByRole('button', { name: 'Devolver' }).click()
    await dialog.getByLabel('Valor').fill('5')
    await confirm('Devolver R$ 5,00')
    await expect(page.getByText('Em andamento')).toBeVisible()
    await expectAccessible(page)

    await decide('Devolução de R$ 5,00', 'Recusar').click()
    await dialog.getByLabel('Motivo').fill('Conta encerrada')
    await expectAccessible(page)
    await confirm('Recusar')
    await expect(bank).toContainText('Evento criado: transaction.refund_failed.')
    await expect(decide('Devolução de R$ 5,00', 'Recusar')).toHaveCount(0)
    await expect(page.getByText('O banco informou: Conta encerrada')).toHaveCount(2)

    await decide('Pagamento de R$ 100,00', 'Contestar').click()
    await dialog.getByLabel('Valor').fill('100,01')
    await confirm('Contestar')
    await expect(dialog.getByText('Informe um valor de R$ 0,01 até R$ 100,00.')).toBeVisible()
    await dialog.getByLabel('Valor').fill('40')
    await confirm('Contestar')
    await expect(dialog).toHaveCount(0)
    await expect(page.getByText('Envie o que prova a entrega')).toBeVisible()
    await expectFits(page)
    await expectAccessible(page)
    await decide('Contestação de R$ 40,00', 'Perder').click()
    await dialog.getByLabel('Valor').fill('15')
    await confirm('Perder')
    await expect(page.getByText('R$ 15,00 foram devolvidos ao pagador.')).toBeVisible()
    await expect(bank).toContainText('Evento criado: transaction.dispute_closed.')
    await expect(decide('Pagamento de R$ 100,00', 'Contestar')).toBeVisible()
  })
})

test.describe('controls', () => {
  test.use({ locale: 'pt-BR' })

  test('time is moved and webhooks fail, which every page of test mode says until it is ended', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const order = { amount: 10_000, ...PAYER, client_email: 'rita@example.com' }
    await send(shop, '/transactions', order)
    await page.goto('/test/bank')
    const banner = page.getByRole('region', { name: 'O modo de teste está alterado' })
    await expect(banner).toHaveCount(0)
    await page.getByLabel('Adiantar o tempo em').selectOption('25 horas')
    await page.getByRole('button', { name: 'Adiantar' }).click()
    await expect(banner).toContainText('Você adiantou o tempo em 25 horas. Termina às')
    await expect(page.getByText('Nenhuma cobrança em aberto')).toBeVisible()
    await page.getByLabel('Próximos webhooks').selectOption('enviar, sem resposta')
    await page.getByLabel('Quantos').selectOption('3')
    await page.getByRole('button', { name: 'Aplicar' }).click()
    await expect(banner).toContainText('Os próximos 3 webhooks contarão como sem resposta.')
    await expectAccessible(page)
    await expectFits(page)
    await takePictures(page, 'controls')
    await page.goto('/live/home')
    await expect(banner).toHaveCount(0)
    await page.goto('/test/charges')
    await banner.getByRole('button', { name: 'Encerrar agora' }).click()
    await expect(banner).toHaveCount(0)
  })

  test('a viewer sees that time is moved, and cannot move or end it', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    await send(shop, '/sandbox/clock', { advance: '91d' })
    await context.clearCookies()
    await addSession(context, await createSession({ accountId: shop.id, role: 'viewer' }))
    await page.goto('/test/bank')
    const banner = page.getByRole('region', { name: 'O modo de teste está alterado' })
    await expect(banner).toContainText('91 dias')
    await expect(banner.getByRole('button')).toHaveCount(0)
    await expect(page.getByLabel('Adiantar o tempo em')).toHaveCount(0)
  })
})

test.describe('on a desktop, in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 }, expectedStatuses: [409] })

  test('a refund is completed and a dispute won with the keyboard, and a refusal is explained', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const id = await payCharge(shop, 10_000)
    await send(shop, `/transactions/${id}/refunds`, { amount: 500 })
    const dispute = await send(shop, `/sandbox/transactions/${id}/disputes`, { amount: 2_000 })
    await page.goto(`/test/charges/${id}`)
    const bank = findBank(page, 'Simulated bank')
    await bank.getByRole('button', { name: 'Complete' }).press('Enter')
    await expect(bank.getByRole('status')).toBeFocused()
    await expect(bank.getByRole('status')).toContainText('transaction.refunded')
    await expect(bank.getByRole('button', { name: 'Complete' })).toHaveCount(0)
    // The page learns of another person's decision only when it is refused.
    await send(shop, `/sandbox/disputes/${dispute.id}`, { outcome: 'lost' })
    await bank.getByRole('button', { name: 'Win' }).press('Enter')
    await expect(bank.getByRole('alert')).toContainText('This is already final.')
    await expect(page.getByText('R$ 20.00 was returned to the payer.')).toBeVisible()
    await expect(bank.getByRole('button', { name: 'Win' })).toHaveCount(0)
    await expectAccessible(page)
  })

  test('an approved withdrawal is sent back in two parts, and then nothing is left to decide', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    const { id } = await send(shop, '/withdrawals', { amount: 10_000, pix_key: 'hold@a.example' })
    await page.goto('/test/withdrawals')
    await expect(listRows(page)).toContainText('Processing')
    await listRows(page).getByRole('link').click()
    await expect(page).toHaveURL(`/test/withdrawals/${id}`)
    const bank = findBank(page, 'Simulated bank')
    const dialog = page.getByRole('dialog')
    await bank.getByRole('button', { name: 'Approve' }).click()
    await expect(page.getByTestId('withdrawal-status')).toHaveText('Sent')
    for (const [part, sentBack, status] of [
      ['30', 'R$ 30.00', 'Partly sent back'],
      [null, 'R$ 100.00', 'Sent back'],
    ] as const) {
      await bank.getByRole('button', { name: 'Send back' }).click()
      if (part) await dialog.getByLabel('Amount').fill(part)
      await dialog.getByRole('button', { name: 'Send back' }).click()
      await expect(dialog).toHaveCount(0)
      await expect(page.getByRole('definition').filter({ hasText: sentBack })).toBeVisible()
      await expect(page.getByTestId('withdrawal-status')).toHaveText(status)
    }
    await expect(bank.getByRole('status')).toContainText('withdrawal.returned')
    await expect(bank.getByRole('button')).toHaveCount(0)
    await expectAccessible(page)
  })

  test('a rejected withdrawal says why in the list', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const order = { amount: 10_000, pix_key: 'hold@a.example' }
    const { id } = await send(shop, '/withdrawals', order)
    const decision = { outcome: 'rejected', reason: 'Branch is closed' }
    await send(shop, `/sandbox/withdrawals/${id}`, decision)
    await page.goto('/test/withdrawals')
    await expect(listRows(page)).toContainText('The bank reported: Branch is closed')
    await expectAccessible(page)
    await page.setViewportSize(PHONE)
    await expect(listRows(page)).toContainText('The bank reported: Branch is closed')
    await expectFits(page)
  })

  test('a viewer sees a dispute and no decision', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const id = await payCharge(shop, 10_000)
    await send(shop, `/sandbox/transactions/${id}/disputes`, {})
    const { id: payout } = await send(shop, '/withdrawals', {
      amount: 1_000,
      pix_key: 'a@b.example',
    })
    await addSession(context, await createSession({ accountId: shop.id, role: 'viewer' }))
    await page.goto(`/test/charges/${id}`)
    await expect(page.getByText('Send what proves the delivery')).toBeVisible()
    await expect(findBank(page, 'Simulated bank')).toHaveCount(0)
    await page.goto(`/test/withdrawals/${payout}`)
    await expect(page.getByTestId('withdrawal-status')).toBeVisible()
    await expect(findBank(page, 'Simulated bank')).toHaveCount(0)
  })
})
