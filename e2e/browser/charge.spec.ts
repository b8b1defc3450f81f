import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright/test'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { DESKTOP, expectFits, PHONE } from '#e2e/browser/layout.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { loseDispute, openDispute } from '#lib/charges/disputes/dispute.ts'
import type { DisputeReport } from '#lib/charges/disputes/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { creditAccount } from '#lib/operator/differences/differences.ts'
import { keepOfCharge } from '#lib/testing/differences.ts'

const PAYER = {
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '52998224725',
}

async function post<Data>(page: Page, shop: Shop, path: string, data: object): Promise<Data> {
  const headers = { authorization: `Bearer ${shop.token}` }
  const response = await page.request.post(`/api${path}`, { headers, data })
  expect(response.ok(), await response.text()).toBe(true)
  return (await response.json()).data
}

async function createCharge(page: Page, shop: Shop, overrides: object = {}): Promise<string> {
  const body = { amount: 1_500, ...PAYER, ...overrides }
  const created = await post<{ transaction_id: string }>(page, shop, '/transactions', body)
  return created.transaction_id
}

interface LayoutShift extends PerformanceEntry {
  value: number
  sources: { node: Node | null }[]
}

const simulateOutcome = (page: Page, shop: Shop, id: string, outcome: string) =>
  post(page, shop, `/sandbox/transactions/${id}`, { outcome })

async function reportDispute(chargeId: string, amount: number): Promise<DisputeReport> {
  const { connectionId, endToEndId } = await db().charge.findFirstOrThrow({
    where: { id: chargeId },
  })
  const report = { connectionId, bankId: newId(), endToEndId: endToEndId ?? '', amount }
  await openDispute(report)
  return report
}

async function expectStatus(page: Page, label: string): Promise<void> {
  await expect(page.getByTestId('charge-status')).toHaveText(label)
}

