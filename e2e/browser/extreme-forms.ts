import type { Page } from 'playwright/test'
import { PAYER_NAME } from '#e2e/browser/extreme-shop.ts'
import { BROWSER_LOCALE, say } from '#e2e/browser/extremes.ts'

/** A state of a page. `show` brings the page into it before the page is inspected. */
export type State = [name: string, path: string, show: (page: Page) => Promise<unknown>]

export const fill = (page: Page, name: string, text: string) =>
  page.locator(`[name="${name}"]`).filter({ visible: true }).fill(text)

/** Fills in the fields with these names and submits their form; without names, the first form. */
export const sending =
  (values: Record<string, string> = {}) =>
  async (page: Page) => {
    for (const [name, text] of Object.entries(values)) await fill(page, name, text)
    const names = Object.keys(values).map(name => `:has([name="${name}"])`)
    const buttons = page.locator(`main form${names.join('')} [type=submit]`)
    await buttons.filter({ visible: true }).first().click()
  }

/** In English, a comma would be asked about. */
const AMOUNT = BROWSER_LOCALE === 'pt-BR' ? '9999999999,99' : '9999999999.99'

export const CHARGE = {
  amount: AMOUNT,
  client_name: PAYER_NAME.slice(0, 255),
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
}
const WITHDRAWAL = { amount: AMOUNT, pix_key: `${'a'.repeat(60)}@example.com` }

export async function reviewWithdrawal(page: Page): Promise<void> {
  await sending(WITHDRAWAL)(page)
  await page.getByRole('button', { name: say('withdrawalRequest.confirm') }).waitFor()
}
