import { readFileSync } from 'node:fs'
import type axeCore from 'axe-core'
import type { RunOptions } from 'axe-core'
import { test as base, expect, type Page } from 'playwright/test'
import { chooseSize, openAccountMenu } from '#e2e/browser/layout.ts'

export { expect }

type Setting =
  | 'BASE_URL'
  | 'DEMO_EMAIL'
  | 'DEMO_PASSWORD'
  | 'ADMIN_EMAIL'
  | 'ADMIN_PASSWORD'
  | 'TOKEN'
  | 'TROCO_DATA'
  | 'LOG'

/** Minified: each page that is checked parses it. */
const AXE_SOURCE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8')

/** Omits descriptions of passed checks and the loading of stylesheets for experimental rules. */
const AXE_OPTIONS: RunOptions = {
  resultTypes: ['violations'],
  preload: false,
  // After a client-side navigation Next has no title for a moment: `toHaveTitle` waits for it.
  rules: { 'document-title': { enabled: false } },
}

const AXE_CONTRAST_OPTIONS: RunOptions = { ...AXE_OPTIONS, runOnly: ['color-contrast'] }

export function readSetting(name: Setting): string {
  const value = process.env[`E2E_${name}`]
  if (!value) throw new Error(`E2E_${name} is not set: run the browser tests through \`npm test\``)
  return value
}

interface Options {
  /** Error statuses that a test expects; any other status from 400 on fails the test. */
  expectedStatuses: number[]
}

/** Every test also fails on errors in the browser, failed requests and CSP violations. */
export const test = base.extend<Options & { browserErrors: string[] }>({
  expectedStatuses: [[], { option: true }],
  browserErrors: [
    async ({ page, expectedStatuses }, use) => {
      const size = page.viewportSize()
      const shownSize = size && chooseSize(size)
      if (shownSize && shownSize !== size) await page.setViewportSize(shownSize)
      const browserErrors = collectBrowserErrors(page, expectedStatuses)
      await use(browserErrors)
      expect(browserErrors).toEqual([])
    },
    { auto: true },
  ],
})

function collectBrowserErrors(page: Page, expectedStatuses: number[]): string[] {
  const browserErrors: string[] = []
  page.on('pageerror', error => browserErrors.push(String(error)))
  page.on('console', message => {
    // Error statuses are checked below, with the responses.
    const isStatus = message.text().startsWith('Failed to load resource')
    if (['error', 'warning'].includes(message.type()) && !isStatus)
      browserErrors.push(message.text())
  })
  page.on('requestfailed', request => {
    const reason = request.failure()?.errorText
    // Navigation aborts the requests of the previous page.
    if (reason !== 'net::ERR_ABORTED') browserErrors.push(`${request.url()} ${reason}`)
  })
  page.on('response', response => {
    const status = response.status()
    if (status >= 400 && !expectedStatuses.includes(status))
      browserErrors.push(`${response.url()} ${status}`)
  })
  return browserErrors
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await fillSignIn(page, email, password)
  await page.waitForURL(url => url.pathname !== '/login' && url.pathname !== '/')
}

/** Fills and submits the sign-in form without waiting. The option skips opening /login first. */
export async function fillSignIn(
  page: Page,
  email: string,
  password: string,
  options: { isOnLogin?: boolean } = {},
): Promise<void> {
  if (!options.isOnLogin) await page.goto('/login')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel(/^(Senha|Password)$/).fill(password)
  await page.getByRole('button', { name: /^(Entrar|Sign in)$/ }).click()
}

export function signInAsDemo(page: Page): Promise<void> {
  return signIn(page, readSetting('DEMO_EMAIL'), readSetting('DEMO_PASSWORD'))
}

export function signInAsAdmin(page: Page): Promise<void> {
  return signIn(page, readSetting('ADMIN_EMAIL'), readSetting('ADMIN_PASSWORD'))
}

export async function signOut(page: Page): Promise<void> {
  const menu = await openAccountMenu(page)
  await menu.getByRole('button', { name: /^(Sair|Sign out)$/ }).click()
  await page.waitForURL('**/login')
}

/** Expects the balance as a screen reader reads it, such as R$ 25.000,00. */
export async function expectBalance(page: Page, amount: string | RegExp): Promise<void> {
  await expect(page.getByTestId('balance')).toHaveText(amount)
}

export async function readBalanceCents(page: Page): Promise<number> {
  const text = await page.getByTestId('balance').textContent()
  return Number(text?.replaceAll(/\D/g, ''))
}

type Theme = 'light' | 'dark'
const THEMES: readonly Theme[] = ['light', 'dark']
const checkCounts = new WeakMap<Page, number>()

/** `npm test` makes every sixth check of a page. */
const CHECK_STRIDE = 6

/**
 * Chooses one theme and then the other for the checks that are made; the seed decides where they begin.
 * `npm run torture` makes each check in both.
 */
function chooseThemes(page: Page): readonly Theme[] {
  if (process.env.ALL_STORIES) return THEMES
  const count = checkCounts.get(page) ?? test.info().title.length + Number(process.env.TEST_SEED)
  checkCounts.set(page, count + 1)
  const theme = THEMES[(count / CHECK_STRIDE) % THEMES.length]
  return theme === undefined ? [] : [theme]
}

/** Expects no violation in the first theme, and in the others, which differ in colors, none of contrast. */
export async function expectAccessible(
  page: Page,
  themes: readonly Theme[] = chooseThemes(page),
): Promise<void> {
  await expect(page).toHaveTitle(/\S/)
  for (const [index, colorScheme] of themes.entries()) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const options = index === 0 ? AXE_OPTIONS : AXE_CONTRAST_OPTIONS
    // Again for a while, because a page may take a moment to change its theme. One check of a long page takes
    // many seconds on a busy machine.
    const patience = { message: `${page.url()}, ${colorScheme}`, timeout: 60_000 }
    await expect.poll(() => findViolations(page, options), patience).toEqual([])
  }
}

/** Loads axe once per page, which takes longer than a check. */
async function findViolations(page: Page, options: RunOptions): Promise<string[][]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE_SOURCE)
  return page.evaluate(async options => {
    const { axe } = globalThis as unknown as { axe: typeof axeCore }
    const { violations } = await axe.run(document, options)
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])
  }, options)
}

const SCRIPTS = '**/_next/static/chunks/*.js'

/** Holds the scripts that `isHeld` names until the returned function is called. */
export async function holdScripts(
  page: Page,
  isHeld = (_url: string) => true,
): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route(SCRIPTS, async route => {
    if (isHeld(route.request().url())) await released
    await route.continue().catch(() => {})
  })
  return release
}