test.describe('on a desktop', () => {
  test.use({ viewport: DESKTOP, locale: 'pt-BR' })

  test('a payment of another amount is a step of the charge, with what was decided about it', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const id = await createCharge(page, shop)
    const { accountId } = await db().charge.findFirstOrThrow({ where: { id } })
    const { itemId } = await keepOfCharge({ accountId, chargeId: id }, 1_400)
    await page.goto(`/test/charges/${id}`)
    await expectStatus(page, 'Pendente')
    const step = page.getByRole('listitem').filter({ hasText: 'em vez de' })
    await expect(step).toContainText('R$ 14,00 recebidos em vez de R$ 15,00')
    await expect(step).toContainText('A cobrança continua sem pagamento.')
    await creditAccount({ itemId, reason: 'Agreed', actor: { type: 'command_line' } }, accountId)
    await page.reload()
    await expect(step).toContainText('O administrador creditou este pagamento a você.')
    await expectAccessible(page)
  })

  test('a new charge shows all its data and turns to paid without a reload', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await page.goto('/test/charges/new')
    await expectAccessible(page)
    await page.locator('[name=amount]').fill('1234,56')
    await page.locator('[name=client_name]').fill('Mercearia Ñandú & Cia')
    await page.locator('[name=client_email]').fill('compras@nandu.example')
    await page.locator('[name=client_doc]').fill('12abc34501de35')
    await page.getByLabel('Telefone').fill('+55 11 98765-4321')
    await expect(page.locator('[name=amount]')).toHaveValue('1.234,56')
    await expect(page.locator('[name=client_doc]')).toHaveValue('12.ABC.345/01DE-35')
    await page.getByText('Mais opções').click()
    await page.getByLabel('Referência').fill('pedido-1047')
    await page.getByLabel('Expira em').selectOption('7 dias')
    await page.getByRole('button', { name: 'Adicionar item' }).click()
    await page.getByRole('textbox', { name: 'Item 1', exact: true }).fill('Café especial 1 kg')
    await page.getByLabel('Quantidade do item 1').fill('2')
    await page.getByLabel('Preço do item 1').fill('45')
    await expect(page.getByText('A soma dos itens é R$ 90,00')).toBeVisible()
    await page.getByRole('button', { name: 'Adicionar metadado' }).click()
    await page.getByLabel('Chave 1').fill('pedido')
    await page.getByLabel('Valor 1').fill('1047')
    await expectAccessible(page)
    const streamResponse = page.waitForResponse(/\/live$/)
    await page.getByRole('button', { name: 'Criar cobrança' }).click()

    await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 1.234,56')
    const id = page.url().split('/').at(-1) ?? ''
    await expectStatus(page, 'Pendente')
    const qr = page.getByRole('img', { name: 'QR code' })
    expect((await qr.boundingBox())?.width).toBeGreaterThanOrEqual(240)
    const code = await page.getByTestId('br-code').textContent()
    expect(code).toMatch(/^000201.*6304[0-9A-F]{4}$/)
    await expect(page.getByRole('timer')).toHaveText(/^Expira em (6 d 23:5\d|7 d 00:00):\d\d$/)
    await expect(page.getByText('2 × Café especial 1 kg')).toBeVisible()
    await expect(page.getByText('pedido=1047')).toBeVisible()
    await expect(page.getByText('**.ABC.345/****-**')).toBeVisible()
    await page.getByRole('button', { name: 'Revelar' }).click()
    await expect(page.getByText('12.ABC.345/01DE-35')).toBeVisible()
    await expectAccessible(page)

    expect((await streamResponse).headers()['content-type']).toContain('text/event-stream')
    await simulateOutcome(page, shop, id, 'paid')
    await expectStatus(page, 'Paga')
    await expect(page.getByRole('status').getByText('Pagamento recebido')).toBeAttached()
    await expect(qr).toHaveCount(0)
    const timeline = page.getByRole('list', { name: 'Histórico' })
    await expect(timeline.getByText('Pagamento confirmado')).toBeVisible()
    await expect(timeline.getByText('Saldo: R$ 2.234,56')).toBeVisible()
    await expectAccessible(page)
  })

  for (const size of [DESKTOP, { width: 1024, height: 768 }, PHONE]) {
    test(`nothing on the page moves when a charge turns paid, ${size.width} px wide`, async ({
      page,
      context,
    }) => {
      const shop = await openShop(context)
      const id = await createCharge(page, shop)
      await page.setViewportSize(size)
      await page.goto(`/test/charges/${id}`)
      await expectStatus(page, 'Pendente')
      await page.waitForResponse(/\/live$/)
      const shifts = await page.evaluateHandle(async () => {
        await document.fonts.ready
        const seen: string[] = []
        new PerformanceObserver(list => {
          for (const entry of list.getEntries() as LayoutShift[])
            for (const { node } of entry.sources)
              seen.push(`${entry.value} ${node?.nodeName} ${node?.textContent?.slice(0, 40)}`)
        }).observe({ type: 'layout-shift' })
        return seen
      })
      await simulateOutcome(page, shop, id, 'paid')
      await expectStatus(page, 'Paga')
      await expect(page.getByText('Pagamento confirmado')).toBeAttached()
      expect(await shifts.jsonValue()).toEqual([])
    })
  }

  test('a form sent again keeps its idempotency key until it is edited', async ({
    page,
    context,
  }) => {
    await openShop(context)
    await page.goto('/test/charges/new')
    const keys: (string | undefined)[] = []
    await page.route('**/api/transactions', route => {
      keys.push(route.request().headers()['idempotency-key'])
      return route.abort('aborted')
    })
    for (const [name, value] of Object.entries({ amount: '10', ...PAYER }))
      await page.locator(`[name=${name}]`).fill(value)
    const alert = page.getByRole('main').getByRole('alert')
    const send = async (count: number) => {
      await page.getByRole('button', { name: 'Criar cobrança' }).click()
      await expect.poll(() => keys.length).toBe(count)
      await expect(alert).toContainText('não repetimos o envio')
    }
    await send(1)
    await send(2)
    await page.locator('[name=amount]').fill('20')
    await send(3)
    await send(4)
    await page.getByText('Mais opções').click()
    await page.getByRole('button', { name: 'Adicionar item' }).click()
    await page.getByRole('button', { name: 'Remover item 1' }).click()
    await send(5)
    const [first, second, third, fourth, fifth] = keys
    expect([second, fourth]).toEqual([first, third])
    expect(new Set([undefined, first, third, fifth]).size).toBe(4)
  })

  test('without its event stream the page polls and still turns to paid', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await page.route('**/live', route => route.fulfill({ status: 200, body: '' }))
    const id = await createCharge(page, shop)
    const streamRequest = page.waitForRequest(/\/live$/)
    await page.goto(`/test/charges/${id}`)
    await streamRequest
    await simulateOutcome(page, shop, id, 'paid')
    await expectStatus(page, 'Paga')
  })

  test('an expired charge turns to paid when the bank reports a late payment', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    const id = await createCharge(page, shop)
    await simulateOutcome(page, shop, id, 'expired')
    await page.clock.install()
    await page.goto(`/test/charges/${id}`)
    await expectStatus(page, 'Expirada')
    await expect(page.getByText('Cobrança expirada').first()).toBeVisible()
    await simulateOutcome(page, shop, id, 'paid')
    await page.clock.runFor(16_000)
    await expectStatus(page, 'Paga')
  })

  test('a cancelled charge is shown as such, also after a late payment', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    const id = await createCharge(page, shop)
    await cancelCharge({ accountId: shop.id, mode: 'test' }, id)
    await page.goto(`/test/charges/${id}`)
    await expectStatus(page, 'Cancelada')
    const timeline = page.getByRole('list', { name: 'Histórico' })
    await expect(timeline.getByText('Cobrança cancelada')).toBeVisible()
    await expect(page.getByText('Foi cancelada antes do pagamento.')).toBeVisible()
    await expect(page.getByText('expirada')).toHaveCount(0)
    await simulateOutcome(page, shop, id, 'paid')
    await page.reload()
    await expectStatus(page, 'Paga')
    await expect(timeline.getByText('Cobrança cancelada')).toBeVisible()
  })

  test.describe('when saving fails once', () => {
    test.use({ expectedStatuses: [503] })

    test('a charge is described and shared with its payer, then its receipt, or cancelled', async ({
      page,
      context,
    }) => {
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      const shop = await openShop(context)
      const unavailable = { status: 503, json: { error: 'Service unavailable' } }
      await page.route('**/description', route => route.fulfill(unavailable), { times: 1 })
      await page.goto('/test/charges/new')
      await page.locator('[name=amount]').fill('100,00')
      for (const [name, value] of Object.entries(PAYER))
        await page.locator(`[name=${name}]`).fill(value)
      await page.getByLabel('Descrição para o pagador').fill('Mensalidade')
      await page.getByRole('button', { name: 'Criar cobrança' }).click()
      const describing = page.getByRole('dialog', { name: 'Descrição para o pagador' })
      await expect(describing.getByText('a descrição não foi salva')).toBeVisible()
      await describing.getByRole('textbox').fill('Mensalidade de março')
      await expectAccessible(page)
      await describing.getByRole('button', { name: 'Salvar' }).click()
      await expect(page.getByText('Mensalidade de março')).toBeVisible()
      const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''

      await page.getByRole('button', { name: 'Compartilhar' }).click()
      const sharing = page.getByRole('dialog', { name: 'Compartilhar cobrança' })
      const message = sharing.getByRole('textbox', { name: 'Mensagem' })
      await expect(message).toHaveValue(
        /Padaria do Teste enviou .* R\$ 100,00\.\nMensalidade de março\n/,
      )
      await expectAccessible(page)
      await sharing.getByLabel('Idioma da mensagem').selectOption('English')
      await message.fill(`Hi! ${await message.inputValue()}`)
      const hrefOf = async (name: string) =>
        new URL((await sharing.getByRole('link', { name }).getAttribute('href')) ?? '')
      const whatsApp = await hrefOf('WhatsApp')
      expect(whatsApp.origin).toBe('https://wa.me')
      const shared = whatsApp.searchParams.get('text') ?? ''
      expect(shared).toMatch(/^Hi! Test: no money is moved\.\n.* R\$ 100\.00\./)
      expect((await hrefOf('E-mail')).pathname).toBe(PAYER.client_email)
      await sharing.getByRole('button', { name: 'Copiar' }).click()
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(shared)
      await page.keyboard.press('Escape')

      const payer = await context.newPage()
      await payer.goto(/https?:\S+/.exec(shared)?.[0] ?? '')
      await expect(payer.getByText('Mensalidade de março')).toBeVisible()
      await payer.close()

      await simulateOutcome(page, shop, id, 'paid')
      await page.getByRole('button', { name: 'Enviar comprovante' }).click()
      const receipt = page.getByRole('dialog', { name: 'Enviar comprovante' })
      await expect(receipt.getByRole('textbox')).toHaveValue(/recebeu o seu Pix .*\/receipt\//s)
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'Comprovante' }).click()
      await expect(page.getByText('Mensalidade de março')).toBeVisible()

      await page.goto(`/test/charges/${await createCharge(page, shop)}`)
      await page.getByRole('button', { name: 'Cancelar cobrança' }).click()
      const cancelling = page.getByRole('dialog', { name: 'Cancelar esta cobrança?' })
      await expectAccessible(page)
      await cancelling.getByRole('button', { name: 'Cancelar cobrança' }).click()
      await expectStatus(page, 'Cancelada')
      await expect(page.getByRole('button', { name: 'Compartilhar' })).toHaveCount(0)
    })
  })

  test.describe('a refused charge', () => {
    test.use({ expectedStatuses: [409, 503] })

    test('keeps the input and shows each error at its field', async ({ page, context }) => {
      const shop = await openShop(context)
      await createCharge(page, shop, { external_id: 'pedido-1' })
      await page.goto('/test/charges/new')
      const submit = page.getByRole('button', { name: 'Criar cobrança' })
      await submit.click()
      await expect(page.locator('[name=amount]')).toBeFocused()
      await expect(page.getByText('Informe o valor (mínimo R$ 5,00).')).toBeVisible()
      await expect(page.getByText('Informe o nome.')).toBeVisible()
      await expect(page.getByText('Preencha este campo.')).toHaveCount(2)
      for (const [name, value] of Object.entries({ ...PAYER, amount: '4,99' })) {
        await page.locator(`[name=${name}]`).fill(value)
      }
      await submit.click()
      await expect(page.getByText('Informe um valor de pelo menos R$ 5,00.')).toBeVisible()
      for (const [typed, read] of Object.entries({
        150: 'R$ 150,00',
        '1500.00': 'R$ 1.500,00',
      })) {
        await page.locator('[name=amount]').fill(typed)
        await expect(page.locator('[data-understood]')).toHaveText(read)
      }
      await page.locator('[name=amount]').fill('10,999')
      await expect(page.locator('[data-understood]')).toBeEmpty()
      await submit.click()
      await expect(page.getByRole('button', { name: 'R$ 10.999,00' })).toBeVisible()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'R$ 109,99', exact: true }).click()
      await expect(page.locator('[name=amount]')).toHaveValue('109,99')
      await expect(page.locator('[name=amount]')).toBeFocused()
      await expect(page.locator('[data-understood]')).toHaveText('R$ 109,99')
      await expect(page.getByRole('button', { name: 'R$ 10.999,00' })).toHaveCount(0)
      await page.locator('[name=amount]').fill('15')
      await page.locator('[name=client_email]').fill('unavailable@example.com')
      await submit.click()
      await expect(page.getByRole('alert').filter({ hasText: 'indisponível' })).toBeVisible()
      await page.locator('[name=client_email]').fill('ana@example.com')
      await page.getByText('Mais opções').click()
      await page.locator('[name=external_id]').fill('pedido-1')
      await page.getByText('Mais opções').click()
      await submit.click()
      await expect(page.getByText('Esta referência já foi usada. Escolha outra.')).toBeVisible()
      await expect(page.locator('[name=external_id]')).toBeFocused()
      await expect(page.locator('[name=client_name]')).toHaveValue(PAYER.client_name)
      await page.locator('[name=external_id]').fill('pedido-2')
      await submit.click()
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 15,00')
    })
  })
})

