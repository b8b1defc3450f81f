import type { Page, Route } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { PHONE } from '#e2e/browser/layout.ts'
import { openShop } from '#e2e/browser/merchant.ts'
import type { Role } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'

test.use({ locale: 'pt-BR' })

/** Calls the API without the browser's cookies and returns the status. */
async function fetchStatus(token: string, path = '/account'): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${readSetting('BASE_URL')}/api${path}`, { headers })).status
}

async function changeRole(accountId: string, role: Role): Promise<void> {
  await db().membership.updateMany({ where: { accountId }, data: { role } })
}

async function readShownToken(page: Page): Promise<string> {
  return (await page.getByTestId('token-value').textContent()) ?? ''
}

test('a token is created, shown once, used, revoked and then refused', async ({
  page,
  context,
}) => {
  await openShop(context)
  await page.goto('/test/settings/tokens')
  await page.getByRole('link', { name: 'Criar token' }).click()
  const ticked = ['transactions:read', 'transactions:write']
  const boxes = page.getByRole('checkbox')
  await expect(boxes).toHaveCount(14)
  for (const box of await boxes.all()) {
    const permission = (await box.getAttribute('value')) ?? ''
    await expect(box, permission).toBeChecked({ checked: ticked.includes(permission) })
  }
  await page.getByLabel('Nome').fill('ERP da matriz')
  const preset = page.getByRole('button', { name: 'Só criar e ler cobranças' })
  await expect(preset).toHaveAttribute('aria-pressed', 'true')
  await expect(page.getByLabel('Expira em')).toHaveValue('90')
  await page.getByRole('checkbox', { name: /Ver a conta/ }).check()
  await page.getByRole('button', { name: 'Criar token' }).click()
  const token = await readShownToken(page)
  expect(token).toMatch(/^troco_test_[0-9A-Za-z]{38}$/)
  expect(await fetchStatus(token)).toBe(200)
  expect(await fetchStatus(token, '/withdrawals')).toBe(403)

  await page.getByRole('button', { name: 'Já salvei' }).click()
  const row = page.getByTestId('token-row').filter({ hasText: 'ERP da matriz' })
  await expect(row).toContainText('3 de 14: ver saldo, ler cobranças, criar cobranças')
  await expect(row).toContainText(`${token.slice(0, 20)}…${token.slice(-4)}`)
  expect(await page.content()).not.toContain(token)

  await row.getByRole('button', { name: 'Revogar' }).click()
  const dialog = page.getByRole('dialog', { name: 'Revogar ERP da matriz?' })
  await dialog.getByLabel('Motivo').fill('vazou no log')
  await dialog.getByRole('button', { name: 'Revogar' }).click()
  await expect(row).toContainText('Revogado')
  await expect(row).toContainText('Motivo: vazou no log')
  await expect(row.getByRole('button')).toHaveCount(0)
  expect(await fetchStatus(token)).toBe(401)
})

test('a token works only from its addresses, which are checked line by line and can be changed', {
  tag: '@torture',
}, async ({ page, context }) => {
  await openShop(context)
  await page.goto('/test/settings/tokens/new')
  await page.getByLabel('Nome').fill('Servidor')
  const addresses = page.getByLabel('Endereços de onde pode ser usado')
  await addresses.fill('203.0.113.7\n203.0.113.9/24')
  await page.getByRole('button', { name: 'Criar token' }).click()
  await expect(page.getByText('“203.0.113.9/24” não é um endereço IP')).toBeVisible()
  await expect(addresses).toBeFocused()
  await expectAccessible(page)
  await addresses.fill('203.0.113.7\n2001:DB8::/48')
  await page.getByRole('button', { name: 'Criar token' }).click()
  const token = await readShownToken(page)
  expect(await fetchStatus(token, '/transactions')).toBe(403)
  await page.getByRole('button', { name: 'Já salvei' }).click()
  const row = page.getByTestId('token-row').filter({ hasText: 'Servidor' })
  await expect(row.getByTestId('addresses')).toHaveText(
    'Só a partir de: 203.0.113.7, 2001:db8::/48',
  )
  await row.getByRole('button', { name: 'Endereços' }).click()
  const dialog = page.getByRole('dialog', { name: 'Endereços de Servidor' })
  await expect(dialog.getByRole('textbox')).toHaveValue('203.0.113.7\n2001:db8::/48')
  await expectAccessible(page)
  await dialog.getByRole('textbox').fill('127.0.0.0/8')
  await dialog.getByRole('button', { name: 'Salvar' }).click()
  await expect(row.getByTestId('addresses')).toHaveText('Só a partir de: 127.0.0.0/8')
  expect(await fetchStatus(token, '/transactions')).toBe(200)
})

test('a developer is offered only what the role holds', async ({ page, context }) => {
  const shop = await openShop(context)
  await changeRole(shop.id, 'developer')
  await page.goto('/test/settings/tokens')
  const operators = page.getByTestId('token-row').filter({ hasText: 'Loja virtual' })
  await expect(operators).toContainText('Criado pelo administrador.')
  await expect(operators.getByRole('button', { name: 'Rotacionar' })).toHaveCount(0)
  await page.getByRole('link', { name: 'Criar token' }).click()
  await expect(page.getByRole('checkbox')).toHaveCount(11)
  for (const name of [/saques: tira dinheiro/, /CPF ou CNPJ/])
    await expect(page.getByRole('checkbox', { name })).toHaveCount(0)
  await expect(page.getByText('O seu papel não pode devolver, sacar nem ver o CPF')).toBeVisible()
  await page.getByLabel('Nome').fill('Do desenvolvedor')
  await page.getByRole('button', { name: 'Criar token' }).click()
  expect(await fetchStatus(await readShownToken(page), '/transactions')).toBe(200)
})

test('an owner confirms a token whose creator has lost its permissions', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context)
  const email = `dev-${newId()}@troco.example`
  const { id } = await db().user.create({
    data: { id: newId(), email, name: 'Davi Dev', ...VERIFIED },
  })
  const member = { accountId: shop.id, userId: id, role: 'developer' }
  await db().membership.create({ data: member })
  const request = { accountId: shop.id, mode: 'test' as const, name: 'ERP' }
  const permissions = ['transactions:write', 'tokens:write'] as const
  const parent = await issueToken(
    { ...request, permissions: [...permissions] },
    { type: 'user', id },
  )
  const actor = { type: 'token', id: parent.id } as const
  await issueToken({ ...request, name: 'Tarefa', permissions: ['transactions:write'] }, actor)
  await db().membership.deleteMany({ where: { userId: id } })
  await page.goto('/test/settings/tokens')
  const rows = page.getByTestId('token-row')
  const row = rows.filter({ has: page.getByText('ERP', { exact: true }) })
  await expect(row).toContainText('Criado por Davi Dev.')
  const child = rows.filter({ hasText: 'Criado pelo token ERP; deixa de funcionar junto com ele.' })
  await expect(child.getByRole('button')).toHaveText([/^Copiar ID/, 'Endereços', 'Revogar'])
  await expect(child.getByTestId('exceeds-issuer')).toHaveCount(0)
  await expect(row.getByTestId('exceeds-issuer')).toBeVisible()
  await expectAccessible(page)
  await row.getByRole('button', { name: 'Confirmar' }).click()
  const dialog = page.getByRole('dialog', { name: 'Confirmar ERP?' })
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Confirmar' }).click()
  await expect(row.getByTestId('exceeds-issuer')).toHaveCount(0)
  await expect(row.getByRole('button', { name: 'Confirmar' })).toHaveCount(0)
})

test.describe('in English, on a phone', () => {
  test.use({ locale: 'en-US', viewport: PHONE })

  test('after a rotation both tokens work, and the new one is shown until it is saved', async ({
    page,
    context,
  }) => {
    const { token: oldToken } = await openShop(context)
    await page.goto('/test/settings')
    await page.goto('/test/settings/tokens')
    await expectAccessible(page)
    const rotate = page.getByTestId('token-row').getByRole('button', { name: 'Rotate' }).last()
    await rotate.click()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(dialog).toBeHidden()
    await expect(rotate).toBeFocused()
    await rotate.click()
    await dialog.getByLabel('Keep the current token working for').selectOption('1 hour')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    const newToken = await readShownToken(page)
    await expect(dialog).toContainText(`Authorization: Bearer ${newToken}`)
    expect([await fetchStatus(oldToken), await fetchStatus(newToken)]).toEqual([200, 200])
    const leaveByEscape = () => page.keyboard.press('Escape')
    const leaveByClick = () => page.mouse.click(4, 4)
    const leaveByBack = () => page.evaluate(() => history.back())
    for (const leave of [leaveByEscape, leaveByClick, leaveByBack, leaveByBack]) {
      await leave()
      await expect(dialog.getByRole('alert')).toContainText('won’t be shown again')
      await expect(page.getByTestId('token-value')).toHaveText(newToken)
    }
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'I’ve saved it' }).click()
    await expect(dialog).toBeHidden()
    // A replaced token has no button any more.
    await expect(page.getByRole('main')).toBeFocused()
    await page.goBack()
    await expect(page).toHaveURL('/test/settings')
    await page.goForward()
    const rows = page.getByTestId('token-row')
    await expect(rows).toHaveCount(2)
    await expect(rows.filter({ hasText: oldToken.slice(0, 20) })).toContainText('Replaced')
    await expect(rows.filter({ hasText: oldToken.slice(0, 20) })).toContainText('Works until')
  })

  test('missing input is reported at its field', { tag: '@torture' }, async ({ page, context }) => {
    await openShop(context)
    await page.goto('/test/settings/tokens/new')
    await page.getByRole('checkbox').first().waitFor()
    for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
    await page.getByLabel('Expires in').selectOption('Until a date')
    await page.getByRole('button', { name: 'Create token' }).click()
    await expect(page.getByLabel('Name', { exact: true })).toBeFocused()
    await expect(page.getByText('Select at least one permission.')).toBeVisible()
    await expect(page.getByText('Choose a date from today on')).toBeVisible()
    await expectAccessible(page)
  })
})

test('a token whose response was lost is not shown again, and the page says what to do', async ({
  page,
  context,
}) => {
  await openShop(context)
  await page.goto('/test/settings/tokens/new')
  await page.getByLabel('Nome').fill('Perdido')
  // The complete response never reaches the browser, as when a connection breaks.
  const truncateResponse = async (route: Route) => {
    const response = await route.fetch()
    expect(response.status()).toBe(200)
    await route.fulfill({ status: 200, body: 'half an ans', contentType: 'text/plain' })
  }
  await page.route('**/api/tokens', truncateResponse, { times: 1 })
  await page.getByRole('button', { name: 'Criar token' }).click()
  await expect(page.getByRole('main').getByRole('alert')).toBeVisible()
  await page.getByRole('button', { name: 'Criar token' }).click()
  await expect(page.getByText('a resposta se perdeu')).toBeVisible()
  await page.getByRole('button', { name: 'Ver tokens' }).click()
  await expect(page.getByTestId('token-row').filter({ hasText: 'Perdido' })).toHaveCount(1)
})
