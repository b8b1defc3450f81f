import type { ChargeStatus } from '#lib/charges/states.ts'
import { type Html, html } from '#lib/core/html.ts'
import type { Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { renderQrCode } from '#lib/core/qr.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import {
  type Icon,
  icon,
  type PageContent,
  type PayerTexts,
  renderAmount,
} from '#lib/payer/document.ts'

/** Data of a charge for anyone with its URL: nothing about the payer. */
export interface PayableCharge {
  account_id: string
  id: string
  mode: Mode
  status: ChargeStatus
  amount: number
  br_code: string | null
  reference: string | null
  expires_at: string
  cancelled_at: string | null
  /** By the database's clock; negative after expiry. */
  seconds_left: number
  paid_at: string | null
  end_to_end_id: string | null
  /** What went back to the payer, also by the bank itself. */
  refunded_amount: number
  is_returned: boolean
  is_viewed: boolean
  /** Written by a member for the payer. */
  description: string | null
  merchant: string
  /** Where the payer goes after the payment. */
  shop_url: string | null
  time_zone: string
  items: PayableItem[]
  item_count: number
}

/** Texts as the merchant sent them; each may be absent. */
interface PayableItem {
  name: string | null
  price: string | null
  quantity: string | null
}

/** Null if generated or if it contains the payer's e-mail, name, document or phone. */
const REFERENCE = Prisma.sql`
  CASE WHEN c.external_id = c.txid OR strpos(c.external_id, '@') > 0
    OR strpos(lower(c.external_id), lower(c.client_name)) > 0
    OR strpos(upper(regexp_replace(c.external_id, '[^[:alnum:]]', '', 'g')),
      upper(regexp_replace(c.client_doc, '[^[:alnum:]]', '', 'g'))) > 0
    OR strpos(regexp_replace(c.external_id, '\\D', '', 'g'),
      nullif(right(regexp_replace(c.client_phone, '\\D', '', 'g'), 8), '')) > 0
  THEN NULL ELSE c.external_id END AS reference`

/** More items, or longer names, would make the page slow. */
const ITEMS_MAX = 20
const ITEM_NAME_MAX = 80

const ITEMS = Prisma.sql`
  (SELECT COALESCE(json_agg(json_build_object('name', left(i.item ->> 'name', ${ITEM_NAME_MAX}::int),
      'price', left(i.item ->> 'price', 20), 'quantity', left(i.item ->> 'quantity', 20)) ORDER BY i.nth), '[]')
    FROM (SELECT e.value AS item, e.nth FROM json_array_elements(c.items) WITH ORDINALITY e(value, nth)
      LIMIT ${ITEMS_MAX}) i)`

/**
 * Finds the charge of a payer's page by txid, its only key that is unique across accounts. Fails on a
 * standby, which may lack it (prisma/functions/troco_refuse_caller.sql).
 */
export async function readPayableCharge(txids: string[]): Promise<PayableCharge | null> {
  const columns = Prisma.sql`
    c.account_id, c.id, c.mode, c.status, c.amount, c.br_code, ${REFERENCE}, ${utc('c.expires_at')},
    ceil(extract(epoch FROM c.expires_at - now()))::int AS seconds_left, ${utc('c.paid_at')},
    ${utc('c.cancelled_at')},
    c.end_to_end_id, c.refunded_amount + c.returned_amount AS refunded_amount,
    c.returned_amount > 0 AS is_returned, c.viewed_at IS NOT NULL AS is_viewed, a.name AS merchant,
    a.shop_url, a.time_zone, c.description, ${ITEMS} AS items,
    COALESCE(json_array_length(c.items), 0) AS item_count`
  const [row] = await queryRows<PayableCharge | null>(Prisma.sql`
    SELECT CASE WHEN pg_is_in_recovery() THEN troco_refuse_caller()::text ELSE (
      SELECT ${asJson(columns)}::text FROM charges c JOIN accounts a ON a.id = c.account_id
      WHERE c.txid = ANY(${txids}) AND c.status <> 'opening') END AS json`)
  return row ?? null
}

type State = 'pending' | 'paid' | 'partly' | 'refunded' | 'expired' | 'cancelled' | 'failed'

const POLL_S = 3
const REFRESH_S = 15
/** After the expiry the page still polls, slowly: a bank may report a late payment. */
const LATE_S = 600
const LATE_POLL_S = 15
const LATE_REFRESH_S = 30

