import type { Page } from 'playwright/test'
import { ADMIN_TARGETS } from '#components/palette/targets.ts'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { PHONE } from '#e2e/browser/layout.ts'
import { addSession, createSession, openShop, type Shop, signOut } from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'

test.use({ locale: 'pt-BR' })

const DOCUMENT = '529.982.247-25'

interface CreatedCharge {
  transaction_id: string
  br_code: string
}

async function createCharge(
  { token }: Shop,
  external_id: string,
  client_name: string,
): Promise<CreatedCharge> {
  const payer = { client_name, client_email: 'payer@example.com', client_doc: DOCUMENT }
  const body = JSON.stringify({ amount: 12_345, external_id, ...payer })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body }
  return (await (await fetch(`${readSetting('BASE_URL')}/api/transactions`, init)).json()).data
}

/** Finds the search field by its name, because the settings have other comboboxes. */
function inputOf(page: Page) {
  return page.getByRole('combobox', { name: /^(Busca|Search)$/ })
}

async function openPalette(page: Page) {
  await expect(async () => {
    await page.keyboard.press('Control+k')
    await expect(inputOf(page)).toBeVisible({ timeout: 2_000 })
  }).toPass()
  return inputOf(page)
}

test('the keyboard opens every page and command, by words of both languages', {
  tag: '@torture',
}, async ({ page, context }) => {
  await openShop(context)
  await page.goto('/test/settings')
  const input = await openPalette(page)
  await expect(input).toBeFocused()
  await expectAccessible(page)
  await input.fill('withdraw')
  await expect(page.getByRole('option', { name: 'Saques' })).toBeVisible()
  await input.fill('chaves')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/test/settings/tokens')
  await expect(inputOf(page)).toHaveCount(0)
  const again = await openPalette(page)
  await again.fill('estorno')
  await expect(page.getByRole('option', { name: 'Cobranças' })).toBeVisible()
  for (const [word, names] of [
    ['reembolso', ['Cobranças']],
    ['exportar', ['Extrato', 'Saques', 'Cobranças']],
  ] as const) {
    await again.fill(word)
    for (const name of names) await expect(page.getByRole('option', { name })).toBeVisible()
  }
  await again.fill('2fa')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/test/settings/security')
  await (await openPalette(page)).fill('escuro')
  await page.keyboard.press('Enter')
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  const search = page.getByRole('button', { name: 'Buscar', exact: true })
  await search.focus()
  await openPalette(page)
  await page.keyboard.press('Escape')
  await expect(inputOf(page)).toHaveCount(0)
  await expect(search).toBeFocused()
  await (await openPalette(page)).fill('documentação')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/docs/pt')
})

test('Enter opens the charge of a pasted code, id, reference or document', async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  const created = await createCharge(shop, 'pedido-77', 'Ana Beatriz')
  const path = `/test/charges/${created.transaction_id}`
  for (const name of [
    created.br_code,
    created.transaction_id,
    'pedido-77',
    '52998224725',
    'ana 123,45',
  ]) {
    await page.goto('/test/settings')
    const input = await openPalette(page)
    await input.fill(name)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${path}`)
  }
})

test('an admin reaches every page of the operator and every account, a merchant none', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context, `Padaria ${newId()}`)
  await page.goto('/test/settings')
  const input = await openPalette(page)
  await input.fill('administração')
  await expect(page.getByText('Nada encontrado.')).toBeVisible()
  await input.fill(shop.name)
  await expect(page.getByText('Nada encontrado.')).toBeVisible()

  await signOut(context)
  await addSession(context, await createSession({ isAdmin: true }))
  await page.goto('/admin')
  const navigation = page.getByRole('navigation', { name: 'Navegação principal' })
  const pages = navigation.locator('a[href^="/admin"]')
  // Of the forms, the palette has the one that adds a bank.
  await expect(pages).toHaveCount(ADMIN_TARGETS.length - 1)
  await (await openPalette(page)).fill('administração')
  await expect(page.getByRole('option')).toHaveCount(ADMIN_TARGETS.length)
  await expectAccessible(page)
  await inputOf(page).fill('saúde')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/admin/health')
  await (await openPalette(page)).fill(shop.name)
  await expect(page.getByRole('option', { name: shop.name })).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(`/admin/accounts/${shop.id}`)
})

test('ids of another merchant find nothing', { tag: '@torture' }, async ({
  page,
  context,
  browser,
}) => {
  const otherContext = await browser.newContext()
  const created = await createCharge(await openShop(otherContext, 'Vizinha'), 'deles-1', 'Carla')
  await otherContext.close()
  await openShop(context)
  await page.goto('/test/settings')
  const input = await openPalette(page)
  for (const name of [created.transaction_id, created.br_code, 'deles-1']) {
    await input.fill(name)
    await expect(page.getByText('Nada encontrado.')).toBeVisible()
  }
})

test('a slow response never replaces a newer one', async ({ page, context }) => {
  const shop = await openShop(context)
  await createCharge(shop, 'lento', 'Marina Lenta')
  await createCharge(shop, 'rapido', 'Rita Rápida')
  await page.goto('/test/settings')
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route(/find\?q=lento/, async route => {
    await released
    await route.continue().catch(() => {})
  })
  const input = await openPalette(page)
  const requested = page.waitForRequest(/find\?q=lento/)
  await input.fill('lento')
  await requested
  await input.fill('rapido')
  await expect(page.getByRole('option', { name: /Rita Rápida/ })).toBeVisible()
  release()
  await expect(page.getByRole('option', { name: /Marina Lenta/ })).toHaveCount(0)
  await expect(page.getByRole('option', { name: /Rita Rápida/ })).toBeVisible()
})

test.describe('in English, on a phone', () => {
  test.use({ locale: 'en-US', viewport: PHONE, expectedStatuses: [503] })

  test('a payer is found by name, and a failed search shows an error', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    await createCharge(shop, 'order-1', 'Ana Beatriz')
    await createCharge(shop, 'order-2', 'Ana Clara')
    await page.goto('/test/settings')
    const input = inputOf(page)
    // A click before the page has its scripts does nothing.
    await expect(async () => {
      // The palette, once open, covers the button.
      if (!(await input.isVisible()))
        await page.getByRole('button', { name: 'Search' }).click({ timeout: 2_000 })
      await expect(input).toBeVisible({ timeout: 2_000 })
    }).toPass()
    await input.fill('Ana')
    await expect(
      page.getByRole('option', { name: /Ana Beatriz.*order-1.*R\$ 123\.45/ }),
    ).toBeVisible()
    await expectAccessible(page)
    await page.route(/find\?q=broken/, route =>
      route.fulfill({ status: 503, headers: { 'x-error-code': 'service_unavailable' }, json: {} }),
    )
    await input.fill('broken')
    await expect(page.getByRole('dialog').getByRole('alert')).toContainText('unavailable')
    // A phone has no Escape key, a desktop no button.
    const close = page.getByRole('button', { name: 'Close' })
    if (await close.isVisible()) await close.click()
    else await input.press('Escape')
    await expect(input).toHaveCount(0)
  })
})
