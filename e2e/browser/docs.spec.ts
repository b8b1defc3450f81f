import type { Page, Route } from 'playwright/test'
import { expect, expectAccessible, readSetting, signInAsDemo, test } from '#e2e/browser/app.ts'
import { expectFits, findPlace } from '#e2e/browser/layout.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'
import { API_REFUSALS } from '#lib/core/refusals.ts'
import { call } from '#lib/testing/call.ts'
import { CHARGE } from '#lib/testing/charge.ts'

async function createCharge() {
  const token = readSetting('TOKEN')
  return (await call(readSetting('BASE_URL'), 'POST', '/transactions', { token, body: CHARGE }))
    .body
}

/** Opens a page from the table of contents, which a narrow window folds. */
async function openFromContents(page: Page, name: string): Promise<void> {
  const contents = page.getByText(/^(Contents|Conteúdo)$/)
  // The contents come before it in the page.
  await page.getByRole('main').waitFor()
  if (await contents.isVisible()) await contents.click()
  await page.getByRole('link', { name, exact: true }).filter({ visible: true }).first().click()
}

test.describe('the documentation', () => {
  test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

  test('needs no sign-in, keeps theme, language and samples, and sends no request to another host', async ({
    page,
  }) => {
    const origins = new Set<string>()
    page.on('request', request => origins.add(new URL(request.url()).origin))
    await page.goto('/docs')
    await expect(page).toHaveURL('/docs/en')
    await expect(page).toHaveTitle('Troco API · Troco')
    await openFromContents(page, 'Create a charge')
    await expect(page.getByRole('heading', { level: 1, name: 'Create a charge' })).toBeVisible()
    await page.getByRole('tab', { name: 'Python' }).click()
    await expect(page.getByRole('tabpanel')).toContainText('requests.post(')
    await page.keyboard.press('ArrowRight')
    await expect(page.getByRole('tabpanel')).toContainText('curl_init(')
    await page.keyboard.press('Home')
    await expect(page.getByRole('tabpanel')).toContainText('$TROCO_TOKEN')
    await page.keyboard.press('End')
    await expect(page.getByRole('tabpanel')).toContainText('curl_init(')
    const readColor = () => page.evaluate(() => getComputedStyle(document.body).color)
    const light = await readColor()
    await page.getByRole('button', { name: 'Light or dark' }).click()
    expect(await readColor()).not.toBe(light)
    await page.getByRole('link', { name: 'Português' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Criar cobrança' })).toBeVisible()
    await expect(page.getByRole('tabpanel')).toContainText('curl_init(')
    expect(await readColor()).not.toBe(light)
    await page.goto('/docs')
    await expect(page).toHaveURL('/docs/pt')
    expect([...origins]).toEqual([new URL(readSetting('BASE_URL')).origin])
  })

  test('is searched by words and error codes, with the keyboard alone', async ({ page }) => {
    await page.goto('/docs/en')
    await page.getByRole('searchbox').focus()
    await page.keyboard.type('rotation signature')
    await expect(page.getByRole('search').getByRole('link').first()).toContainText(
      'Webhooks done right',
    )
    await page.keyboard.press('Control+A')
    await page.keyboard.type('zzzz')
    await expect(page.getByRole('search')).toContainText('Nothing found')
    await expect(page.getByRole('status')).toContainText('Nothing found')
    for (const [words, title] of [
      ['POST /transactions', 'Create a charge'],
      ['events:read', 'List events'],
    ] as const) {
      await page.keyboard.press('Control+A')
      await page.keyboard.type(words)
      await expect(page.getByRole('search').getByRole('link', { name: title })).toBeVisible()
      await expect(page.getByRole('status')).toContainText('Results: ')
    }
    await page.keyboard.press('Control+A')
    await page.keyboard.type('insufficient_bal')
    await expect(page.getByRole('search').getByRole('link').first()).toContainText(
      'insufficient_balance',
    )
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL('/docs/en/errors#insufficient_balance')
    await expect(page.locator('#insufficient_balance')).toBeInViewport()
  })

  test('explains the code of every error on the page that errors link to', {
    tag: '@torture',
  }, async ({ page, request }) => {
    const refusal = await request.get('/api/nothing')
    const link = /^<(.*#not_found)>; rel="help"$/.exec(refusal.headers().link ?? '')?.[1] ?? ''
    await page.goto(link)
    await expect(page.locator('#not_found')).toBeInViewport()
    await expect(page.getByText('The API has no such path.')).toBeInViewport()
    const codes = await page.locator('main h2').evaluateAll(all => all.map(({ id }) => id))
    expect(codes.toSorted()).toEqual([...Object.keys(API_REFUSALS), 'internal_error'].toSorted())
    await expectAccessible(page)
  })

  test('loads the form on demand, sends a request with a token to this server, and says what is missing', async ({
    page,
  }) => {
    const requested: string[] = []
    page.on('request', request => requested.push(new URL(request.url()).pathname))
    const waitForQuiet = await watchRequests(page)
    await page.goto('/docs/en/get-charge')
    await waitForQuiet()
    expect(requested).toContain('/docs/assets/reader.js')
    expect(requested).not.toContain('/docs/assets/trial.js')
    await page.getByRole('button', { name: 'Try it' }).click()
    const send = page.getByRole('button', { name: 'Send request' })
    await send.click()
    expect(requested).toContain('/docs/assets/trial.js')
    await expect(page.locator('.trial').getByRole('status')).toContainText('Enter an API token')
    await page.getByLabel('API token').fill(readSetting('TOKEN'))
    await send.click()
    await expect(page.locator('.trial').getByRole('status')).toContainText('Fill in id')
    await page.goto('/docs/en/get-account')
    await page.getByRole('button', { name: 'Try it' }).click()
    await expect(page.getByLabel('API token')).toHaveValue('')
    await page.getByLabel('API token').fill(readSetting('TOKEN'))
    await send.click()
    await expect(page.locator('.trial').getByRole('status')).toContainText('200 after')
    await expect(page.locator('.trial').getByRole('status')).toContainText('"balance"')
    const created = await createCharge()
    for (const operation of ['draw-charge-svg', 'draw-charge-png']) {
      await page.goto(`/docs/en/${operation}`)
      await page.getByRole('button', { name: 'Try it' }).click()
      await page.getByLabel('id', { exact: true }).fill(created.data.transaction_id)
      await send.click()
      const image = page.locator('.trial').getByRole('img', { name: 'The image that the API sent' })
      await expect(image).toHaveJSProperty('complete', true)
      expect(await image.evaluate((shown: HTMLImageElement) => shown.naturalWidth)).toBeGreaterThan(
        0,
      )
    }
    await page.goto('/docs/en/list-events')
    await page.getByRole('button', { name: 'Try it' }).click()
    await expect(page.getByLabel('API token')).toHaveValue(readSetting('TOKEN'))
    await page.getByLabel('API token').fill('troco_live_x')
    await expect(page.getByText('This is a live token')).toBeHidden()
    await page.goto('/docs/en/create-charge')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByLabel('API token').fill('troco_live_x')
    await expect(page.getByText('This is a live token')).toBeVisible()
    await expectAccessible(page)
  })

  test('repeats a write with the same key until it succeeds, and takes a new key for another request', {
    tag: '@torture',
  }, async ({ page, browserErrors }) => {
    await page.goto('/docs/en/create-charge')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByLabel('API token').fill(readSetting('TOKEN'))
    const key = await page.getByLabel('Idempotency-Key').inputValue()
    expect(key).toMatch(/^[0-9a-f]{32}$/)
    const body = page.getByLabel('Body')
    const writeBody = (amount: number) =>
      body.fill(
        JSON.stringify({
          amount,
          client_name: 'Ana Beatriz Rocha',
          client_email: 'ana@example.com',
          client_doc: '529.982.247-25',
          external_id: `try-${key}-${amount}`,
        }),
      )
    const status = page.locator('.trial').getByRole('status')
    const send = page.getByRole('button', { name: 'Send request' })
    const readId = async () =>
      /"transaction_id": "([\w-]+)"/.exec((await status.textContent()) ?? '')?.[1] ?? ''
    await writeBody(1500)
    // The server receives the request, but its response is lost.
    await page.route('**/api/transactions', async route => {
      await route.fetch()
      await route.abort()
    })
    await send.click()
    await expect(status).toContainText('sends the same Idempotency-Key again')
    expect(browserErrors.splice(0)).toEqual([expect.stringContaining('net::ERR_FAILED')])
    await page.unroute('**/api/transactions')
    await expect(page.getByLabel('Idempotency-Key')).toHaveValue(key)
    const repeated = page.waitForResponse('**/api/transactions')
    await send.click()
    expect((await repeated).headers()['idempotent-replayed']).toBe('true')
    await expect(status).toContainText('200 after')
    const first = await readId()
    await writeBody(1600)
    await expect(page.getByLabel('Idempotency-Key')).not.toHaveValue(key)
    await send.click()
    await expect(status).not.toContainText(first)
    await expect(status).toContainText('200 after')
    const id = await readId()
    expect(id).not.toBe('')
    await page.goto('/docs/en/get-charge')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByLabel('id', { exact: true }).fill(id)
    await send.click()
    await expect(status).toContainText('"amount": 1600')
    await expectFits(page)
  })

  test('is linked from the dashboard and links back', { tag: '@torture' }, async ({ page }) => {
    await signInAsDemo(page)
    await (await findPlace(page, 'Documentation')).click()
    await expect(page).toHaveURL('/docs/en')
    await openFromContents(page, 'Dashboard')
    await expect(page).toHaveURL('/test/home')
  })
})

test.describe('the documentation without scripts', () => {
  test.use({ locale: 'en-US', javaScriptEnabled: false })

  test('shows every sample, every field and a menu', async ({ page }) => {
    await page.goto('/docs/en/create-charge')
    for (const sample of ['$TROCO_TOKEN', 'await fetch(', 'requests.post(', 'curl_init('])
      await expect(page.getByText(sample).first()).toBeVisible()
    await expect(page.getByText('expires_in', { exact: true }).first()).toBeVisible()
    await expect(page.getByRole('button', { name: 'Try it' })).toBeHidden()
    await openFromContents(page, 'Webhooks done right')
    await expect(page.getByRole('heading', { name: 'Check the signature' })).toBeVisible()
  })
})

test.describe('on a phone, in Portuguese', () => {
  test.use({ locale: 'pt-BR', viewport: { width: 390, height: 844 } })

  test('the documentation is in the menu, fits the window, has no violation and has a menu @torture', async ({
    page,
  }) => {
    await signInAsDemo(page)
    await (await findPlace(page, 'Documentação')).click()
    await expect(page).toHaveURL('/docs/pt')
    for (const path of ['', '/webhooks', '/create-charge']) {
      await page.goto(`/docs/pt${path}`)
      await expectFits(page)
      await expectAccessible(page)
    }
    await openFromContents(page, 'Criar saque')
    await expect(page).toHaveURL('/docs/pt/create-withdrawal')
  })
})

test.describe('the documentation, where storage and clipboard are blocked and the search fails at first,', () => {
  test.use({ locale: 'en-US', expectedStatuses: [503] })

  test('changes samples, selects code that it cannot copy, and searches at the next word', {
    tag: '@torture',
  }, async ({ page }) => {
    await page.addInitScript(() => {
      const get = () => {
        throw new Error('blocked')
      }
      Object.defineProperty(window, 'localStorage', { get })
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
    })
    const fail = (route: Route) => route.fulfill({ status: 503 })
    await page.route('**/search.json', fail, { times: 1 })
    await page.goto('/docs/en/create-charge')
    await page.getByRole('tab', { name: 'Python' }).click()
    const panel = page.getByRole('tabpanel')
    await expect(panel).toContainText('requests.post(')
    await panel.getByRole('button', { name: 'Copy' }).click()
    expect(await page.evaluate(() => String(getSelection()))).toContain('requests.post(')
    const search = page.getByRole('searchbox')
    const failed = page.waitForResponse('**/search.json')
    await search.fill('refund')
    expect((await failed).status()).toBe(503)
    await expect(page.getByRole('search').getByRole('link')).toHaveCount(0)
    await search.fill('refunds')
    await expect(page.getByRole('search').getByRole('link').first()).toBeVisible()
  })
})