/** Expired as soon as the time is up, even before the worker changes the status. */
function stateOf(charge: PayableCharge): State {
  const { status, seconds_left, refunded_amount, amount } = charge
  if (status === 'paid' && refunded_amount > 0) {
    return refunded_amount < amount ? 'partly' : 'refunded'
  }
  if (status === 'expired' && charge.cancelled_at) return 'cancelled'
  return status === 'pending' && seconds_left <= 0 ? 'expired' : status
}

export function stateKey(charge: PayableCharge): string {
  return `${stateOf(charge)}.${charge.refunded_amount}`
}

export function renderCharge(
  charge: PayableCharge,
  receiptUrl: string | null,
  texts: PayerTexts,
): PageContent {
  const { t, moneyText } = texts
  const state = stateOf(charge)
  const values = { merchant: charge.merchant, amount: moneyText(charge.amount) }
  const isLate = charge.seconds_left > -LATE_S && ['expired', 'cancelled', 'failed'].includes(state)
  const isOpen = state === 'pending'
  const title = isOpen ? t('title', values) : `${t(state)} · ${values.merchant}`
  const main = html`<main id="page" tabindex="-1" data-title="${title}" data-state="${stateKey(charge)}"
 data-poll="${isOpen ? POLL_S : isLate ? LATE_POLL_S : 0}" data-left="${charge.seconds_left}"
 data-days="${t('days', { days: '{days}', time: '{time}' })}" data-copy="${t('copy')}"
 data-copied="${t('copied')}" data-failed="${t('copyFailed')}"
 data-said="${isOpen ? '' : `${t(state)}. ${explainState(charge, state, texts)}`}">
${renderHead(charge, state, texts)}
${isOpen ? renderPayable(charge, texts) : renderOutcome(charge, state, texts)}
${receiptUrl !== null && renderWays(charge.shop_url, receiptUrl, texts)}
${renderItems(charge, texts)}
</main>`
  const refreshS = isOpen ? REFRESH_S : isLate ? LATE_REFRESH_S : 0
  const ribbon: PageContent['ribbon'] = charge.mode === 'test' ? [t('test'), t('testText')] : null
  const preview = { title, text: isOpen ? t('previewText') : explainState(charge, state, texts) }
  return { title, main, ribbon, refreshS, hasScript: true, preview }
}

function renderHead(
  { merchant, amount, description, reference }: PayableCharge,
  state: State,
  texts: PayerTexts,
): Html {
  const { t, moneyText } = texts
  const amountText = moneyText(amount)
  return html`<div class="head"><p class="name">${merchant}</p>
${renderAmount(amount, texts)}
${state === 'pending' ? html`<h1 class="sr">${t('pay', { merchant, amount: amountText })}</h1>` : html`<p class="sr">${amountText}</p>`}
${description !== null && html`<p class="what">${description}</p>`}
${reference !== null && html`<p class="ref">${t('order', { reference })}</p>`}</div>`
}

function renderPayable(charge: PayableCharge, { t, timeText }: PayerTexts): Html {
  const { br_code, merchant, expires_at, time_zone, seconds_left } = charge
  return html`<div class="sheet pay">
<button id="copy" class="js" type="button">${icon('copy')}<span id="label">${t('copy')}</span></button>
${br_code !== null && renderQrCode(br_code)}
<p class="sr" id="code-name">${t('code')}</p>
<code id="code" class="code" data-testid="br-code" tabindex="0" role="textbox" aria-readonly="true" aria-labelledby="code-name">${br_code}</code>
<p class="how js" id="how">${t('how')}</p><noscript><p class="how">${t('howPlain')}</p></noscript>
</div>
<p class="line js">${icon('timer')}<span>${t('left')} <b id="left" role="timer">${formatTimeLeft(seconds_left, t)}</b></span></p>
<noscript><p class="line">${icon('timer')}<span>${t('expires', { time: timeText(expires_at, time_zone) })}</span></p></noscript>
<p class="line small">${icon('shield')}<span>${t('check')} <b>${merchant}</b></span></p>`
}

/** Where a payer goes after the payment. */
function renderWays(shopUrl: string | null, receiptUrl: string, { t }: PayerTexts): Html {
  return html`<p class="ways">${shopUrl !== null && html`<a class="go" href="${shopUrl}">${t('backToShop')}</a>`}
<a class="${shopUrl === null ? 'go' : 'also'}" href="${receiptUrl}">${t('receipt')}</a></p>`
}

