import type { Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { DESKTOP, expectFits, findPlace, PHONE, takePictures } from '#e2e/browser/layout.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'
import { call } from '#lib/testing/call.ts'
import { ok, openReceiver, type Receiver, status } from '#lib/testing/receiver.ts'

const PAYER = {
  client_name: "Ana D'Ávila",
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
}

test.use({ locale: 'pt-BR', viewport: DESKTOP })

let receiver: Receiver
test.beforeEach(async () => {
  receiver = await openReceiver()
})
test.afterEach(() => receiver.close())

/** Creates and pays a charge through the API; returns its reference. */
async function createPaidCharge({ token }: Shop, webhook_url?: string): Promise<string> {
  const api = readSetting('BASE_URL')
  const external_id = `pedido-${newId().slice(-12)}`
  const body = { amount: 1_500, ...PAYER, external_id, webhook_url }
  const response = await call(api, 'POST', '/transactions', { token, body })
  const path = `/sandbox/transactions/${response.body.data.transaction_id}`
  await call(api, 'POST', path, { token, body: { outcome: 'paid' } })
  return external_id
}

const deliveryRows = (page: Page) => page.getByTestId('delivery-row')

test.describe('a private address', () => {
  test.use({ expectedStatuses: [422] })

  test('is refused, an endpoint is created, and the delivery of a payment appears by itself', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await page.goto('/test/webhooks')
    await expect(page.getByText('Nenhuma entrega ainda')).toBeVisible()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Criar destino' }).click()
    await page.getByLabel('Endereço').fill('loja')
    await page.getByRole('button', { name: 'Criar destino' }).click()
    await expect(page.getByText('Digite a URL completa')).toBeVisible()
    await page.getByLabel('Endereço').fill('http://10.1.2.3/hook')
    await page.getByRole('button', { name: 'Criar destino' }).click()
    await expect(page.getByText('Este endereço é privado')).toBeVisible()
    await page.getByLabel('Endereço').fill(`${receiver.url}/hook`)
    await expect(page.getByText('Este endereço é privado')).toHaveCount(0)
    await page.getByLabel('Todos os eventos').uncheck()
    await page.getByRole('button', { name: 'Criar destino' }).click()
    await expect(page.getByText('Escolha ao menos um evento.')).toBeVisible()
    await page.getByLabel('transaction.paid').check()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Criar destino' }).click()
    await expect(page.getByTestId('secret-value')).toHaveText(/^whsec_/)
    await (await findPlace(page, 'Webhooks')).click()
    await expect(page.getByText('O destino está pronto.')).toBeVisible()
    const reference = await createPaidCharge(shop)
    await expect(deliveryRows(page)).toHaveCount(1)
    await expect(deliveryRows(page)).toContainText(reference)
    await expect(deliveryRows(page)).toContainText('Entregue')
    expect(receiver.calls.map(({ path }) => path)).toEqual(['/hook'])
  })
})

