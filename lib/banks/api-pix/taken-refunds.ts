import { centsOf, type Fields, fieldsOf, listOf, textOf, timeOf } from '#lib/banks/api-pix/json.ts'
import { type ListBank, listEntries } from '#lib/banks/api-pix/payments.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import type { Listing, TakenOrder, UnreadPayment } from '#lib/banks/lists.ts'

/** Ids of orders of Troco. */
export const OWN_ID_PATTERN = /^[0-9a-f]{32}$/
/** Age up to which a payment may be given back, by the rules of PIX; and a margin. */
const REFUNDABLE_MS = 91 * 86_400_000
/** Longest period that is tried: a bank that wants shorter ones refuses this one. */
const WINDOW_MS = 30 * 86_400_000

/** Lists refunds by their payments, whose time is the only one by which banks list. */
export function listTakenRefunds(
  bank: ListBank,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
): Promise<GatewayResult<Listing<TakenOrder>>> {
  const list = {
    path: '/pix',
    filter: { devolucaoPresente: 'true' },
    windowMs: WINDOW_MS,
    read: (body: unknown) => readRefunds(body, since),
  }
  const paidSince = new Date(since.getTime() - REFUNDABLE_MS)
  return listEntries(bank, list, paidSince, cursor, signal)
}

function readRefunds(body: unknown, since: Date) {
  const payments = listOf(fieldsOf(body).pix).map(fieldsOf)
  const items: TakenOrder[] = []
  const unread: UnreadPayment[] = []
  for (const payment of payments)
    for (const refund of listOf(payment.devolucoes).map(fieldsOf)) {
      const id = textOf(refund.id)
      if (id === null || !OWN_ID_PATTERN.test(id) || refund.status === 'NAO_REALIZADO') continue
      const item = readRefund(id, payment, refund)
      if (item && item.orderedAt < since) continue
      if (item) items.push(item)
      else unread.push({ key: id, txid: null, sent: JSON.stringify({ id, valor: refund.valor }) })
    }
  return { items, unread, unreadable: unread.length, count: payments.length }
}

function readRefund(id: string, payment: Fields, refund: Fields): TakenOrder | null {
  const endToEndId = textOf(payment.endToEndId)
  const amount = centsOf(refund.valor)
  const orderedAt = timeOf(fieldsOf(refund.horario).solicitacao)
  if (endToEndId === null || !amount || orderedAt === null) return null
  const isDone = refund.status === 'DEVOLVIDO'
  const order = { id, endToEndId, amount, orderedAt, isDone }
  return { ...order, dictKey: null, returnId: textOf(refund.rtrId) ?? id }
}
