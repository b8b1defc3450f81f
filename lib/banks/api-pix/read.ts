import {
  centsOf,
  countOf,
  type Fields,
  fieldsOf,
  listOf,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import { readParty } from '#lib/banks/api-pix/party.ts'
import { describeUnread } from '#lib/banks/api-pix/unread.ts'
import type { Party, ReceivedPayment } from '#lib/banks/gateway.ts'
import type { PaymentReturn, UnreadPayment } from '#lib/banks/lists.ts'
import { log } from '#lib/core/log.ts'

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
  for (const entry of listOf(list)) {
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
  const returns = listOf(fields.devolucoes).flatMap(
    each => readReturn(fieldsOf(each), paidAt) ?? [],
  )
  return {
    ...{ endToEndId, amount, paidAt, txid: textOf(fields.txid) },
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
export interface PageInfo {
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
