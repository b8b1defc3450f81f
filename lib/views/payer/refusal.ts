import type { Shown } from '#lib/views/payer/document.ts'
import { html } from '#lib/views/payer/html.ts'
import { icon } from '#lib/views/payer/icons.ts'
import type { Words } from '#lib/views/payer/words.ts'

/** Why there is no charge to show, in words for somebody who only wanted to pay. */
export function showRefusal(
  why: 'missing' | 'busy' | 'down',
  { t }: Words,
  retryAfterS: number,
): Shown {
  const title = t(why)
  const main = html`<main id="page"><div class="sheet"><div class="state"><span class="badge off">${icon(
    why === 'missing' ? 'wrong' : 'timer',
  )}</span><h1>${title}</h1><p>${t(`${why}Text`)}</p></div></div></main>`
  return { title, main, isTest: false, refreshS: retryAfterS, isLive: false }
}