test.describe('on a phone, in English', () => {
  test.use({ viewport: PHONE, locale: 'en-US' })

  test('a paid charge is refunded in two parts', async ({ page, context }) => {
    const shop = await openShop(context)
    const id = await createCharge(page, shop)
    await simulateOutcome(page, shop, id, 'paid')
    await page.goto(`/test/charges/${id}`)
    await expectStatus(page, 'Paid')
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Refund the payer' })
    await expect(dialog.getByLabel('Amount')).toHaveValue('15.00')
    await dialog.getByLabel('Amount').fill('20')
    await dialog.getByRole('button', { name: /^Refund/ }).click()
    await expect(dialog.getByText('Enter an amount from R$ 0.01 to R$ 15.00.')).toBeVisible()
    await dialog.getByLabel('Amount').fill('5')
    await dialog.getByLabel('Reason').fill('Out of stock')
    await expect(dialog.getByText('R$ 10.00 can still be refunded afterwards.')).toBeVisible()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Refund R$ 5.00' }).click()
    await expect(dialog).toBeHidden()
    await expect(page.getByText('Completed')).toBeVisible()
    await expect(page.getByText('Refunded to payer: R$ 5.00')).toBeVisible()
    await expectStatus(page, 'Partly refunded')
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toBeFocused()
    await page.getByRole('button', { name: 'Refund', exact: true }).click()
    await expect(dialog.getByLabel('Amount')).toHaveValue('10.00')
    await dialog.getByRole('button', { name: 'Refund R$ 10.00' }).click()
    await expect(page.getByText('Completed')).toHaveCount(2)
    await expect(page.getByRole('button', { name: 'Refund', exact: true })).toHaveCount(0)
    await expectStatus(page, 'Refunded')
    await expectAccessible(page)
    await page.goto('/test/charges')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export refunds' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^refunds-\d{4}-\d\d-\d\d\.csv$/)
    const [, ...lines] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    expect(lines).toEqual([expect.stringContaining(id), expect.stringContaining(id), ''])
    const rows = page.locator('main a[href*="/charges/0"]').filter({ visible: true })
    await expect(rows).toHaveCount(2)
    await page.getByRole('button', { name: 'Refunded', exact: true }).click()
    await expect(rows).toHaveText(['Ana Beatriz Rocha'])
    await expect(page.locator('main').getByText('Refunded', { exact: true })).toHaveCount(3)
  })

  test('a payment older than 90 days is not offered to be refunded, and the page says why', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    const id = await createCharge(page, shop)
    await simulateOutcome(page, shop, id, 'paid')
    await page.goto(`/test/charges/${id}`)
    const button = page.getByRole('button', { name: 'Refund', exact: true })
    await expect(button).toBeVisible()
    const paidAt = new Date(Date.now() - 91 * 86_400_000)
    await db().charge.updateMany({ where: { id }, data: { paidAt } })
    await page.reload()
    await expect(page.getByText('R$ 15.00 can no longer be refunded')).toBeVisible()
    await expect(button).toHaveCount(0)
  })

  test.describe('a charge whose payer disputes it', () => {
    test.use({ expectedStatuses: [422] })

    test('is refunded up to what is not disputed, and then no more', { tag: '@torture' }, async ({
      page,
      context,
    }) => {
      const shop = await openShop(context)
      const id = await createCharge(page, shop)
      await simulateOutcome(page, shop, id, 'paid')
      await page.goto(`/test/charges/${id}`)
      const button = page.getByRole('button', { name: 'Refund', exact: true })
      await button.click()
      const report = await reportDispute(id, 1_000)
      const dialog = page.getByRole('dialog', { name: 'Refund the payer' })
      await dialog.getByRole('button', { name: 'Refund R$ 15.00' }).click()
      await expect(dialog.getByText('Enter an amount from R$ 0.01 to R$ 5.00.')).toBeVisible()
      await openDispute({ ...report, bankId: newId(), amount: 500 })
      await dialog.getByLabel('Amount').fill('5')
      await dialog.getByRole('button', { name: 'Refund R$ 5.00' }).click()
      await expect(dialog.getByText('Nothing is left to refund.')).toBeVisible()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await expect(dialog).toBeHidden()
      await expect(button).toHaveCount(0)
      const sentence =
        'The payer is disputing R$ 15.00. It can’t be refunded until the dispute ends.'
      await expect(page.getByText(sentence)).toBeVisible()
      await expectAccessible(page)
      await loseDispute({ ...report, amount: 400 })
      await page.reload()
      await expect(page.getByText('The payer is disputing R$ 5.00.')).toBeVisible()
      await expect(
        page.getByText(/^R\$ 4\.00 was returned to the payer after a lost dispute/),
      ).toBeVisible()
      await button.click()
      await expect(dialog.getByLabel('Amount')).toHaveValue('6.00')
    })
  })

  test('a new charge fits the window, and its code and link can be copied @torture', async ({
    page,
    context,
  }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await openShop(context)
    await page.goto('/test/charges/new')
    await page.locator('[name=amount]').fill('1,234.56')
    for (const [name, value] of Object.entries(PAYER)) {
      await page.locator(`[name=${name}]`).fill(value)
    }
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create charge' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('R$ 1,234.56')
    await expectFits(page)
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible()
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    expect(await copied()).toBe(await page.getByTestId('br-code').textContent())
    await page.getByRole('button', { name: 'Payment link' }).click()
    await expect.poll(copied).toMatch(/\/pay\/[\w-]{22}$/)
    await expectAccessible(page)
  })

  test.describe('a charge of another merchant', { tag: '@torture' }, () => {
    test.use({ expectedStatuses: [404] })

    test('is not found', async ({ page, context, browser }) => {
      const otherContext = await browser.newContext()
      const otherShop = await openShop(otherContext)
      const id = await createCharge(page, otherShop)
      await otherContext.close()
      await openShop(context)
      await page.goto(`/test/charges/${id}`)
      await expect(page.getByRole('heading', { name: 'Page not found' })).toBeAttached()
      await expect(page.getByText(PAYER.client_name)).toHaveCount(0)
    })
  })
})
