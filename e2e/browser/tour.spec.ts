import { mkdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright/test'
import {
  expect,
  expectAccessible,
  readSetting,
  signInAsAdmin,
  signInAsDemo,
  test,
} from '#e2e/browser/app.ts'
import { findShopAccount, signOut } from '#e2e/browser/merchant.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'
import { db } from '#lib/db/client.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

/** Pages that need no session. */
const PUBLIC_PAGES = [
  ['login', '/login'],
  ['signup', '/signup'],
  ['reset', '/reset'],
  ['join-ended', '/join/no-invitation'],
] as const

/** Every page of a merchant and of the operator, with data. */
const PAGES = [
  ['home', '/test/home'],
  ['charges', '/test/charges'],
  ['charges-none', '/test/charges?q=nothing-is-called-this'],
  ['charge-new', '/test/charges/new'],
  ['charge-pending', '/test/charges/:pending'],
  ['charge-paid', '/test/charges/:paid'],
  ['payer', ':payment'],
  ['payer-paid', ':receipt'],
  ['withdrawals', '/test/withdrawals'],
  ['withdrawal-new', '/test/withdrawals/new'],
  ['withdrawal', '/test/withdrawals/:withdrawal'],
  ['statement', '/test/statement?period=90d'],
  ['disputes', '/test/disputes'],
  ['requests', '/test/requests'],
  ['request', '/test/requests/:request'],
  ['webhooks', '/test/webhooks'],
  ['delivery', '/test/webhooks/deliveries/:delivery'],
  ['endpoints', '/test/webhooks/endpoints'],
  ['endpoint-new', '/test/webhooks/endpoints/new'],
  ['settings', '/test/settings'],
  ['tokens', '/test/settings/tokens'],
  ['token-new', '/test/settings/tokens/new'],
  ['bank', '/test/bank'],
  ['live', '/live/home'],
  ['members', '/test/settings/members'],
  ['security', '/test/settings/security'],
  ['audit', '/test/settings/audit'],
  ['admin-overview', '/admin?span=30d'],
  ['admin-accounts', '/admin/accounts'],
  ['admin-account', '/admin/accounts/:account'],
  ['admin-charges', '/admin/accounts/:account/charges'],
  ['admin-people', '/admin/people'],
  ['admin-tokens', '/admin/tokens'],
  ['admin-audit', '/admin/audit'],
  ['admin-health', '/admin/health'],
] as const

/** Folder of the screenshots, which `npm run torture` takes. */
const PICTURE_FOLDER = '.cache/pictures'
/** Takes the screenshots in every language and theme. */
const TAKES_ALL_PICTURES = Boolean(process.env.TOUR_ALL)
const TAKES_PICTURES = TAKES_ALL_PICTURES || Boolean(process.env.TOUR_PICTURES)
const THEMES = ['light', 'dark'] as const
/** Maximum gzipped scripts of a page, without the scripts that Next loads on every page. */
const SCRIPT_BYTES_MAX = 110 * 1024
const SIZES = { desk: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } }
/** The size at which axe checks a page, one page after the other. */
const CHECKED_SIZES = ['desk', null, null, 'phone', null, null] as const

/**
 * Each size is checked in one theme, because colors do not depend on the width. The rules of axe are
 * checked on every third page, at one size: the seed decides on which and at which. `npm run torture`
 * checks them everywhere, and repeats the tour in English, whose texts are shorter, with the themes
 * the other way round.
 */
const TOURS = [
  { locale: 'pt-BR', themes: { desk: 'dark', phone: 'light' }, details: {} },
  { locale: 'en-US', themes: { desk: 'light', phone: 'dark' }, details: { tag: '@torture' } },
] as const

// In parallel, because each test visits all pages.
test.describe.configure({ mode: 'parallel' })

