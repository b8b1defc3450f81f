import type { Locale } from '#lib/core/locale.ts'
import { dateFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { formatReais } from '#lib/core/money.ts'
import en from '#messages/en/share.json' with { type: 'json' }
import ptBR from '#messages/pt-BR/share.json' with { type: 'json' }

/** Messages of all languages, because the payer's may be another than the member's. */
const TEXTS: Record<Locale, typeof en.shareMessage> = {
  en: en.shareMessage,
  'pt-BR': ptBR.shareMessage,
}

export interface SharedCharge {
  mode: Mode
  merchant: string
  amount: number
  description: string | undefined
  expiresAt: string
  timeZone: string | undefined
  /** The payment page of a pending charge. */
  paymentUrl: string
  /** The receipt of a paid charge; null before the payment. */
  receiptUrl: string | null
}

export interface ShareMessage {
  subject: string
  text: string
}

/** Writes to a payer: how to pay, or the receipt. */
export function writeShareMessage(charge: SharedCharge, locale: Locale): ShareMessage {
  const { mode, merchant, description, expiresAt, timeZone, paymentUrl, receiptUrl } = charge
  const t = TEXTS[locale]
  const due = dateFormat(locale, { dateStyle: 'short', timeStyle: 'short', timeZone })
  const values: Record<string, string> = {
    merchant,
    amount: `R$ ${formatReais(charge.amount, locale)}`,
    due: due.format(new Date(expiresAt)),
    url: receiptUrl ?? paymentUrl,
  }
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
  const [subject, ...lines] = receiptUrl
    ? [t.paidSubject, t.paid, description, t.receipt]
    : [t.subject, t.pending, description, t.due, t.pay]
  const texts = [mode === 'test' ? t.test : undefined, ...lines]
  return {
    subject: fill(subject ?? ''),
    text: texts
      .flatMap(line => (line === undefined ? [] : [line === description ? line : fill(line)]))
      .join('\n'),
  }
}

export function whatsAppUrl(text: string): string {
  return `https://wa.me/?text=${encodeURIComponent(text)}`
}

/** Mail programs want CRLF in the body (RFC 6068). */
export function mailUrl(address: string, subject: string, text: string): string {
  const encode = (part: string) => encodeURIComponent(part.replace(/\r?\n/g, '\r\n'))
  const to = encodeURIComponent(address).replace('%40', '@')
  return `mailto:${to}?subject=${encode(subject)}&body=${encode(text)}`
}
