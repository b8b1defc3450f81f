import { createHash } from 'node:crypto'
import {
  centsOf,
  countOf,
  elementsOf,
  type Fields,
  fieldsOf,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import type { Party, PaymentReturn, ReceivedPayment, UnreadPayment } from '#lib/banks/gateway.ts'
import { log } from '#lib/core/log.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import { maskTaxId, taxIdKind } from '#lib/core/pix/tax-id.ts'

/** Longer texts of a bank are cut: a name must never keep a payment from being booked. */
const PARTY_TEXT_MAX = 200
/** A document that the bank has masked: at most 6 of its digits are readable, as in our own masks. */
const MASKED_DOC = /^(?=.*[*xX•])(?:[^0-9]*[0-9]){0,6}[^0-9]*$/

/** Reads who paid or received; null if there is no name. Names of small companies end with a CPF. */
export function readParty(identity: Fields): Party | null {
  const name = textOf(identity.nome)?.trim()
  if (!name) return null
  const bank = textOf(identity.codigoBanco) ?? textOf(identity.ispb)
  return {
    name: cut(hideTaxIds(name)),
    maskedDoc: maskedDocOf(textOf(identity.cpf) ?? textOf(identity.cnpj)),
    bank: bank && cut(bank),
  }
}

function maskedDocOf(doc: string | null): string | null {
  if (doc === null) return null
  if (taxIdKind(doc)) return maskTaxId(doc)
  return doc.length <= 20 && MASKED_DOC.test(doc) ? doc : null
}

/** By characters, so that none is halved. */
function cut(text: string): string {
  return [...text].slice(0, PARTY_TEXT_MAX).join('')
}

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

/** A charge (cob) as a bank reports it; null is what it does not report. */
export interface BankCharge {
  status: string | null
  amount: number | null
  key: string | null
  createdAt: Date | null
  lifetimeS: number | null
  brCode: string | null
  /** Without a scheme. */
  location: string | null
  payments: ReceivedPayment[]
  /** Payments without a readable id, amount or time. */
  unreadable: number
  /** Payments of another txid. */
  foreign: number
}

/** Null if the bank's response is about the charge of another txid. */
export function readCharge(body: unknown, txid: string): BankCharge | null {
  const fields = fieldsOf(body)
  if ((textOf(fields.txid) ?? txid) !== txid) return null
  const calendar = fieldsOf(fields.calendario)
  const { items, unread } = readPayments(fields.pix)
  // Some banks omit the txid below the charge.
  const payments = items.filter(payment => (payment.txid ?? txid) === txid)
  const location = textOf(fields.location) ?? textOf(fieldsOf(fields.loc).location)
  return {
    status: textOf(fields.status),
    amount: centsOf(fieldsOf(fields.valor).original),
    key: textOf(fields.chave),
    createdAt: timeOf(calendar.criacao),
    lifetimeS: countOf(calendar.expiracao),
    brCode: textOf(fields.pixCopiaECola) ?? textOf(fields.brcode) ?? textOf(fields.brCode),
    location: location?.replace(/^https?:\/\//i, '') ?? null,
    payments: payments.map(payment => ({ ...payment, txid })),
    unreadable: unread.length,
    foreign: items.length - payments.length,
  }
}

export function readPayments(list: unknown): { items: ReceivedPayment[]; unread: UnreadPayment[] } {
  const items: ReceivedPayment[] = []
  const unread: UnreadPayment[] = []
  for (const entry of elementsOf(list)) {
    const payment = readPayment(fieldsOf(entry))
    if (payment) items.push(payment)
    else unread.push(describeUnread(entry))
  }
  return { items, unread }
}

function readPayment(fields: Fields): ReceivedPayment | null {
  const endToEndId = textOf(fields.endToEndId)
  const amount = centsOf(fields.valor)
  const paidAt = timeOf(fields.horario) ?? timeOfId(endToEndId)
  if (!endToEndId || !amount || !paidAt) return null
  const payer = readPayer(fields)
  const returns = elementsOf(fields.devolucoes).flatMap(
    each => readReturn(fieldsOf(each), paidAt) ?? [],
  )
  return {
    endToEndId,
    amount,
    paidAt,
    txid: textOf(fields.txid),
    ...(payer && { payer }),
    ...(returns.length > 0 && { returns }),
  }
}

/** Only money that has left is a return: a new status is no end. Not every bank reports its own id of it. */
function readReturn(fields: Fields, paidAt: Date): PaymentReturn | null {
  if (fields.status !== 'DEVOLVIDO') return null
  const orderId = textOf(fields.id)
  const id = textOf(fields.rtrId) ?? orderId
  const amount = centsOf(fields.valor)
  if (id === null || !amount) {
    log().error({ id, valor: fields.valor }, 'unreadable return of a payment')
    return null
  }
  const { liquidacao, solicitacao } = fieldsOf(fields.horario)
  const returnedAt = timeOf(liquidacao) ?? timeOf(solicitacao) ?? timeOfId(id) ?? paidAt
  return { id, orderId, amount, nature: textOf(fields.natureza), returnedAt }
}

/** The standard names no payer: some banks do as its version 2.0 did, Efí below its own fields. */
function readPayer({ pagador, gnExtras }: Fields): Party | null {
  return readParty(fieldsOf(pagador)) ?? readParty(fieldsOf(fieldsOf(gnExtras).pagador))
}

/** An end-to-end id, or that of a return, has the minute, in UTC. */
function timeOfId(endToEndId: string | null): Date | null {
  const [, date, hour, minute] = /^[DE].{8}(\d{8})(\d{2})(\d{2})/.exec(endToEndId ?? '') ?? []
  return timeOf(date?.replace(/(....)(..)(..)/, `$1-$2-$3T${hour}:${minute}:00Z`))
}

/** Page of a list, by the standard's `parametros.paginacao`. */
interface PageInfo {
  pages: number | null
  total: number | null
}

export function readPageInfo(body: unknown): PageInfo {
  const { paginacao } = fieldsOf(fieldsOf(body).parametros)
  const { quantidadeDePaginas, quantidadeTotalDeItens } = fieldsOf(paginacao)
  return { pages: countOf(quantidadeDePaginas), total: countOf(quantidadeTotalDeItens) }
}

/** A refund (devolução) as a bank reports it. */
export interface BankRefund {
  status: string | null
  amount: number | null
  returnId: string | null
  reason: string | null
}

export function readRefund(body: unknown): BankRefund {
  const fields = fieldsOf(body)
  return {
    status: textOf(fields.status),
    amount: centsOf(fields.valor),
    returnId: textOf(fields.rtrId),
    reason: textOf(fields.motivo),
  }
}