test('a failed delivery shows the reason, its text once revealed, and succeeds when it is resent', async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  // Delays the automatic retry by an hour, so that it cannot coincide with the manual resend.
  const retryHeader = { 'retry-after': '3600' }
  receiver.respondWith((_, response) =>
    response.writeHead(500, retryHeader).end('{"message":"Duplicate entry"}'),
  )
  const reference = await createPaidCharge(shop, `${receiver.url}/pix`)
  await page.goto('/test/webhooks')
  await expect(deliveryRows(page)).toContainText('Nova tentativa em')
  await deliveryRows(page).getByRole('link', { name: 'transaction.paid' }).click()
  const responseRegion = page.getByRole('region', { name: 'Resposta' })
  await expect(responseRegion).toHaveText('HTTP 500')
  await expect(page.getByText('Os cabeçalhos e o corpo ficam ocultos')).toBeVisible()
  await page.getByRole('button', { name: 'Requisição' }).click()
  const requestRegion = page.getByRole('region', { name: 'Requisição' })
  await expect(requestRegion).toContainText('webhook-signature: (oculta)')
  await expect(requestRegion).toContainText('***.982.247-**')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Revelar o CPF ou CNPJ do pagador' }).click()
  await expect(requestRegion).toContainText('webhook-signature: v1,')
  await expect(requestRegion).toContainText(PAYER.client_doc)
  await page.getByRole('button', { name: 'Resposta' }).click()
  await expect(responseRegion).toContainText('"message": "Duplicate entry"')
  await expectAccessible(page)
  receiver.respondWith(ok)
  await page.getByRole('button', { name: 'Reenviar', exact: true }).click()
  await expect(deliveryRows(page)).toContainText('Entregue')
  await expect(page.getByRole('heading', { name: /^Tentativa (\d) de \1$/ })).toBeVisible()
  await page.getByRole('button', { name: 'Reenviar', exact: true }).click()
  const callsBefore = receiver.calls.length
  await page.getByRole('dialog').getByRole('button', { name: 'Reenviar mesmo assim' }).click()
  await expect.poll(() => receiver.calls.length).toBe(callsBefore + 1)
  await expect(page.getByRole('dialog')).toBeHidden()
  const ids = receiver.calls.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(1)
  await expect(page.getByRole('link', { name: reference })).toHaveAttribute(
    'href',
    /^\/test\/charges\/[0-9a-f-]{36}$/,
  )
})

test('all failed deliveries within the filters are resent at once', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  receiver.respondWith(status(410))
  await createPaidCharge(shop, `${receiver.url}/pix`)
  await createPaidCharge(shop, `${receiver.url}/pix`)
  await page.goto('/test/webhooks?status=stopped')
  await expect(deliveryRows(page)).toHaveCount(2)
  receiver.respondWith(ok)
  await page.reload()
  await page.getByRole('button', { name: 'Reenviar 2 com falha' }).click()
  await expect(page.getByRole('dialog', { name: 'Reenviar 2 entregas?' })).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Reenviar' }).click()
  await expect(page.getByText('2 reenviadas')).toBeVisible()
  await page.getByRole('button', { name: 'Limpar: Situação' }).click()
  await expect(deliveryRows(page).filter({ hasText: 'Entregue' })).toHaveCount(2)
})

