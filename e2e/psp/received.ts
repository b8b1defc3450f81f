import { setTimeout as wait } from 'node:timers/promises'
import type { Bank } from './bank.ts'
import { makePixId, toReais } from './formats.ts'
import { readDocument, readFlag, selectPage } from './lists.ts'
import type { Charge, Payer, ReceivedPix, Refund } from './records.ts'
import { Refusal } from './refusal.ts'
import type { Call, Reply, Route } from './route.ts'

export const PAYMENT_ROUTES: Route[] = [
  { method: 'GET', path: '/v2/pix', scope: 'pix.read', handle: listPayments },
  { method: 'GET', path: '/v2/pix/:e2eid', scope: 'pix.read', handle: readPayment },
]

const PAYER: Payer = { nome: 'Maria da Silva', cpf: '52998224725', codigoBanco: '99999998' }

/** A payment as it arrives, whether it fits a charge or not. */
export interface Payment {
  key: string
  amount: number
  txid?: string
  payer?: Payer
  payerText?: string
  /** How long ago the payment happened. */
  secondsAgo?: number
}

/** Stores a payment and announces it; with an early notice, in the other order. */
export async function receive(bank: Bank, payment: Payment, charge?: Charge): Promise<ReceivedPix> {
  const at = new Date(bank.now().getTime() - (payment.secondsAgo ?? 0) * 1000)
  const pix: ReceivedPix = {
    e2eid: makePixId('E', at),
    amount: payment.amount,
    key: payment.key,
    txid: payment.txid,
    at,
    payer: payment.payer ?? PAYER,
    payerText: payment.payerText,
    refunds: [],
    fee: Math.round((payment.amount * bank.settings.fees.receivedBasisPoints) / 10_000),
  }
  const { earlyMs } = bank.settings.notices
  if (earlyMs !== null) {
    announcePix(bank, pix)
    await bank.notices.idle()
    await wait(earlyMs)
  }
  bank.payments.set(pix.e2eid, pix)
  bank.book.add(bank.now(), 'pix', pix.amount, pix.e2eid)
  bank.book.add(bank.now(), 'payment_fee', -pix.fee, pix.e2eid)
  if (charge) {
    charge.payments.push(pix)
    charge.status = 'CONCLUIDA'
  }
  if (earlyMs === null) announcePix(bank, pix)
  return pix
}

/** Announces a payment, or the end of a refund of it, to the key's webhook. */
export function announcePix(bank: Bank, pix: ReceivedPix): void {
  const webhook = bank.webhooks.get(pix.key)
  const wishes = bank.config.pix.chaves?.[pix.key]?.recebimento.webhook
  if (!webhook || !(pix.txid || wishes?.notificar?.pixSemTxid)) return
  const { pagador, tarifa } = wishes?.notificacao ?? {}
  const extras = {
    pagador: pagador ? pix.payer : undefined,
    tarifa: tarifa ? toReais(pix.fee) : undefined,
  }
  const gnExtras = bank.settings.kind === 'efi' && (pagador || tarifa) ? extras : undefined
  const hasReasons = true
  bank.notices.announce(webhook.url, { ...renderPix(bank, pix, hasReasons), gnExtras })
}

/** Efí's responses give no reason of a refund, but its notices do. */
export function renderPix(bank: Bank, pix: ReceivedPix, hasReasons: boolean) {
  const { e2eid, txid, amount, key, at, payerText, refunds } = pix
  const isEfi = bank.settings.kind === 'efi'
  const shown = refunds.map(refund =>
    isEfi ? renderPlainRefund(refund, hasReasons) : renderRefund(refund),
  )
  return {
    endToEndId: e2eid,
    txid,
    valor: toReais(amount),
    chave: key,
    horario: at.toISOString(),
    infoPagador: payerText,
    pagador: bank.settings.quirks.hasPayerIdentity ? pix.payer : undefined,
    devolucoes: shown.length > 0 ? shown : undefined,
  }
}

export function renderRefund(refund: Refund) {
  const { id, rtrId, amount, nature, description, requestedAt, settledAt, status, reason } = refund
  return {
    id,
    rtrId,
    valor: toReais(amount),
    natureza: nature,
    descricao: description,
    horario: { solicitacao: requestedAt.toISOString(), liquidacao: settledAt?.toISOString() },
    status,
    motivo: reason,
  }
}

function renderPlainRefund(refund: Refund, hasReason: boolean) {
  const { natureza, descricao: _, motivo, ...plain } = renderRefund(refund)
  const isClaim = natureza.startsWith('MED')
  return {
    ...plain,
    natureza: isClaim ? natureza : undefined,
    motivo: hasReason ? motivo : undefined,
  }
}

export function findPix(bank: Bank, { params }: Call): ReceivedPix {
  const pix = bank.payments.get(params.e2eid ?? '')
  if (!pix) throw new Refusal('pixNotFound', 'There is no Pix with this end-to-end id')
  return pix
}

function readPayment(bank: Bank, call: Call): Reply {
  return { status: 200, body: renderPix(bank, findPix(bank, call), false) }
}

function listPayments(bank: Bank, call: Call): Reply {
  const refusal = 'pixQueryInvalid'
  const filters = {
    ...readDocument(call, refusal),
    txid: call.query.get('txid') ?? undefined,
    txIdPresente: readFlag(call, 'txIdPresente', refusal),
    devolucaoPresente: readFlag(call, 'devolucaoPresente', refusal),
  }
  const { parametros, records } = selectPage(bank, call, {
    records: [...bank.payments.values()].filter(
      ({ txid, refunds, payer }) =>
        (filters.txid === undefined || filters.txid === txid) &&
        (filters.txIdPresente === undefined || filters.txIdPresente === (txid !== undefined)) &&
        (filters.devolucaoPresente === undefined ||
          filters.devolucaoPresente === refunds.length > 0) &&
        (filters.cpf === undefined || filters.cpf === payer.cpf) &&
        (filters.cnpj === undefined || filters.cnpj === payer.cnpj),
    ),
    timeOf: ({ at }) => at,
    filters,
    refusal,
  })
  const pix = records.map(pix => renderPix(bank, pix, false))
  return { status: 200, body: { parametros, pix } }
}
