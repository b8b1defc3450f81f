import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright/test'
import { expectAccessible } from '#e2e/browser/app.ts'
import type { Ids } from '#e2e/browser/extreme-shop.ts'
import { findUnreadable } from '#e2e/browser/text-layout.ts'
import type { Locale } from '#lib/core/locale.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { MESSAGES } from '#messages/words.ts'

/** Each run checks one language: the seed decides which. */
const LANGUAGE: Locale = chooseSeed() % 2 === 0 ? 'pt-BR' : 'en'
export const BROWSER_LOCALE = LANGUAGE === 'en' ? 'en-US' : LANGUAGE

/** A laptop of 1366 px at 150 % has 911 px, at 200 % 683. */
export const WIDTHS = [1440, 1280, 1100, 1024, 911, 900, 768, 683, 390, 360]

const PICTURE_FOLDER = '.cache/pictures'

/**
 * Lists what cannot be read at each width; every second one is checked by axe in the dark theme, the
 * others in the light one.
 */
export async function inspect(page: Page, name: string, widths = WIDTHS): Promise<string[]> {
  const problems: string[] = []
  for (const [index, width] of widths.entries()) {
    await page.setViewportSize({ width, height: 844 })
    const found = await findUnreadable(page)
    problems.push(...found.map(text => `${name}, ${width} px: ${text}`))
    if (process.env.ALL_STORIES) await expectAccessible(page, [index % 2 === 0 ? 'light' : 'dark'])
    if (process.env.TOUR_PICTURES) await takePicture(page, name, width)
  }
  return problems
}

async function takePicture(page: Page, pattern: string, width: number): Promise<void> {
  mkdirSync(PICTURE_FOLDER, { recursive: true })
  const name = pattern.replaceAll(/\W+/g, '-').replace(/^-/, '')
  // A dialog covers the window only.
  const fullPage = (await page.getByRole('dialog').filter({ visible: true }).count()) === 0
  await page.screenshot({ path: `${PICTURE_FOLDER}/extreme-${name}-${width}.png`, fullPage })
}

/** Returns the address of a page, such as /test/charges/:open, with the ids in place of their kinds. */
export function fillAddress(pattern: string, ids: Ids): string {
  return pattern.replaceAll(/:([a-z]+)/g, (_, kind) => ids[kind] ?? '')
}

/** Returns a message in the language of this run up to its first value, such as tokens.revoke. */
export function say(key: string): string {
  let found: unknown = MESSAGES[LANGUAGE]
  for (const part of key.split('.')) found = (found as Record<string, unknown> | undefined)?.[part]
  if (typeof found !== 'string') throw new Error(`There is no message ${key}`)
  return found.split('{')[0]?.trim() ?? ''
}
