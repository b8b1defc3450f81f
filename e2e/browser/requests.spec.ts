import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { expectFits, listRows } from '#e2e/browser/layout.ts'
import { openShop, type Shop } from '#e2e/browser/merchant.ts'
import { call } from '#lib/testing/call.ts'

const PAYER = {
  client_name: 'Zuleica Quaresma',
  client_email: 'zuleica@example.com',
  client_doc: '529.982.247-25',
}

/** Sends three requests, of which the second is refused, and waits until they are in the log. */
async function sendRequests({ token }: Shop): Promise<void> {
  const api = readSetting('BASE_URL')
  await call(api, 'POST', '/transactions', { token, body: { amount: 1_500, ...PAYER } })
  await call(api, 'POST', '/transactions', { token, body: { amount: 1, ...PAYER } })
  await call(api, 'GET', '/account', { token })
  const countLogged = async () => (await call(api, 'GET', '/requests', { token })).body.data.length
  await expect.poll(countLogged).toBe(3)
}

test.describe('on a desktop, in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 1280, height: 860 } })

  test('requests appear by themselves, and filters find the one that was refused and why', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await page.goto('/test/requests')
    await expect(page.getByText('Nenhuma requisição ainda')).toBeVisible()
    await expect(page.getByText('dos últimos 7 dias')).toContainText('em picos')
    await expectAccessible(page)
    await sendRequests(shop)
    await expect(listRows(page)).toHaveCount(3)
    await expect(listRows(page).first()).toContainText('GET /account')

    await page.getByRole('button', { name: 'Status: Todos' }).click()
    await page.getByRole('menuitemradio', { name: 'Recusadas (4xx)' }).click()
    await page.waitForURL('**/test/requests?status=4xx')
    await expect(listRows(page)).toHaveCount(1)
    await expect(listRows(page)).toContainText('invalid_input')
    await page.getByRole('button', { name: 'Limpar: Status' }).click()
    await page.waitForURL('**/test/requests')
    await page.getByRole('button', { name: 'Código de erro: Todos' }).click()
    await page.getByRole('menuitemradio', { name: 'invalid_input' }).click()
    await page.waitForURL('**/test/requests?code=invalid_input')
    await expect(listRows(page)).toHaveCount(1)
    await page.getByRole('button', { name: 'Método: Todos' }).click()
    await page.getByRole('menuitemradio', { name: 'DELETE' }).click()
    await expect(page.getByText('Nenhuma requisição encontrada')).toBeVisible()
    await page.getByRole('button', { name: 'Limpar: Método' }).click()
    await page.waitForURL('**/test/requests?code=invalid_input')

    await listRows(page).getByRole('link', { name: 'POST /transactions' }).click()
    await expect(page.getByRole('heading', { name: 'POST /transactions' })).toBeVisible()
    const sent = page.getByRole('region', { name: 'Corpo da requisição' })
    await expect(sent).toContainText('"amount": 1')
    await expect(sent).toContainText('"client_name": "***"')
    await expect(
      page.getByText('Ocultos (***): client_name, client_email, client_doc.'),
    ).toBeVisible()
    await expect(page.getByRole('region', { name: 'Corpo da resposta' })).toContainText('"errors"')
    await expect(page.getByRole('link', { name: 'invalid_input' })).toHaveAttribute(
      'href',
      '/docs/errors#invalid_input',
    )
    expect(await page.content()).not.toContain('Quaresma')
    await expectAccessible(page)
    await page.getByRole('link', { name: '/transactions', exact: true }).click()
    await expect(listRows(page)).toHaveCount(2)
    await expect(page.getByRole('button', { name: 'Caminho: /transactions' })).toBeVisible()
  })

  test('a token leads to its requests, and a creation to its charge', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const api = readSetting('BASE_URL')
    const body = { amount: 1_500, ...PAYER }
    const created = await call(api, 'POST', '/transactions', { token: shop.token, body })
    const id = created.body.data.transaction_id
    await call(api, 'GET', `/transactions/${id}`, { token: shop.token })
    await page.goto('/test/settings/tokens')
    await page.getByTestId('token-row').getByRole('link', { name: 'Ver requisições' }).click()
    await expect(page.getByRole('button', { name: 'Token: Loja virtual' })).toBeVisible()
    await listRows(page)
      .getByRole('link', { name: `GET /transactions/${id}` })
      .click()
    await expect(page.getByText('Sem corpo.')).toBeVisible()
    await page.getByRole('link', { name: id }).click()
    await page.waitForURL(`**/test/charges/${id}`)
  })
})

test.describe('on a phone, in English', () => {
  test.use({ locale: 'en-US', viewport: { width: 390, height: 844 }, hasTouch: true })

  test('each request is a card, and its bodies fit the window', {
    tag: ['@torture', '@one-size'],
  }, async ({ page, context }) => {
    const shop = await openShop(context)
    await sendRequests(shop)
    await page.goto('/test/requests?status=failed')
    const card = page.getByRole('listitem').filter({ hasText: 'invalid_input' })
    await expect(card).toBeVisible()
    await expectAccessible(page)
    await card.getByRole('link', { name: 'POST /transactions' }).click()
    await expect(page.getByRole('region', { name: 'Response body' })).toContainText('amount')
    await expectAccessible(page)
    await expectFits(page)
  })
})
