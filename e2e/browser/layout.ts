import { expect, type Locator, type Page } from 'playwright/test'

export const DESKTOP = { width: 1280, height: 860 }
export const PHONE = { width: 390, height: 844 }
/** Windows of stories on a phone are narrower. */
const PHONE_WIDTH_MAX = 700

/** Returns the size to show a story at: for a desktop that of a phone, and the reverse, if `OTHER_SIZE` is set. */
export function chooseSize<Size extends { width: number }>(size: Size): Size | typeof DESKTOP {
  if (!process.env.OTHER_SIZE) return size
  return size.width < PHONE_WIDTH_MAX ? DESKTOP : PHONE
}

/** Finds the button of the sidebar, or of the bar of a phone, that opens the account menu. */
const accountButton = (page: Page) =>
  page.locator('button[popovertarget]').filter({ visible: true })

export async function openAccountMenu(page: Page): Promise<Locator> {
  await accountButton(page).click()
  return page.getByRole('dialog')
}

/**
 * Finds a link of the navigation by its name. On a phone the bar has some of the links; for the others
 * this opens the account menu.
 */
export async function findPlace(page: Page, name: string | RegExp): Promise<Locator> {
  const link = page
    .locator('header, nav, [popover]')
    .getByRole('link', { name, exact: true })
    .filter({ visible: true })
    .first()
  await expect(accountButton(page)).toBeVisible()
  if (!(await link.isVisible())) await openAccountMenu(page)
  return link
}

/** Finds the rows of a list: those of its table on a desktop, its cards on a phone. */
export function listRows(page: Page): Locator {
  return page.getByRole('main').locator('tbody tr, ul > li').filter({ visible: true })
}

/** Expects that a page does not scroll sideways at its size or at another one, and restores its size. */
export async function expectFits(page: Page, size = page.viewportSize()): Promise<void> {
  const sizeBefore = page.viewportSize()
  if (!size || !sizeBefore) throw new Error('The page has no size')
  await page.setViewportSize(size)
  const readOverflow = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  await expect.poll(readOverflow).toBe(0)
  await page.setViewportSize(sizeBefore)
}

const PICTURE_FOLDER = '.cache/pictures'
const PICTURE_SIZES = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }

/** With TOUR_PICTURES set, takes a screenshot of a step of a story in both sizes and themes. */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (!process.env.TOUR_PICTURES) return
  const size = page.viewportSize()
  // A dialog covers the window only.
  const fullPage = (await page.getByRole('dialog').filter({ visible: true }).count()) === 0
  for (const [sizeName, shown] of Object.entries(PICTURE_SIZES))
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(shown)
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const path = `${PICTURE_FOLDER}/story-${name}-${sizeName}-${colorScheme}.png`
      await page.screenshot({ path, fullPage })
    }
  if (size) await page.setViewportSize(size)
  await page.emulateMedia({ colorScheme: null, reducedMotion: null })
}
