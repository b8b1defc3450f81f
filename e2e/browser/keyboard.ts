import type { Locator, Page } from 'playwright/test'
import { expect } from '#e2e/browser/app.ts'

/** More than the stops of any page: without this limit a trap would be an endless test. */
const STOPS_MAX = 120

/** Presses Tab until the target has the focus. Every stop on the way shows that it has it. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await expect(target).toBeVisible()
  for (let stop = 0; stop < STOPS_MAX; stop++) {
    if (await target.evaluate(element => element === document.activeElement)) return
    await page.keyboard.press('Tab')
    expect(await findHiddenFocus(page)).toBeNull()
  }
  throw new Error(`No Tab reaches ${target}`)
}

export async function pressOn(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press(key)
}

export async function typeInto(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.type(text)
}

/** Visits every stop of the page once, until the focus leaves it, and returns what was wrong. */
export async function visitStops(page: Page): Promise<string[]> {
  const found: string[] = []
  for (let stop = 0; stop < STOPS_MAX; stop++) {
    await page.keyboard.press('Tab')
    const problem = await findHiddenFocus(page)
    if (problem) found.push(problem)
    if (await page.evaluate(() => document.activeElement === document.body)) return found
  }
  return [...found, 'the focus does not leave the page']
}

/** Describes the element with the focus if it has no outline, or if it cannot be seen. */
function findHiddenFocus(page: Page): Promise<string | null> {
  return page.evaluate(() => {
    const element = document.activeElement
    if (!element || element === document.body) return null
    const label = element.closest('label') ?? (element as HTMLInputElement).labels?.[0]
    const name = `${element.tagName} ${(label ?? element).textContent?.trim().slice(0, 40)}`
    const shown = [label, element, element.parentElement].find(
      one => one && getComputedStyle(one).outlineStyle !== 'none',
    )
    if (!shown) return `no outline: ${name}`
    const { x, y, width, height } = shown.getBoundingClientRect()
    // The middle of the first line, of a part that is not taller than the window.
    const [left, top] = [x + width / 2, y + Math.min(height, innerHeight) / 2]
    const hit = document.elementFromPoint(left, top)
    if (!hit) return `outside of the window: ${name}`
    return shown.contains(hit) || hit.contains(shown) ? null : `covered: ${name}`
  })
}
