import type { BrowserContext, Page } from 'playwright/test'
import { expect, readSetting, signInAsDemo, test } from '#e2e/browser/app.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'

test.use({ locale: 'pt-BR' })

/** Limits of the page of charges with 25 rows and an empty cache, in bytes with headers. */
const ALL_MAX = 250_000
const READABLE_MAX = 60_000
const SCRIPTS_MAX = 165_000
const REQUESTS_MAX = 24

interface Received {
  type: string
  bytes: number
  isBeforeLoad: boolean
}

/** Visits the page of charges with an empty cache and returns what arrived over the network. */
async function visitCharges(page: Page): Promise<Received[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  const received = new Map<string, Received>()
  let isLoaded = false
  let isCompressed = false
  page.once('load', () => {
    isLoaded = true
  })
  session.on('Network.responseReceived', ({ requestId, type, response }) => {
    received.set(requestId, { type, bytes: 0, isBeforeLoad: !isLoaded })
    if (type === 'Document') isCompressed = response.headers['content-encoding'] === 'gzip'
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const response = received.get(requestId)
    if (response) response.bytes = encodedDataLength
  })
  const waitForQuiet = await watchRequests(page)
  await page.goto('/test/charges')
  await waitForQuiet()
  await expect(page.getByRole('link', { name: 'Mais antigas' })).toBeVisible()
  await expect(page.locator('tbody tr')).toHaveCount(25)
  await session.detach()
  // Beside four other compressions, the page is sent as it is.
  return isCompressed ? [...received.values()] : visitCharges(page)
}

function sum(received: Received[], isCounted: (response: Received) => boolean): number {
  return received.filter(isCounted).reduce((total, { bytes }) => total + bytes, 0)
}

async function signedInContext(page: Page, javaScriptEnabled: boolean): Promise<BrowserContext> {
  const browser = page.context().browser()
  if (!browser) throw new Error('The page has no browser')
  const storageState = await page.context().storageState()
  const options = { baseURL: readSetting('BASE_URL'), locale: 'pt-BR', storageState }
  return browser.newContext({ ...options, javaScriptEnabled })
}

test('the charges are read and searched with 60 KB, and the whole page takes 250 KB', {
  tag: '@torture',
}, async ({ page }) => {
  await signInAsDemo(page)
  const plain = await signedInContext(page, false)
  const plainPage = await plain.newPage()
  const readable = await visitCharges(plainPage)
  const [firstFont = 0] = readable.filter(({ type }) => type === 'Font').map(({ bytes }) => bytes)
  expect(sum(readable, ({ type }) => type !== 'Font') + firstFont).toBeLessThan(READABLE_MAX)
  await plainPage.getByRole('searchbox').fill('nada')
  await plainPage.getByRole('searchbox').press('Enter')
  await expect(plainPage).toHaveURL('/test/charges?q=nada')
  await plain.close()

  const full = await signedInContext(page, true)
  const received = await visitCharges(await full.newPage())
  const scripts = sum(received, ({ type, isBeforeLoad }) => type === 'Script' && isBeforeLoad)
  const all = sum(received, () => true)
  const description = `${all} B, scripts ${scripts} B, ${received.length} requests`
  test.info().annotations.push({ type: 'weight', description })
  expect(scripts).toBeLessThan(SCRIPTS_MAX)
  expect(all).toBeLessThan(ALL_MAX)
  expect(received.length).toBeLessThanOrEqual(REQUESTS_MAX)
  await full.close()
})
