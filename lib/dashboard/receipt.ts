import { readTimeZone } from '#lib/accounts/queries.ts'
import { createChargeReceiptUrl } from '#lib/charges/receipt-url.ts'
import { refuse } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import type { Locale } from '#lib/core/locale.ts'
import { dateFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatReais } from '#lib/core/money.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import { env } from '#lib/core/settings.ts'
import { readChargeTimeline } from '#lib/dashboard/charge-timeline.ts'
import type { ReceiptSheet } from '#lib/dashboard/schema.ts'
import { readWithdrawalTimeline } from '#lib/dashboard/withdrawal-timeline.ts'
import type { ReceiptKind } from '#lib/receipts/format.ts'
import { createWithdrawalReceiptUrl } from '#lib/withdrawals/receipt-url.ts'
import { MESSAGES } from '#messages/words.ts'

export interface ReceiptRequest {
  account: { id: string; name: string }
  mode: Mode
  kind: ReceiptKind
  id: string
  /** Null for a token. */
  userId: string | null
  locale: Locale
}

type TextKey = keyof (typeof MESSAGES)[Locale]['receipt']
type Row = [name: TextKey, value: string | null | undefined, isCode?: boolean]
interface Formats {
  money: (cents: number) => string
  time: (at: string | null) => string
}

/** Reads the receipt of a paid charge or an approved withdrawal. Refuses as not found before that. */
export async function readReceipt(request: ReceiptRequest): Promise<ReceiptSheet> {
  const { account, mode, kind, locale } = request
  const formats = createFormats(locale, await readTimeZone(account.id))
  const read = kind === 'transaction' ? readChargeRows : readWithdrawalRows
  const { id, url, amount, rows } = await read(request, formats)
  if (url === null) throw refuse('receipt_not_found')
  const { receipt: t } = MESSAGES[locale]
  const allRows: Row[] = [...rows, ['issuedAt', formats.time(new Date().toISOString())]]
  return {
    ...{ mode, id, url, address: env().PUBLIC_URL, merchant: account.name },
    title: t.one.replace('{amount}', formats.money(amount)),
    operation: t[kind],
    amount: formats.money(amount),
    rows: allRows.flatMap(([name, value, isCode]) =>
      value ? [{ name: t[name], value, isCode }] : [],
    ),
  }
}

interface Found {
  id: string
  url: string | null
  amount: number
  rows: Row[]
}

async function readChargeRows(
  { account, mode, id }: ReceiptRequest,
  { money, time }: Formats,
): Promise<Found> {
  const { charge, lost } = await readChargeTimeline(account.id, mode, id)
  const { amount, external_id: reference } = charge
  const returned = charge.refunded_amount + (charge.returned_amount ?? 0) + lost
  const rows: Row[] = [
    ['paidAt', time(charge.paid_at)],
    ['receiver', account.name],
    ['payer', charge.client_name],
    ['payerDocument', charge.client_doc],
    ['description', charge.description],
    ['reference', reference === removeHyphens(charge.id) ? null : reference],
    ['createdAt', time(charge.created_at)],
    ['returned', returned > 0 ? money(returned) : null],
    ['endToEnd', charge.end_to_end_id, true],
    ['id', charge.id, true],
  ]
  return { id: charge.id, url: await createChargeReceiptUrl(charge), amount, rows }
}

async function readWithdrawalRows(
  { account, mode, id, userId }: ReceiptRequest,
  { money, time }: Formats,
): Promise<Found> {
  const timeline = await readWithdrawalTimeline(account.id, mode, id, userId)
  const { withdrawal, payee, dict_key: key } = timeline
  const returned = withdrawal.returned_amount
  const rows: Row[] = [
    ['approvedAt', time(withdrawal.approved_at)],
    ['sender', account.name],
    ['payee', payee?.name],
    ['payeeDocument', payee?.masked_doc ?? withdrawal.owner_doc],
    ['payeeBank', payee?.bank],
    ['payeeKey', maskPixKey(withdrawal.pix_key_type, key)],
    ['reference', withdrawal.external_id],
    ['requestedAt', time(withdrawal.created_at)],
    ['returned', returned > 0 ? money(returned) : null],
    ['endToEnd', withdrawal.end_to_end_id, true],
    ['id', withdrawal.id, true],
  ]
  const url = await createWithdrawalReceiptUrl(account.id, withdrawal)
  return { id: withdrawal.id, url, amount: withdrawal.amount, rows }
}

function createFormats(locale: Locale, timeZone: string): Formats {
  const times = dateFormat(locale, {
    ...{ day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit' },
    ...{ second: '2-digit', timeZoneName: 'shortOffset', timeZone },
  })
  return {
    money: cents => `R$ ${formatReais(cents, locale)}`,
    time: at => (at === null ? '' : times.format(new Date(at))),
  }
}