function renderItems({ items, item_count: count }: PayableCharge, texts: PayerTexts): Html | null {
  if (items.length === 0) return null
  const { t } = texts
  return html`<div class="sheet items"><h2>${t('items')}</h2><ul>${items.map(item => renderItem(item, texts))}</ul>
${count > items.length && html`<p>${t('moreItems', { count: String(count - items.length) })}</p>`}</div>`
}

/** Prices are cents, as numbers or as text; merchants may send anything else, which is left out. */
function renderItem({ name, price, quantity }: PayableItem, { t, moneyText }: PayerTexts): Html {
  const cents = price === null ? Number.NaN : Math.round(Number(price.replace(',', '.')))
  const isAmount = cents > 0 && cents <= AMOUNT_MAX
  const times = quantity !== null && quantity !== '1' ? `${quantity} × ` : ''
  const label = name?.trim() || t('item')
  return isAmount
    ? html`<li><span>${label}</span><span>${times}${moneyText(cents)}</span></li>`
    : html`<li><span>${times}${label}</span></li>`
}

/** Formats the time as the page's script does, so that the text does not change when it starts. */
function formatTimeLeft(seconds: number, t: PayerTexts['t']): string {
  const parts = [(seconds / 3_600) % 24, (seconds / 60) % 60, seconds % 60]
  const time = parts.map(part => String(Math.floor(part)).padStart(2, '0')).join(':')
  const days = Math.floor(seconds / 86_400)
  return days > 0 ? t('days', { days: String(days), time }) : time
}

const STATE_STYLES: Record<Exclude<State, 'pending'>, { tone: string; icon: Icon }> = {
  paid: { tone: 'ok', icon: 'done' },
  partly: { tone: 'ok', icon: 'done' },
  refunded: { tone: 'off', icon: 'back' },
  expired: { tone: 'off', icon: 'over' },
  cancelled: { tone: 'off', icon: 'wrong' },
  failed: { tone: 'bad', icon: 'wrong' },
}

function renderOutcome(
  charge: PayableCharge,
  state: Exclude<State, 'pending'>,
  texts: PayerTexts,
): Html {
  const { tone, icon: iconName } = STATE_STYLES[state]
  return html`<div class="sheet"><div class="state"><span class="badge ${tone}">${icon(iconName)}</span>
<h1 data-testid="charge-status">${texts.t(state)}</h1><p>${explainState(charge, state, texts)}</p></div>
<dl>${listFacts(charge, state, texts).map(([name, value, className]) =>
    className
      ? html`<div class="w"><dt>${name}</dt><dd class="${className}">${value}</dd></div>`
      : html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl></div>`
}

function explainState(charge: PayableCharge, state: State, { t, moneyText }: PayerTexts): string {
  const { merchant, amount, refunded_amount, is_returned } = charge
  const values = { merchant, amount: moneyText(amount), back: moneyText(refunded_amount) }
  if (state === 'pending') return ''
  if (state !== 'partly' && state !== 'refunded') return t(`${state}Text`, values)
  return t(is_returned ? 'returnedText' : 'refundedText', values)
}

type Fact = [name: string, value: string, look?: string]

function listFacts(
  charge: PayableCharge,
  state: State,
  { t, moneyText, timeText }: PayerTexts,
): Fact[] {
  const { amount, merchant, reference, refunded_amount, time_zone } = charge
  const facts: (Fact | null)[] = [
    [t('to'), merchant],
    [t('amount'), moneyText(amount)],
    refunded_amount > 0 ? [t('back'), moneyText(refunded_amount)] : null,
    charge.paid_at ? [t('when'), timeText(charge.paid_at, time_zone)] : null,
    // In test mode, a charge may have ended before its time.
    state === 'expired' && charge.seconds_left <= 0
      ? [t('expiredAt'), timeText(charge.expires_at, time_zone)]
      : null,
    state === 'cancelled' && charge.cancelled_at
      ? [t('cancelledAt'), timeText(charge.cancelled_at, time_zone)]
      : null,
    charge.description !== null ? [t('description'), charge.description] : null,
    reference !== null ? [t('reference'), reference] : null,
    charge.end_to_end_id ? [t('endToEnd'), charge.end_to_end_id, 'id'] : null,
  ]
  return facts.filter(fact => fact !== null)
}
