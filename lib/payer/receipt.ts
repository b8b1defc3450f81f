import { type Html, html } from '#lib/core/html.ts'
import { dateFormat, HOME_TIME_ZONE } from '#lib/core/locale.ts'
import { renderAmount } from '#lib/payer/amount.ts'
import type { PageContent } from '#lib/payer/document.ts'
import { type Icon, icon } from '#lib/payer/icons.ts'
import type { Agreement } from '#lib/payer/receipt-record.ts'
import type { PayerTexts } from '#lib/payer/texts.ts'
import type { ReceiptFacts } from '#lib/receipts/format.ts'

/** Path at which the public keys of receipts are published. */
export const RECEIPT_KEYS_PATH = '/.well-known/troco-receipts.json'

type Outcome = Agreement | 'forged' | 'withdrawn'

const OUTCOMES = {
  agrees: { name: 'receiptAgrees', tone: 'ok', icon: 'done' },
  partly: { name: 'receiptPartly', tone: 'ok', icon: 'back' },
  returned: { name: 'receiptReturned', tone: 'off', icon: 'back' },
  contradicts: { name: 'receiptContradicts', tone: 'bad', icon: 'wrong' },
  gone: { name: 'receiptGone', tone: 'off', icon: 'done' },
  forged: { name: 'receiptForged', tone: 'bad', icon: 'wrong' },
  withdrawn: { name: 'receiptWithdrawn', tone: 'bad', icon: 'wrong' },
} as const satisfies Record<Outcome, { name: string; tone: string; icon: Icon }>

interface ProvenReceipt {
  facts: ReceiptFacts
  keyId: string
  agreement: Agreement
}

/** Renders what the reader brought, and whether the record agrees. */
export function renderReceipt(
  { facts, keyId, agreement }: ProvenReceipt,
  address: string,
  texts: PayerTexts,
): PageContent {
  const { t, moneyText } = texts
  const main = html`<main id="page">
<div class="head"><p class="name">${operationText(facts, t)}</p>
${renderAmount(facts.amount, texts)}</div>
<div class="sheet">${renderOutcome(agreement, texts)}
<dl><div><dt>${t('receiptOperation')}</dt><dd>${operationText(facts, t)}</dd></div>
<div><dt>${t('amount')}</dt><dd>${moneyText(facts.amount)}</dd></div>
<div><dt>${t('receiptAt')}</dt><dd>${t('receiptZone', { time: timeText(facts.at, texts) })}</dd></div>
<div class="w"><dt>${t('endToEnd')}</dt><dd class="id">${facts.endToEndId}</dd></div>
<div class="w"><dt>${t('receiptId')}</dt><dd class="id">${facts.id}</dd></div>
<div class="w"><dt>${t('receiptKey')}</dt><dd class="id"><a href="${RECEIPT_KEYS_PATH}">${keyId}</a></dd></div></dl></div>
${renderAdvice(address, texts)}
<p class="line small">${t('receiptNotFiscal')} ${t('receiptNames')}</p>
</main>`
  const isTest = facts.mode === 'test'
  const ribbon: PageContent['ribbon'] = isTest ? [t('receiptTest'), t('receiptTestText')] : null
  const title = t(OUTCOMES[agreement].name)
  return { title, main, ribbon, refreshS: 0, hasScript: false }
}

/** Repeats nothing of the URL: none of it is proven. */
export function renderRefusedReceipt(
  outcome: 'forged' | 'withdrawn',
  address: string,
  texts: PayerTexts,
): PageContent {
  const main = html`<main id="page"><div class="sheet">${renderOutcome(outcome, texts)}</div>
${renderAdvice(address, texts)}</main>`
  const title = texts.t(OUTCOMES[outcome].name)
  return { title, main, ribbon: null, refreshS: 0, hasScript: false }
}

function renderOutcome(outcome: Outcome, { t }: PayerTexts): Html {
  const { name, tone, icon: iconName } = OUTCOMES[outcome]
  return html`<div class="state"><span class="badge ${tone}">${icon(iconName)}</span>
<h1 data-testid="receipt-outcome" data-outcome="${outcome}">${t(name)}</h1><p>${t(`${name}Text`)}</p></div>`
}

function renderAdvice(address: string, { t }: PayerTexts): Html {
  return html`<p class="line small">${icon('shield')}<span>${t('receiptAddress', { address })}</span></p>`
}

function operationText({ kind }: ReceiptFacts, t: PayerTexts['t']): string {
  return t(kind === 'transaction' ? 'receiptTransaction' : 'receiptWithdrawal')
}

function timeText(at: string, { locale }: PayerTexts): string {
  const options = { dateStyle: 'medium', timeStyle: 'medium', timeZone: HOME_TIME_ZONE } as const
  return dateFormat(locale, options).format(new Date(at))
}