test('a resend within the filters leaves other failed deliveries as they are', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context)
  receiver.respondWith(status(410))
  const [chosen] = [
    await createPaidCharge(shop, `${receiver.url}/chosen`),
    await createPaidCharge(shop, `${receiver.url}/other`),
  ]
  await page.goto('/test/webhooks?status=stopped')
  await expect(deliveryRows(page)).toHaveCount(2)
  receiver.respondWith(ok)
  await page.goto('/test/webhooks?status=stopped&type=withdrawal.*')
  await expect(page.getByText('Nenhuma entrega encontrada')).toBeVisible()
  await expect(page.getByRole('button', { name: /^Reenviar \d/ })).toHaveCount(0)
  await page.goto(`/test/webhooks?status=stopped&reference=${chosen}`)
  await page.getByRole('button', { name: 'Reenviar 1 com falha' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reenviar' }).click()
  await expect(page.getByText('1 reenviada')).toBeVisible()
  await page.goto('/test/webhooks')
  await expect(deliveryRows(page).filter({ hasText: 'Entregue' })).toHaveCount(1)
  await expect(deliveryRows(page).filter({ hasText: chosen })).toContainText('Entregue')
  expect(receiver.calls.map(({ path }) => path).sort()).toEqual(['/chosen', '/chosen', '/other'])
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: PHONE, hasTouch: true })

  test('filters are in the URL, and a delivery opens as a page', {
    tag: '@one-size',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    const [first, second] = [
      await createPaidCharge(shop, `${receiver.url}/one`),
      await createPaidCharge(shop, `${receiver.url}/two`),
    ]
    await page.goto('/test/webhooks')
    await expect(page.getByRole('heading', { name: 'Webhook deliveries' })).toBeAttached()
    await expect(deliveryRows(page)).toHaveCount(2)
    await page.getByRole('searchbox').fill(second)
    await expect(deliveryRows(page)).toHaveCount(1)
    await expect(page).toHaveURL(/reference=/)
    await page.getByRole('button', { name: /^Event:/ }).click()
    await page.getByRole('menuitemradio', { name: 'withdrawal.*' }).click()
    await expect(page.getByText('No deliveries match these filters')).toBeVisible()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect(deliveryRows(page)).toHaveCount(2)
    await expectAccessible(page)
    await deliveryRows(page).filter({ hasText: first }).getByRole('link').click()
    await expect(page.getByRole('heading', { name: 'Attempt 1 of 1' })).toBeVisible()
    await expect(deliveryRows(page).first()).toBeHidden()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'All deliveries' }).click()
    await expect(deliveryRows(page)).toHaveCount(2)
  })

  test('a receiver is checked, and what it does wrong is named with its remedy', async ({
    page,
    context,
  }) => {
    await openShop(context)
    await page.goto('/test/webhooks/endpoints/new')
    await page.getByLabel('Address').fill(`${receiver.url}/hook`)
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    await page.getByRole('link', { name: 'Go to the endpoint' }).click()
    receiver.respondWith(ok)
    await page.getByRole('button', { name: 'Check receiver' }).click()
    await expect(page.getByText('3 checks failed.')).toBeVisible()
    const forged = page.getByRole('listitem').filter({ hasText: 'Refuses a wrong signature' })
    await expect(forged).toContainText('respond with 400 if it does not match')
    const large = page.getByRole('listitem').filter({ hasText: 'Accepts an event of 1 MB' })
    await expect(large).not.toContainText('limit of the body')
    await expectAccessible(page)
    await expectFits(page)
    await takePictures(page, 'receiver-check')
    await page.getByRole('link', { name: 'Receivers that pass' }).click()
    await expect(page.getByRole('heading', { name: 'Check the signature' })).toBeVisible()
  })

  test('an endpoint is tested, disabled, enabled with the events it missed, and deleted', {
    tag: '@torture',
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    await page.goto('/test/webhooks/endpoints/new')
    await page.getByLabel('Address').fill(`${receiver.url}/hook`)
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    await page.getByRole('link', { name: 'Go to the endpoint' }).click()
    receiver.respondWith(status(503))
    await page.getByRole('button', { name: 'Send test' }).click()
    await expect(page.getByRole('region', { name: 'Response' })).toContainText('status 503')
    await expectAccessible(page)
    receiver.respondWith(ok)
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await expect(page.getByText('Disabled in the dashboard')).toBeVisible()
    await createPaidCharge(shop)
    await page.reload()
    await expect(page.getByText('1 webhook', { exact: true })).toBeVisible()
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Enable and send it' }).click()
    await expect(page.getByText('Active')).toBeVisible()
    await expect.poll(() => receiver.calls.length).toBe(2)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await expect(page.getByText('No endpoints yet')).toBeVisible()
    await page.getByRole('button', { name: 'Show secret' }).click()
    await expect(page.getByTestId('secret-value')).toHaveText(/^whsec_/)
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('button', { name: 'Rotate now' }).click()
    await expect(page.getByText('The previous secret also signs until')).toBeVisible()
    await expectAccessible(page)
  })
})

test.describe('another merchant’s ids', { tag: '@torture' }, () => {
  test.use({ expectedStatuses: [404] })

  test('are not found', async ({ page, context, browser }) => {
    const otherShop = await openShop(context)
    await createPaidCharge(otherShop, `${receiver.url}/pix`)
    await page.goto('/test/webhooks')
    const href = await deliveryRows(page).getByRole('link').getAttribute('href')
    const ownContext = await browser.newContext({ locale: 'pt-BR' })
    await openShop(ownContext)
    const ownPage = await ownContext.newPage()
    await ownPage.goto(new URL(href ?? '', readSetting('BASE_URL')).href)
    await expect(ownPage.getByText('Página não encontrada').last()).toBeVisible()
    await ownContext.close()
  })
})
