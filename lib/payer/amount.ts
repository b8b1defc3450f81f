import { type Html, html } from '#lib/core/html.ts'
import type { PayerTexts } from '#lib/payer/texts.ts'

/** Length from which an amount (ten million and more) needs a smaller font on small phones. */
const LONG_AMOUNT_MIN = 10

/** Renders the amount in large type, which screen readers skip. */
export function renderAmount(cents: number, { money }: PayerTexts): Html {
  const { whole, rest } = money(cents)
  const isLong = whole.length >= LONG_AMOUNT_MIN
  return html`<p class="sum${isLong ? ' long' : ''}" aria-hidden="true"><i>R$</i>${whole}<sup>${rest}</sup></p>`
}
