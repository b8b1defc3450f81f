import type { Browser, BrowserContext, Page } from 'playwright/test'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { chooseSize } from '#e2e/browser/layout.ts'
import { addSession, createSession, openShop, type Shop } from '#e2e/browser/merchant.ts'

test.use({ locale: 'pt-BR' })

const findStatus = (page: Page) => page.getByTestId('withdrawal-status').filter({ visible: true })

interface People {
  shop: Shop
  colleague: Page
}

/** Signs the owner in to `context`, and a member of finance in a browser of their own. */
async function openShopOfTwo(
  context: BrowserContext,
  browser: Browser,
  options: { width?: number; colorScheme?: 'dark' } = {},
): Promise<People> {
  const shop = await openShop(context)
  const { width = 1280, colorScheme } = options
  const theirs = await browser.newContext({
    locale: 'pt-BR',
    viewport: chooseSize({ width, height: 900 }),
    colorScheme,
  })
  const secret = await createSession({ accountId: shop.id, role: 'finance' })
  await addSession(theirs, secret)
  return { shop, colleague: await theirs.newPage() }
}

async function requestWithdrawal(page: Page, key: string): Promise<void> {
  await page.goto('/test/withdrawals/new')
  await page.getByLabel('Valor').fill('150,00')
  await page.getByLabel('Chave Pix').fill(key)
  await page.getByRole('button', { name: 'Continuar' }).click()
  await page.getByRole('button', { name: 'Confirmar saque' }).click()
  await page.waitForURL(/\/test\/withdrawals\/[0-9a-f-]{36}$/)
}

test('a withdrawal to a new key is sent after a second person approves it', async ({
  page,
  context,
  browser,
}) => {
  const { colleague } = await openShopOfTwo(context, browser)
  await requestWithdrawal(page, 'fornecedor@example.com')
  await expect(findStatus(page)).toHaveText('Aguardando aprovação')
  await expect(page.getByText('Outro dono ou membro financeiro precisa aprovar')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Aprovar' })).toHaveCount(0)
  await expectAccessible(page)

  await colleague.goto('/test/home')
  await expect(colleague.getByText('Um saque aguarda a sua aprovação.')).toBeVisible()
  await expectAccessible(colleague)
  await colleague.goto('/test/withdrawals')
  await expect(findStatus(colleague)).toHaveText('Aguardando aprovação')
  await colleague.getByRole('link', { name: 'Conferir agora' }).click()
  await expect(colleague).toHaveTitle(/^Saque\b/)
  await expect(colleague.getByRole('button', { name: 'Aprovar' })).toBeVisible()
  await expectAccessible(colleague)
  await colleague.getByRole('button', { name: 'Aprovar' }).click()
  await expect(colleague.getByText('Aprovado por um segundo membro')).toBeVisible()
  await expect(findStatus(page)).toHaveText('Enviado')
  await colleague.goto('/test/withdrawals')
  await expect(colleague.getByText('aguarda a sua aprovação')).toHaveCount(0)
  await colleague.context().close()
})

test('a second person on a phone declines a withdrawal, and the amount returns', {
  tag: '@torture',
}, async ({ page, context, browser }) => {
  const { colleague } = await openShopOfTwo(context, browser, { width: 390, colorScheme: 'dark' })
  await requestWithdrawal(page, 'golpe@example.com')
  await colleague.goto(page.url())
  await expectAccessible(colleague)
  await colleague.getByRole('button', { name: 'Recusar' }).click()
  await expect(findStatus(colleague)).toHaveText('Recusado')
  await expect(colleague.getByText('Um membro da conta não aprovou.')).toBeVisible()
  await expect(colleague.getByText('Não aprovado')).toBeVisible()
  await expect(colleague.getByText('Valor de volta ao saldo')).toBeVisible()
  await colleague.context().close()
})

test('an owner makes the rule stricter alone, and weaker only with another owner', {
  tag: '@torture',
}, async ({ page, context, browser }) => {
  const { shop, colleague } = await openShopOfTwo(context, browser)
  await page.goto('/test/settings')
  const section = page.locator('section', { hasText: 'Aprovação de saques' })
  await expect(section.getByText('Ativa.')).toBeVisible()
  await section.getByLabel('Saques acima de').fill('500,00')
  await section.getByLabel('Saques do dia acima de').fill('2.000,00')
  await section.getByRole('button', { name: 'Salvar' }).click()
  await expect(section.getByText('Salvo.')).toBeVisible()
  await section.getByLabel('O primeiro saque para cada chave').uncheck()
  await section.getByLabel('Saques do dia acima de').fill('1.000,00')
  await section.getByRole('button', { name: 'Salvar' }).click()
  await expect(section.getByText('até que outro dono, ou o administrador, confirme')).toBeVisible()
  await expect(section.getByText(/aprovação acima de R\$\s1\.000,00 no dia/)).toBeVisible()
  await expect(section.getByLabel('Saques do dia acima de')).toHaveValue('2.000,00')
  await expect(section.getByLabel('O primeiro saque para cada chave')).toBeChecked()
  await expect(section.getByRole('button', { name: 'Confirmar mudança' })).toHaveCount(0)
  await expectAccessible(page)

  await addSession(colleague.context(), await createSession({ accountId: shop.id, role: 'owner' }))
  await colleague.goto('/test/settings')
  const theirs = colleague.locator('section', { hasText: 'Aprovação de saques' })
  await theirs.getByRole('button', { name: 'Confirmar mudança' }).click()
  await expect(theirs.getByLabel('O primeiro saque para cada chave')).not.toBeChecked()
  await expect(theirs.getByLabel('Saques acima de')).toHaveValue('500,00')
  await expect(theirs.getByLabel('Saques do dia acima de')).toHaveValue('1.000,00')

  await page.reload()
  await section.getByLabel('Saques do dia acima de').fill('100,00')
  await section.getByRole('button', { name: 'Salvar' }).click()
  await expect(section.getByText('Salvo.')).toBeVisible()
  await requestWithdrawal(page, 'fornecedor@example.com')
  await expect(page.getByText('o total de saques do dia passa do limite')).toBeVisible()
  await colleague.context().close()
})

test('an admin of the operator confirms a weaker rule', { tag: '@torture' }, async ({
  page,
  context,
  browser,
}) => {
  const { shop, colleague } = await openShopOfTwo(context, browser)
  await page.goto('/test/settings')
  const section = page.locator('section', { hasText: 'Aprovação de saques' })
  await section.getByLabel('O primeiro saque para cada chave').uncheck()
  await section.getByRole('button', { name: 'Salvar' }).click()
  await expect(section.getByText('até que outro dono, ou o administrador, confirme')).toBeVisible()

  await addSession(colleague.context(), await createSession({ isAdmin: true }))
  await colleague.goto(`/admin/accounts/${shop.id}`)
  await expectAccessible(colleague)
  await colleague.getByRole('button', { name: 'Confirmar mudança' }).click()
  await expect(colleague.getByRole('button', { name: 'Confirmar mudança' })).toHaveCount(0)
  await page.reload()
  await expect(section.getByLabel('O primeiro saque para cada chave')).not.toBeChecked()
  await page.goto('/test/withdrawals')
  await expect(page.getByText('Exigir um segundo membro')).toBeVisible()
  await expectAccessible(page)
  await colleague.context().close()
})
