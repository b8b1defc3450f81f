import { z } from 'zod'
import type { Bank } from './bank.ts'
import {
  CLIENT_ID_PATTERN,
  isPixKey,
  MONEY_PATTERN,
  makePixId,
  toCents,
  toReais,
} from './formats.ts'
import { isHidden, isRefusedUnnamed, isTurn } from './habits.ts'
import { readDocument, selectPage } from './lists.ts'
import type { Payout } from './records.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody, refuseValue } from './route.ts'
import type { Payee } from './settings.ts'

export const PAYOUT_ROUTES: Route[] = [
  {
    method: 'PUT',
    path: '/v3/gn/pix/:idEnvio',
    scope: 'pix.send',
    kind: 'efi',
    handle: putPayout,
  },
  {
    method: 'GET',
    path: '/v2/gn/pix/enviados/id-envio/:idEnvio',
    scope: 'gn.pix.send.read',
    kind: 'efi',
    handle: readPayout,
  },
  {
    method: 'GET',
    path: '/v2/gn/pix/enviados/:e2eid',
    scope: 'gn.pix.send.read',
    kind: 'efi',
    handle: readPayout,
  },
  {
    method: 'GET',
    path: '/v2/gn/pix/enviados',
    scope: 'gn.pix.send.read',
    kind: 'efi',
    handle: listPayouts,
  },
]

const PAYOUT_BODY = z.strictObject({
  valor: z
    .string()
    .regex(MONEY_PATTERN)
    .refine(text => Number(text) > 0, 'more than zero'),
  pagador: z.strictObject({ chave: z.string(), infoPagador: z.string().max(140).optional() }),
  favorecido: z.strictObject({
    chave: z.string(),
    cpf: z.string().min(1).optional(),
    cnpj: z.string().min(1).optional(),
  }),
})
const NO_BALANCE = { codigo: 'AM04', motivo: 'Saldo insuficiente' }
const NOBODY: Payee = {}

/** Accepts a payout and takes its amount; it ends later. An id is used once, whatever the body. */
function putPayout(bank: Bank, { params, body: sent }: Call): Reply {
  const { idEnvio = '' } = params
  if (!CLIENT_ID_PATTERN.test(idEnvio))
    refuseValue('payoutInvalid', 'idEnvio', '1 to 35 letters and digits')
  const body = readBody(PAYOUT_BODY, sent, 'payoutInvalid')
  if (bank.payouts.has(idEnvio)) throw new Refusal('payoutIdTaken', 'The id has a payout')
  checkParties(bank, body)
  if (isRefusedUnnamed(bank, `payout ${idEnvio}`))
    throw new Refusal('unnamedPayout', 'Refused by a habit of the bank')
  const requestedAt = bank.now()
  const payout: Payout = {
    idEnvio,
    e2eid: makePixId('E', requestedAt),
    amount: toCents(body.valor),
    requestedAt,
    payerKey: body.pagador.chave,
    payeeKey: body.favorecido.chave,
    text: body.pagador.infoPagador,
    status: 'EM_PROCESSAMENTO',
    returns: [],
  }
  bank.payouts.set(idEnvio, payout)
  if (bank.available >= payout.amount) bank.book.add(requestedAt, 'payout', -payout.amount, idEnvio)
  bank.settleLater(() => settlePayout(bank, payout))
  const response = {
    [bank.settings.quirks.payoutIdName]: payout.e2eid,
    idEnvio,
    valor: body.valor,
    horario: { solicitacao: requestedAt.toISOString() },
    status: payout.status,
  }
  return { status: 201, body: response }
}

function checkParties(bank: Bank, { pagador, favorecido }: z.infer<typeof PAYOUT_BODY>): void {
  const { settings, webhooks } = bank
  const payee = settings.payees[favorecido.chave] ?? NOBODY
  if (settings.isAccountBlocked) throw new Refusal('accountBlocked', 'The account is blocked')
  if (!settings.keys.includes(pagador.chave))
    throw new Refusal('payerKeyInvalid', 'The key of the payer is not of this account')
  if (!webhooks.has(pagador.chave))
    throw new Refusal('payerKeyInvalid', 'The key of the payer has no webhook')
  if (!isPixKey(favorecido.chave)) throw new Refusal('payeeKeyInvalid', 'No PIX key')
  if (payee.refusal) throw new Refusal(payee.refusal, 'Refused by the settings of the payee')
  const document = favorecido.cpf ?? favorecido.cnpj
  if (document && payee.document && document !== payee.document)
    throw new Refusal('payeeNotOwner', 'The key belongs to another document')
}

