import { type Html, html } from '#lib/core/html.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { dateFormat, HOME_TIME_ZONE } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, isInBucket, queryRows, utc } from '#lib/db/sql.ts'
import {
  type Icon,
  icon,
  type PageContent,
  type PayerTexts,
  renderAmount,
} from '#lib/payer/document.ts'
import type { ReceiptFacts } from '#lib/receipts/sign.ts'

/** Result of comparing a receipt, whose signature is valid, with the record of the payment. */
type Agreement = 'agrees' | 'partly' | 'returned' | 'contradicts' | 'gone'

interface PaymentRecord {
  id: string
  mode: Mode
  amount: number
  at: string | null
  end_to_end_id: string | null
  /** Refunds, returns by the bank and lost disputes of a charge; what came back of a withdrawal. */
  returned: number
  /** none: the record knows no payment, as after a restore. other: it says that it went otherwise. */
  payment: 'none' | 'done' | 'other'
}

/** Compares the receipt with the record of the payment; nothing else of the record leaves here. */
export async function compareWithRecord(facts: ReceiptFacts): Promise<Agreement> {
  const [record] = await queryRows<PaymentRecord>(
    facts.kind === 'transaction' ? chargeSql(facts) : withdrawalSql(facts),
  )
  if (!record || record.payment === 'none') return 'gone'
  const { id, mode, amount, at, endToEndId } = facts
  const isSame =
    record.payment === 'done' &&
    record.id === id &&
    record.mode === mode &&
    record.amount === amount &&
    record.at === at &&
    record.end_to_end_id === endToEndId
  if (!isSame) return 'contradicts'
  if (record.returned === 0) return 'agrees'
  return record.returned < amount ? 'partly' : 'returned'
}

/** Finds what was lost in disputes by prisma/functions/troco_disputed.sql. */
function chargeSql({ id }: ReceiptFacts): Prisma.Sql {
  const columns = Prisma.sql`
    c.id, c.mode, c.amount, ${utc('c.paid_at', 'at')}, c.end_to_end_id,
    CASE c.status WHEN 'paid' THEN 'done' ELSE 'none' END AS payment,
    c.refunded_amount + c.returned_amount + (SELECT d.lost FROM troco_disputed(c.account_id, c.id) d) AS returned`
  return Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM charges c WHERE c.txid = ${removeHyphens(id)}`
}

/**
 * Finds the withdrawal by end-to-end id, else by its own id, which is unique only within an account: the
 * last digits of an id are those of its account.
 */
function withdrawalSql({ id, endToEndId }: ReceiptFacts): Prisma.Sql {
  const columns = Prisma.sql`
    w.id, w.mode, w.amount, ${utc('w.approved_at', 'at')}, w.end_to_end_id,
    CASE WHEN w.status = 'rejected' OR o.contradiction IS NOT NULL
        OR w.other_end_to_end_id IS NOT NULL THEN 'other'
      WHEN w.status = 'approved' THEN 'done' ELSE 'none' END AS payment, w.returned_amount AS returned`
  return Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM (
      SELECT 1 AS place, w.* FROM withdrawals w WHERE w.end_to_end_id = ${endToEndId}
      UNION ALL SELECT 2, w.* FROM accounts a
        JOIN withdrawals w ON w.account_id = a.id AND w.id = ${id}::uuid
      WHERE ${isInBucket(id)}
      ORDER BY place LIMIT 1) w
    JOIN bank_orders o ON o.account_id = w.account_id AND o.id = w.id`
}

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
