import { createHash } from 'node:crypto'
import { type Fields, fieldsOf, textOf } from '#lib/banks/api-pix/json.ts'
import type { UnreadPayment } from '#lib/banks/lists.ts'

/** Fields whose values identify a payment. Any other may name a person, and shows only that it was sent. */
const SHOWN = ['endToEndId', 'txid', 'valor', 'horario']
/** A CPF or CNPJ that stands alone, with or without punctuation. */
const TAX_ID =
  /(?<![0-9A-Z])(\d{3}\.?\d{3}\.?\d{3}-?\d{2}|[0-9A-Z]{2}(\.?[0-9A-Z]{3}){2}\/?[0-9A-Z]{4}-?\d{2})(?![0-9A-Z])/gi
const ID = /^[A-Za-z0-9]{1,64}$/
const TEXT_MAX = 100
const SENT_MAX = 1_000

/** Describes an entry of a list that is no payment as it should be: the same entry has the same key. */
export function describeUnread(entry: unknown): UnreadPayment {
  const fields = fieldsOf(entry)
  const id = textOf(fields.endToEndId)
  const isNamed = id !== null && ID.test(id)
  const hash = createHash('sha256').update(JSON.stringify(entry)).digest('hex')
  return {
    key: isNamed ? id : hash,
    txid: textOf(fields.txid),
    sent: JSON.stringify(maskFields(fields)).slice(0, SENT_MAX),
  }
}

function maskFields(fields: Fields): Fields {
  const masked = Object.entries(fields).map(([name, value]) => [
    maskText(name),
    SHOWN.includes(name) ? maskValue(value) : value === null ? null : '***',
  ])
  return Object.fromEntries(masked)
}

function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  return typeof value === 'object' && value !== null ? '***' : value
}

function maskText(text: string): string {
  return text.replaceAll('\0', '').replace(TAX_ID, '***').slice(0, TEXT_MAX).toWellFormed()
}