/** Ends a payout: paid with the fee, or failed with the amount given back. */
export function settlePayout(bank: Bank, payout: Payout): void {
  if (payout.status !== 'EM_PROCESSAMENTO') return
  const payee = bank.settings.payees[payout.payeeKey] ?? NOBODY
  const isCovered = bank.book.has('payout', payout.idEnvio)
  const failure = isCovered ? payee.failure : NO_BALANCE
  payout.settledAt = bank.now()
  if (failure) {
    payout.status = 'NAO_REALIZADO'
    payout.failure = failure
    if (isCovered) bank.book.add(bank.now(), 'payout_reversal', payout.amount, payout.idEnvio)
  } else {
    payout.status = 'REALIZADO'
    bank.book.add(bank.now(), 'payout_fee', -bank.settings.fees.sentCents, payout.idEnvio)
  }
  announcePayout(bank, payout)
  // A payout that its payee gives back was paid first.
  payout.isDoomed = !failure && !payee.returns && isTurn(bank, 'failsPayouts')
  if (!failure) for (const amount of payee.returns ?? []) returnPayout(bank, payout, amount)
}

/** A payout that a response has reported as paid fails. */
function undo(bank: Bank, payout: Payout): void {
  payout.status = 'NAO_REALIZADO'
  payout.failure = { codigo: 'AB03', motivo: 'Transação não liquidada' }
  bank.book.add(bank.now(), 'payout_reversal', payout.amount, payout.idEnvio)
  announcePayout(bank, payout)
}

/** The payee returns an amount; the payout stays REALIZADO. */
export function returnPayout(bank: Bank, payout: Payout, amount: number): void {
  const at = bank.now()
  const rtrId = makePixId('D', at)
  payout.returns.push({ rtrId, amount, at })
  bank.book.add(at, 'payout_return', amount, rtrId)
  announcePayout(bank, payout)
}

export function announcePayout(bank: Bank, payout: Payout): void {
  const webhook = bank.webhooks.get(payout.payerKey)
  if (!webhook) return
  const { e2eid, idEnvio, payerKey, amount, settledAt, status, failure } = payout
  bank.notices.announce(webhook.url, {
    endToEndId: e2eid,
    chave: payerKey,
    tipo: 'SOLICITACAO',
    status,
    valor: toReais(amount),
    horario: failure ? null : settledAt?.toISOString(),
    devolucoes: renderReturns(payout),
    gnExtras: { idEnvio, erro: failure && { ...failure, origem: 'SPI' } },
  })
}

function renderReturns({ returns }: Payout) {
  if (returns.length === 0) return undefined
  return returns.map(({ rtrId, amount, at }) => ({
    rtrId,
    valor: toReais(amount),
    horario: at.toISOString(),
  }))
}

function readPayout(bank: Bank, { params }: Call): Reply {
  const payout = [...bank.payouts.values()].find(
    ({ idEnvio, e2eid }) => idEnvio === params.idEnvio || e2eid === params.e2eid,
  )
  if (!payout || isHidden(bank, payout.idEnvio))
    throw new Refusal('payoutNotFound', 'There is no such payout')
  if (payout.isDoomed) {
    payout.isDoomed = false
    bank.settleLater(() => undo(bank, payout))
  }
  return { status: 200, body: renderPayout(bank, payout) }
}

function renderPayout(bank: Bank, payout: Payout) {
  const { e2eid, idEnvio, amount, payerKey, payeeKey, text, requestedAt, settledAt } = payout
  const payee = bank.settings.payees[payeeKey] ?? NOBODY
  const { name: nome = 'João Pereira', document = '52998224725' } = payee
  const identificacao = bank.settings.quirks.hasPayeeIdentity
    ? { nome, [document.length === 14 ? 'cnpj' : 'cpf']: mask(document) }
    : undefined
  return {
    endToEndId: e2eid,
    idEnvio,
    valor: toReais(amount),
    chave: payerKey,
    status: payout.status,
    infoPagador: text,
    horario: { solicitacao: requestedAt.toISOString(), liquidacao: settledAt?.toISOString() },
    favorecido: { chave: payeeKey, identificacao },
    devolucoes: renderReturns(payout),
  }
}

function mask(document: string): string {
  return document.length === 14 ? document : `***${document.slice(3, 9)}**`
}

function listPayouts(bank: Bank, call: Call): Reply {
  const refusal = 'payoutInvalid'
  const status = call.query.get('status') ?? undefined
  const { cpf, cnpj } = readDocument(call, refusal)
  const document = cpf ?? cnpj
  const { parametros, records } = selectPage(bank, call, {
    records: [...bank.payouts.values()].filter(
      payout =>
        (!status || payout.status === status) &&
        (!document || bank.settings.payees[payout.payeeKey]?.document === document),
    ),
    timeOf: ({ requestedAt }) => requestedAt,
    filters: { status, cpf, cnpj },
    refusal,
  })
  const pix = records.map(payout => renderPayout(bank, payout))
  return { status: 200, body: { parametros, pix } }
}
