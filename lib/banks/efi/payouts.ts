import type { BankClient } from '#lib/banks/api-pix/client.ts'
import {
  bodyOf,
  centsOf,
  elementsOf,
  type Fields,
  fieldsOf,
  isSuccess,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import { type ListSource, OWN_ID_PATTERN } from '#lib/banks/api-pix/payments.ts'
import { readParty } from '#lib/banks/api-pix/read.ts'
import {
  type GatewayResult,
  type OrderState,
  type Party,
  type PayoutOrder,
  type PayoutReturn,
  type SentOrder,
  type SentPayout,
  spiRefusal,
  type TakenOrder,
  type UnreadPayment,
} from '#lib/banks/gateway.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { log } from '#lib/core/log.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { taxIdKind } from '#lib/core/pix/tax-id.ts'

/** What Efí accepts as the id of a payout (`idEnvio`). */
const ID_PATTERN = /^[a-zA-Z0-9]{1,35}$/

interface PayoutBank {
  client: BankClient
  payingKey: string
  /** Keys of the account itself. */
  ownKeys: readonly string[]
}

/**
 * Sends a payout. If the bank has the id already, it is asked by it: what it has counts only with the
 * amount and key of the order.
 */
export async function sendPayout(
  bank: PayoutBank,
  order: PayoutOrder,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState>> {
  if (bank.ownKeys.includes(order.dictKey)) return PAYS_ITSELF
  const call = { method: 'PUT', version: 'v3', path: `/gn/pix/${idOf(order)}` } as const
  const reply = await bank.client.call({ ...call, body: buildBody(bank, order) }, signal)
  if (isSuccess(reply)) return toTaken(readPayout(bodyOf(reply)), order)
  const verdict = judge(reply, 'payout', { id: order.id, ownKey: bank.payingKey })
  if (verdict.outcome === 'ask') return findSent(bank, order, verdict.ifAbsent, signal)
  if (verdict.outcome === 'none') return unknown('no payout')
  if (verdict.outcome !== 'rejected' || verdict.code !== 'key_refused') return verdict
  return blameKey(bank, verdict, signal)
}

/** Reads what payouts can be paid from. */
export async function readBalance(
  client: BankClient,
  signal: AbortSignal,
): Promise<GatewayResult<{ available: number }>> {
  const reply = await client.call({ method: 'GET', path: '/gn/saldo' }, signal)
  if (!isSuccess(reply)) return judgeQuestion(reply, 'no balance')
  const available = centsOfBalance(bodyOf(reply))
  return available === null
    ? unknown('no readable balance')
    : { outcome: 'ok', value: { available } }
}

/** Returns the state of a payout, or null if the bank does not have it. */
export async function queryPayout(
  client: BankClient,
  order: SentOrder,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState | null>> {
  const path = `/gn/pix/enviados/id-envio/${idOf(order)}`
  const reply = await client.call({ method: 'GET', path }, signal)
  if (isSuccess(reply)) return toState(readPayout(bodyOf(reply)), order)
  const verdict = judge(reply, 'question', { id: order.id })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
}

async function findSent(
  { client }: PayoutBank,
  order: PayoutOrder,
  ifAbsent: GatewayResult<never>,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState>> {
  const found = await queryPayout(client, order, signal)
  if (found.outcome === 'unknown') return found
  // The bank has a payout of this id: whatever keeps it from answering does not undo that.
  if (found.outcome !== 'ok') return unknown('the bank does not say what it has under the id')
  return found.value === null ? ifAbsent : { ...found, value: found.value }
}

/**
 * Finds out whose key was refused: Efí has one name for both. The operator's key needs a webhook, so
 * the payout is rejected only if it has one.
 */
async function blameKey(
  { client, payingKey }: PayoutBank,
  rejection: Extract<GatewayResult<never>, { outcome: 'rejected' }>,
  signal: AbortSignal,
): Promise<GatewayResult<never>> {
  const path = `/webhook/${encodeURIComponent(payingKey)}`
  const reply = await client.call({ method: 'GET', path }, signal)
  if (isSuccess(reply)) return rejection
  const reason = `a key was refused, and that of the account may be the one: ${rejection.bankText}`
  const verdict = judge(reply, 'question')
  if (verdict.outcome === 'blocked') return verdict
  return verdict.outcome === 'none' || verdict.outcome === 'rejected'
    ? { outcome: 'blocked', code: 'key', reason }
    : { outcome: 'retryable', reason }
}

const PAYS_ITSELF: GatewayResult<never> = {
  outcome: 'rejected',
  code: 'key_refused',
  params: {},
  bankText: 'The key belongs to the account that pays',
}

function buildBody({ payingKey }: PayoutBank, { amount, dictKey, ownerDoc }: PayoutOrder): object {
  const kind = ownerDoc === null ? null : taxIdKind(ownerDoc)
  // Without its kind, the bank could not refuse another owner.
  if (ownerDoc !== null && !kind) throw new Invariant('a payout names an owner without a document')
  return {
    valor: formatDecimalAmount(amount),
    pagador: { chave: payingKey },
    favorecido: { chave: dictKey, ...(kind && { [kind]: ownerDoc }) },
  }
}

/** Orders have the id of their withdrawal without hyphens, which Efí takes as it is. */
function idOf({ id }: SentOrder): string {
  if (!ID_PATTERN.test(id)) throw new Invariant(`${id} cannot be the id of a payout`)
  return id
}

/**
 * Returns the state after the response to the order itself, which does not repeat all of it: the payout
 * is taken at most, and a question, which compares all, learns how it ended.
 */
function toTaken(payout: BankPayout, order: SentOrder): GatewayResult<OrderState> {
  const contradiction = findContradiction(payout, order)
  if (contradiction !== null) return unknown(contradiction)
  const { endToEndId, payee } = payout
  if (payout.status === null) return unknown('a payout without a status')
  const parts = { ...(endToEndId && { endToEndId }), ...(payee && { payee }) }
  return { outcome: 'ok', value: { state: 'taken', ...parts } }
}

/** A new status is not final. */
function toState(payout: BankPayout, order: SentOrder): GatewayResult<OrderState> {
  const contradiction = findContradiction(payout, order)
  if (contradiction !== null) return unknown(contradiction)
  const { status, endToEndId, failure, returns, unreadable, amount, dictKey } = payout
  if (amount === null || dictKey === null) return unknown('a payout without amount or key')
  if (status === 'NAO_REALIZADO') {
    const refusal = spiRefusal(failure.spiCode, failure.text ?? status)
    return { outcome: 'ok', value: { state: 'refused', ...refusal } }
  }
  if (status !== 'REALIZADO') return toTaken(payout, order)
  if (endToEndId === null) return unknown('a payment without an end-to-end id')
  if (unreadable > 0) log().error({ id: order.id, unreadable }, 'unreadable returns of a payout')
  const parts = {
    ...(payout.payee && { payee: payout.payee }),
    ...(returns.length > 0 && { returns }),
  }
  return { outcome: 'ok', value: { state: 'done', endToEndId, ...parts } }
}

/**
 * A value that is reported, but cannot be read, is another than that of the order. Where the bank masks the key, the
 * order's own ids show which payout it is.
 */
function findContradiction(
  { id, endToEndId, amount, dictKey, isGarbled }: BankPayout,
  order: SentOrder,
): string | null {
  if (isGarbled) return 'a payout whose id, amount or key cannot be read'
  if (id !== null && id !== order.id) return 'a payout of another id'
  if (amount !== null && amount !== order.amount) return 'a payout of another amount'
  if (dictKey === null || dictKey.toLowerCase() === order.dictKey.toLowerCase()) return null
  if (!isMaskOf(dictKey, order.dictKey)) return 'a payout to another key'
  if (id === null) return 'a payout to a masked key without an id'
  const isOther = (order.endToEndId ?? endToEndId) !== endToEndId
  return isOther ? 'a payout to a masked key with another end-to-end id' : null
}

const MASK = /[*•…]+/
const SEPARATORS = /[^0-9a-z]/g

/** Whether the parts that a mask leaves of a key are those of this key, in their order, whatever separates them. */
function isMaskOf(masked: string, dictKey: string): boolean {
  if (!MASK.test(masked)) return false
  const whole = dictKey.toLowerCase().replace(SEPARATORS, '')
  let end = 0
  for (const part of masked.toLowerCase().split(MASK)) {
    const shown = part.replace(SEPARATORS, '')
    const at = whole.indexOf(shown, end)
    if (at < 0) return false
    end = at + shown.length
  }
  return true
}

/** Payouts that have ended, by the time at which they were ordered. */
export const SENT_PAYOUTS: ListSource<SentPayout> = {
  path: '/gn/pix/enviados',
  /** They are read over months for what came back: a bank that wants shorter periods refuses this one. */
  windowMs: 30 * 86_400_000,
  read: readSent,
}

function readSent(body: unknown) {
  const all = elementsOf(fieldsOf(body).pix).map(readPayout)
  const isFailed = ({ status, endToEndId }: BankPayout) =>
    status === 'NAO_REALIZADO' && endToEndId !== null
  const sent = all.filter(payout => payout.status === 'REALIZADO' || isFailed(payout))
  const items = sent.map(toSentPayout).filter(item => item !== null)
  return { items, count: all.length, unreadable: sent.length - items.length }
}

/** Payouts that were ordered by Troco and have not failed, by the time at which they were ordered. */
export const TAKEN_PAYOUTS: ListSource<TakenOrder> = { ...SENT_PAYOUTS, read: readTaken }

function readTaken(body: unknown) {
  const all = elementsOf(fieldsOf(body).pix).map(readPayout)
  const items: TakenOrder[] = []
  const unread: UnreadPayment[] = []
  for (const payout of all) {
    const { id, status, amount, dictKey, endToEndId, requestedAt: orderedAt } = payout
    if (id === null || !OWN_ID_PATTERN.test(id) || status === 'NAO_REALIZADO') continue
    const isDone = status === 'REALIZADO'
    const order = { id, endToEndId, dictKey, returnId: null, isDone }
    if (amount && dictKey && orderedAt && (endToEndId || !isDone))
      items.push({ ...order, amount, orderedAt })
    else unread.push({ key: id, txid: null, sent: JSON.stringify({ id, amount, status }) })
  }
  return { items, unread, unreadable: unread.length, count: all.length }
}

function toSentPayout(payout: BankPayout): SentPayout | null {
  const { id, endToEndId, amount, requestedAt: sentAt, returns, unreadable } = payout
  if (endToEndId === null || amount === null || sentAt === null || unreadable > 0) return null
  const ownId = id !== null && OWN_ID_PATTERN.test(id) ? id : null
  const failed = payout.status === 'NAO_REALIZADO' && ({ isFailed: true } as const)
  return { id: ownId, endToEndId, amount, sentAt, returns, ...failed }
}

/** A payout (Pix enviado) as Efí reports it; null is what it does not report. */
interface BankPayout {
  id: string | null
  endToEndId: string | null
  amount: number | null
  /** Key of the receiver. */
  dictKey: string | null
  status: string | null
  requestedAt: Date | null
  payee: Party | null
  returns: PayoutReturn[]
  /** Returns without a readable id, amount or time. */
  unreadable: number
  /** Whether an id, amount or key is reported that cannot be read. */
  isGarbled: boolean
  failure: { spiCode: string; text: string | null }
}

export function readPayout(body: unknown): BankPayout {
  const fields = fieldsOf(body)
  const receiver = fieldsOf(fields.favorecido)
  const returns = elementsOf(fields.devolucoes).map(readReturn)
  const failure = fieldsOf(fieldsOf(fields.gnExtras).erro ?? fields.erro)
  const id = textOf(fields.idEnvio)
  const amount = centsOf(fields.valor)
  const dictKey = textOf(receiver.chave)
  return {
    id,
    // Efí's documentation and its SDK disagree about the name.
    endToEndId: textOf(fields.endToEndId) ?? textOf(fields.e2eId),
    amount,
    dictKey,
    status: textOf(fields.status),
    requestedAt: timeOf(fieldsOf(fields.horario).solicitacao),
    payee: readPayee(fields, receiver),
    returns: returns.filter(each => each !== null),
    unreadable: returns.filter(each => each === null).length,
    isGarbled:
      isUnreadable(fields.idEnvio, id) ||
      isUnreadable(fields.valor, amount) ||
      isUnreadable(fields.favorecido, fields.favorecido === receiver ? receiver : null) ||
      isUnreadable(receiver.chave, dictKey),
    failure: {
      spiCode: textOf(failure.codigo) ?? '',
      text: textOf(failure.motivo) ?? textOf(fields.motivo),
    },
  }
}

function isUnreadable(value: unknown, read: unknown): boolean {
  return value !== undefined && value !== null && read === null
}

/** Responses have the identity below `favorecido`, or beside its key; notices below `gnExtras`. */
function readPayee(fields: Fields, receiver: Fields): Party | null {
  const places = [receiver.identificacao, receiver.contaBanco, receiver]
  const all = [...places, fieldsOf(fields.gnExtras).favorecido].map(fieldsOf)
  return all.map(readParty).find(party => party !== null) ?? null
}

function readReturn(value: unknown): PayoutReturn | null {
  const fields = fieldsOf(value)
  const id = textOf(fields.rtrId)
  const amount = centsOf(fields.valor)
  const { liquidacao, solicitacao } = fieldsOf(fields.horario)
  const returnedAt = timeOf(fields.horario) ?? timeOf(liquidacao) ?? timeOf(solicitacao)
  return id && amount && returnedAt ? { id, amount, returnedAt } : null
}

/** Cents of a balance, which may be negative. */
export function centsOfBalance(body: unknown): number | null {
  const { saldo } = fieldsOf(body)
  const [, sign, amount] = /^(-?)(.+)$/.exec(textOf(saldo) ?? '') ?? []
  const cents = centsOf(amount)
  return cents === null ? null : sign === '-' ? 0 - cents : cents
}
