import type { Page } from 'playwright/test'
import {
  expect,
  expectAccessible,
  openAccountMenu,
  readSetting,
  signInAsDemo,
  test,
} from '#e2e/browser/app.ts'
import { API_REFUSALS } from '#lib/base/api-refusals.ts'

async function openReference(page: Page, hash = ''): Promise<void> {
  await page.goto(`/docs${hash}`)
  await expectReference(page)
}

async function expectReference(page: Page): Promise<void> {
  const title = page.getByRole('heading', { level: 1, name: 'Troco API' })
  // The page loads a script of 4 MB first.
  await expect(title).toBeVisible()
}

async function chooseThemeAndLanguage(page: Page): Promise<void> {
  const readTextColor = () =>
    page.evaluate(
      () => getComputedStyle(document.querySelector('.references-rendered') ?? document.body).color,
    )
  const light = await readTextColor()
  await page.getByRole('radio', { name: 'Dark' }).press('Space')
  await expect(page.locator('body')).toHaveClass(/dark-mode/)
  expect(await readTextColor()).not.toBe(light)
  await page.getByRole('button', { name: 'Português' }).click()
  await expect(page.getByRole('link', { name: 'Introdução' })).toBeVisible()
  await expect(page).toHaveTitle('Documentação da API · Troco')
  await expect(page.locator('body')).toHaveClass(/dark-mode/)
}

test.describe('the API reference', () => {
  test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

  test('needs no sign-in, follows the chosen theme and language, and sends no request to another host', async ({
    page,
    browserErrors,
  }) => {
    const origins = new Set<string>()
    page.on('request', request => origins.add(new URL(request.url()).origin))
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
        reportError(new Error(`${violatedDirective} ${blockedURI}`)),
      )
    })
    await openReference(page)
    await expect(page).toHaveTitle('API reference · Troco')
    await page.getByRole('link', { name: 'Charges', exact: true }).click()
    await page.getByRole('link', { name: /^Create a charge/ }).click()
    await expect(page.getByRole('heading', { name: 'Create a charge' })).toBeInViewport()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('refund_failed')
    await expect(page.getByRole('option', { name: /transaction\.refund_failed/ })).toBeVisible()
    await page.keyboard.press('Escape')
    await page.goto('/docs#tag/webhooks')
    await expect(page.getByRole('heading', { name: 'transaction.paid' })).toBeVisible()
    await page.waitForLoadState('networkidle')
    await chooseThemeAndLanguage(page)
    expect([...origins]).toEqual([new URL(readSetting('BASE_URL')).origin])
    expect(browserErrors).toEqual([])
  })

  test('explains the code of every error on the page that errors link to', async ({
    page,
    request,
  }) => {
    const refusal = await request.get('/api/nothing')
    const link = /^<(.*#not_found)>; rel="help"$/.exec(refusal.headers().link ?? '')?.[1] ?? ''
    await page.goto(link)
    const section = page.locator('#not_found')
    await expect(section).toBeInViewport()
    await expect(section).toContainText('The API has no such path.')
    const codes = await page.locator('main section').evaluateAll(all => all.map(({ id }) => id))
    expect(codes.toSorted()).toEqual([...Object.keys(API_REFUSALS), 'internal_error'].toSorted())
    await expectAccessible(page)
  })

  test('has samples for curl, TypeScript, Python and PHP only, and sends a request with a token to this server', async ({
    page,
  }) => {
    await openReference(page, '#tag/charges/POST/transactions')
    const operation = page.getByRole('region', { name: 'Create a charge' })
    const samples: [string, string][] = [
      ['curl', '-H "Authorization: Bearer $TROCO_TOKEN"'],
      ['TypeScript', 'await fetch('],
      ['Python', 'requests.post('],
      ['PHP', 'curl_init('],
    ]
    let selected = 'curl'
    for (const [label, snippet] of samples) {
      await operation.getByRole('button', { name: selected, exact: true }).click()
      await expect(page.getByRole('option')).toHaveText(samples.map(([name]) => name))
      await page.getByRole('option', { name: label }).click()
      await expect(operation.locator('pre').first()).toContainText(snippet)
      selected = label
    }
    // The same page: loading its script again takes seconds.
    await openReference(page, '#tag/account/GET/account')
    const token = process.env.E2E_TOKEN ?? ''
    const account = page.getByRole('region', { name: 'Read the account' })
    await account
      .getByRole('button', { name: /^Try it/ })
      .first()
      .click()
    const client = page.getByRole('dialog')
    await client.getByLabel('Bearer Token').fill(token)
    const response = page.waitForResponse('**/api/account')
    await client.getByRole('button', { name: /Send/ }).first().click()
    expect((await response).status()).toBe(200)
    await expect(client.getByText('"balance"')).toBeVisible()
  })

  test('is linked from the dashboard and links back to it', { tag: '@torture' }, async ({
    page,
  }) => {
    await signInAsDemo(page)
    await page.getByRole('link', { name: 'Documentation' }).click()
    await expect(page).toHaveURL('/docs')
    await expectReference(page)
    await page.getByRole('link', { name: 'Back to the dashboard' }).click()
    await expect(page).toHaveURL('/test/home')
  })

  test.describe('without its script', () => {
    test.use({ expectedStatuses: [503] })

    test('shows an error with the path of the document', async ({ page }) => {
      await page.route('**/docs/scalar.js*', route => route.fulfill({ status: 503 }))
      await page.goto('/docs')
      const errorMessage = page.getByRole('alert').filter({ hasText: '/api/openapi.json' })
      await expect(errorMessage).toBeVisible()
    })
  })
})

const OPERATION = '#tag/charges/POST/transactions'

test.describe('on a phone, in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 390, height: 844 } })

  test('the API reference is in the menu, fits the window, has no violation and has a menu', async ({
    page,
  }) => {
    await signInAsDemo(page)
    const menu = await openAccountMenu(page)
    await menu.getByRole('link', { name: 'Documentação' }).click()
    await openReference(page, OPERATION)
    const width = await page.locator('html').evaluate(html => html.scrollWidth)
    expect(width).toBeLessThanOrEqual(390)
    await page.waitForLoadState('networkidle')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Abrir Menu' }).click()
    await page.getByRole('link', { name: 'Withdrawals', exact: true }).click()
    await expect(page.getByRole('link', { name: /^Create a withdrawal/ })).toBeVisible()
  })
})

test.describe('on a desktop, in English', { tag: '@torture' }, () => {
  test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

  test('the API reference has no violation', async ({ page }) => {
    await openReference(page, OPERATION)
    await page.waitForLoadState('networkidle')
    await expectAccessible(page)
  })
})