for (const { locale, themes, details } of TOURS) {
  test.describe(`in ${locale}`, details, () => {
    test.use({ locale })

    test('every page fits its window and has neither an axe violation nor a browser error', {
      tag: '@one-size',
    }, async ({ page }) => {
      // 39 pages: generous, because a busy machine is slow.
      test.setTimeout(900_000)
      mkdirSync(PICTURE_FOLDER, { recursive: true })
      let turn = chooseSeed()
      const waitForQuiet = await watchRequests(page)
      const visitPage = async (name: string, address: string) => {
        turn += 1
        const checkedSize = CHECKED_SIZES[turn % CHECKED_SIZES.length]
        await page.goto(address)
        await waitForQuiet()
        for (const size of ['desk', 'phone'] as const) {
          await page.setViewportSize(SIZES[size])
          const width = await page.locator('html').evaluate(html => html.scrollWidth)
          expect(width, name).toBeLessThanOrEqual(SIZES[size].width)
          if (process.env.ALL_STORIES || size === checkedSize)
            await expectAccessible(page, [themes[size]])
          if (!TAKES_PICTURES) continue
          for (const colorScheme of TAKES_ALL_PICTURES ? THEMES : [themes[size]]) {
            await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
            const path = `${PICTURE_FOLDER}/${name}-${size}-${colorScheme}-${locale.slice(0, 2)}.png`
            await page.screenshot({ path, fullPage: true })
          }
        }
      }
      for (const [name, address] of PUBLIC_PAGES) await visitPage(name, address)
      await signInAsDemo(page)
      const ids = await findResourceIds(page)
      for (const [name, pattern] of PAGES) {
        if (name === 'admin-overview') await switchToAdmin(page)
        await visitPage(name, fillPath(pattern, ids))
      }
    })
  })
}

test('no page exceeds its budget for scripts', { tag: '@torture' }, async ({ page }) => {
  const build = process.env.TROCO_BUILD
  test.skip(!build, 'a development server sends other scripts')
  await signInAsDemo(page)
  const ids = await findResourceIds(page)
  const manifest = JSON.parse(readFileSync(`${build}/build-manifest.json`, 'utf8'))
  const sharedFiles = new Set<string>(manifest.rootMainFiles)
  const overBudget: string[] = []
  for (const [name, pattern] of PAGES) {
    if (name === 'admin-overview') await switchToAdmin(page)
    const html = await (await page.request.get(fillPath(pattern, ids))).text()
    const files = new Set(html.match(/static\/chunks\/[\w.~-]+\.js/g))
    const ownFiles = [...files].filter(
      file => !sharedFiles.has(file) && !manifest.polyfillFiles.includes(file),
    )
    const sizes = ownFiles.map(file => gzipSync(readFileSync(`${build}/${file}`)).length)
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    test.info().annotations.push({ type: name, description: `${Math.round(bytes / 1024)} KB` })
    if (bytes > SCRIPT_BYTES_MAX) overBudget.push(`${name} ${Math.round(bytes / 1024)} KB`)
  }
  expect(overBudget).toEqual([])
})

async function switchToAdmin(page: Page): Promise<void> {
  await signOut(page.context())
  await signInAsAdmin(page)
}

function fillPath(pattern: string, ids: Record<string, string>): string {
  return pattern.replace(/:(\w+)/, (_, name) => ids[name] ?? '')
}

/** Returns the id of one object of each kind of the demo merchant, and two payment links. */
async function findResourceIds(page: Page): Promise<Record<string, string>> {
  const readFirst = async (path: string) => {
    const headers = { authorization: `Bearer ${readSetting('TOKEN')}` }
    const response = await page.request.get(`/api/${path}&limit=1`, { headers })
    return (await response.json()).data[0]
  }
  const account = (await findShopAccount(readSetting('DEMO_EMAIL'))).id
  const failed = { accountId: account, status: 'exhausted' }
  const [pending, paid, withdrawal, delivery] = await Promise.all([
    readFirst('transactions?status=pending'),
    readFirst('transactions?status=paid'),
    readFirst('withdrawals?status=rejected'),
    db().delivery.findFirstOrThrow({ where: failed }),
  ])
  await expect.poll(() => readFirst('requests?method=GET')).toBeDefined()
  const request = await readFirst('requests?method=GET')
  return {
    account,
    pending: pending.id,
    payment: pending.payment_url,
    paid: paid.id,
    receipt: paid.payment_url,
    withdrawal: withdrawal.id,
    delivery: delivery.id,
    request: request.id,
  }
}
