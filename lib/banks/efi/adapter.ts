import type { LookupFunction } from 'node:net'
import {
  buildGateway,
  listNoticeAddresses,
  openClient,
  parseNotice,
  readNoticeEntry,
  registerNotices,
} from '#lib/banks/api-pix/adapter.ts'
import type { BankClient } from '#lib/banks/api-pix/client.ts'
import {
  diagnose,
  examineScope,
  type ScopeUse,
  withoutProblem,
} from '#lib/banks/api-pix/diagnose.ts'
import {
  bodyOf,
  centsOf,
  elementsOf,
  type Fields,
  fieldsOf,
  isStatusOk,
  isSuccess,
  type Reply,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import {
  checkList,
  type ListSource,
  listEntries,
  OWN_ID_PATTERN,
} from '#lib/banks/api-pix/payments.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import { readParty } from '#lib/banks/api-pix/read.ts'
import { REPORTS_PATH, readStatement } from '#lib/banks/efi/statement.ts'
import {
  type AnswerEnd,
  type BankFinding,
  type Connection,
  type DisputeAnswer,
  type FindingCode,
  find,
  type Gateway,
  type GatewayNotification,
  type GatewayResult,
  type NoticeAddress,
  type OrderState,
  type Party,
  type PayoutOrder,
  type PayoutReturn,
  type ReportedDispute,
  type SentOrder,
  type SentPayout,
  spiRefusal,
  type TakenOrder,
  type UnreadPayment,
} from '#lib/banks/gateway.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { log } from '#lib/core/log.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { taxIdKind } from '#lib/core/pix/tax-id.ts'

/** Disputes are rare, and read over weeks: a bank that wants shorter periods refuses this one. */
const WINDOW_MS = 30 * 86_400_000

/** A dispute of any other status is open: its amount stays held until the bank reports an end. */
const ENDS: Record<string, ReportedDispute['state']> = {
  ACEITA: 'lost',
  REJEITADA: 'won',
  CANCELADA_EFI: 'won',
}

/** Status between the defense and the end. */
const DEFENDED = 'EM_DEFESA'

/** Disputes (infrações) by the time at which they began. */
const DISPUTES: ListSource<ReportedDispute> = {
  path: '/gn/infracoes',
  windowMs: WINDOW_MS,
  read(body) {
    const all = elementsOf(fieldsOf(body).infracoes).map(readDispute)
    const items = all.filter(dispute => dispute !== null)
    return { items, count: all.length, unreadable: all.length - items.length }
  },
}

function readDispute(value: unknown): ReportedDispute | null {
  const fields = fieldsOf(value)
  const id = textOf(fields.idInfracao)
  const endToEndId = textOf(fields.endToEndId)
  const amount = centsOf(fields.valor)
  const status = textOf(fields.status)
  if (!id || !endToEndId || !amount || !status) return null
  const state = (Object.hasOwn(ENDS, status) && ENDS[status]) || 'open'
  const { prazoFinalizacao, recebimentoDefesa } = fieldsOf(fields.dadosAnalise)
  const respondBy = timeOf(prazoFinalizacao)
  const isAnswered =
    status === DEFENDED || [recebimentoDefesa, fields.defesa].some(value => textOf(value) !== null)
  return { id, endToEndId, amount, state, respondBy, isAnswered }
}

/** The only value that Efí takes: a dispute that is accepted gets no defense. */
const CONTESTED = 'rejeitado'

/**
 * Sends the defense in a dispute. After 409 the dispute has one, which may be another: the list of disputes
 * says whether it has.
 */
async function answerDispute(
  client: BankClient,
  { id, text }: DisputeAnswer,
  signal: AbortSignal,
): Promise<GatewayResult<AnswerEnd>> {
  const path = `${DISPUTES.path}/${encodeURIComponent(id)}/defesa`
  const body = { analise: CONTESTED, justificativa: text }
  const reply = await client.call({ method: 'POST', path, body }, signal)
  if (reply.kind === 'response' && isStatusOk(reply.status))
    return { outcome: 'ok', value: 'taken' }
  const isLate = reply.kind === 'response' && reply.status === 422 && reply.body !== undefined
  if (isLate) return { outcome: 'ok', value: 'late' }
  const isDefended = reply.kind === 'response' && reply.status === 409
  if (isDefended) return unknown('the bank has a defense of this dispute')
  const verdict = judge(reply, 'question')
  if (verdict.outcome === 'ask') return verdict.ifAbsent
  if (verdict.outcome !== 'none') return verdict
  const bankText = 'the bank does not have this dispute'
  return { outcome: 'rejected', code: 'unspecified', params: {}, bankText }
}

const PATH = '/gn/config'

/**
 * Lists settings of the account that accept payments without a charge: without a key, without a txid, or by
 * a static code. With `corrects` they are changed, and all others stay as they are.
 */
async function checkSettings(
  client: BankClient,
  receivingKeys: readonly string[],
  corrects: boolean,
  signal: AbortSignal,
): Promise<GatewayResult<string[]>> {
  const reply = await client.call({ method: 'GET', path: PATH }, signal)
  const { pix } = fieldsOf(bodyOf(reply))
  if (!isAnswered(reply)) return judgeQuestion(reply, 'no settings')
  // Changed as a whole, settings that were not read would be lost.
  if (typeof pix !== 'object' || pix === null) return unknown('no readable settings')
  const wrong = findWrong(fieldsOf(pix), receivingKeys)
  if (corrects && wrong.length > 0) {
    const body = { pix: correct(fieldsOf(pix), receivingKeys) }
    const changed = await client.call({ method: 'PUT', path: PATH, body }, signal)
    if (!isAnswered(changed)) return judgeQuestion(changed, 'no settings')
  }
  return { outcome: 'ok', value: wrong }
}

function findWrong(pix: Fields, keys: readonly string[]): string[] {
  const ofKeys = keys.flatMap(key => {
    const { recebimento } = fieldsOf(fieldsOf(pix.chaves)[key])
    const { txidObrigatorio, qrCodeEstatico } = fieldsOf(recebimento)
    return [
      ...(txidObrigatorio === true ? [] : ['txidObrigatorio']),
      ...(fieldsOf(qrCodeEstatico).recusarTodos === true ? [] : ['qrCodeEstatico.recusarTodos']),
    ].map(name => `${name} (${maskDictKey(key)})`)
  })
  return [...(pix.receberSemChave === false ? [] : ['receberSemChave']), ...ofKeys]
}

function correct(pix: Fields, keys: readonly string[]): Fields {
  const known = fieldsOf(pix.chaves)
  const changed = keys.map(key => {
    const settings = fieldsOf(known[key])
    const receiving = fieldsOf(settings.recebimento)
    const qrCodeEstatico = { ...fieldsOf(receiving.qrCodeEstatico), recusarTodos: true }
    const recebimento = { ...receiving, txidObrigatorio: true, qrCodeEstatico }
    return [key, { ...settings, recebimento }]
  })
  return { ...pix, receberSemChave: false, chaves: { ...known, ...Object.fromEntries(changed) } }
}

/** The response to a change has no body. */
function isAnswered(reply: Reply): boolean {
  return reply.kind === 'response' && isStatusOk(reply.status)
}

/** The payout has neither an amount nor a receiver, so that it cannot be made. */
const PAYOUT_SCOPES: readonly ScopeUse[] = [
  {
    scope: 'pix.send',
    call: () => ({ method: 'PUT', version: 'v3', path: `/gn/pix/${newPayoutId()}`, body: {} }),
  },
  {
    scope: 'gn.pix.send.read',
    call: () => ({ method: 'GET', path: `/gn/pix/enviados/id-envio/${newPayoutId()}` }),
  },
]

/** Calls without effect: a list of the last minute, an order without a day, and an unknown report. */
const LISTED_SCOPES: readonly (ScopeUse & { lack: FindingCode })[] = [
  {
    scope: 'gn.infractions.read',
    lack: 'scope_missing_for_disputes',
    call: () => ({ method: 'GET', path: DISPUTES.path, query: lastMinute() }),
  },
  {
    scope: 'gn.reports.write',
    lack: 'scope_missing_for_statements',
    call: () => ({ method: 'POST', path: `${REPORTS_PATH}/extrato-conciliacao`, body: {} }),
  },
  {
    scope: 'gn.reports.read',
    lack: 'scope_missing_for_statements',
    call: () => ({ method: 'GET', path: `${REPORTS_PATH}/${newId()}` }),
  },
]

interface DiagnosedAccount {
  client: BankClient
  receivingKeys: readonly string[]
  payingKey: string | null
}

/** Examines an account at Efí: what API Pix needs, then payouts and settings. */
async function diagnoseEfi(
  { client, receivingKeys, payingKey }: DiagnosedAccount,
  noticesAt: NoticeAddress,
  signal: AbortSignal,
): Promise<BankFinding[]> {
  const keys = [...new Set([...receivingKeys, ...(payingKey === null ? [] : [payingKey])])]
  const receives = receivingKeys.length > 0
  const examineMore = async (granted: BankClient) => [
    ...(payingKey === null ? [] : await examinePayouts(granted, signal)),
    ...(await examineLists(granted, signal)),
    ...(receives ? await examineSettings(granted, receivingKeys, signal) : []),
  ]
  const findings = await diagnose({ client, keys, noticesAt, receives, examineMore }, signal)
  // Efí refuses payouts from a key without an address for notices.
  const payer = payingKey === null ? null : maskDictKey(payingKey)
  return findings.map(finding =>
    finding.code === 'notices_missing' && finding.params.key === payer
      ? find('payer_notices_missing', finding.params)
      : finding,
  )
}

async function examinePayouts(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const findings: BankFinding[] = []
  for (const use of PAYOUT_SCOPES) findings.push(await examineScope(client, use, signal))
  return [...findings, ...(await examineBalance(client, signal))]
}

/** Without disputes and statements, live mode works. */
async function examineLists(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const findings: BankFinding[] = []
  for (const { lack, ...use } of LISTED_SCOPES)
    findings.push(withoutProblem(await examineScope(client, use, signal), lack))
  return findings
}

async function examineBalance(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const balance = await readBalance(client, signal)
  const scope = 'gn.balance.read'
  if (balance.outcome === 'ok') {
    const amount = formatDecimalAmount(balance.value.available)
    return [find('scope_used', { scope }), find('balance_read', { amount })]
  }
  const reason = ('reason' in balance ? balance.reason : balance.bankText) ?? ''
  if (balance.outcome === 'blocked' && balance.code === 'scope')
    return [find('scope_missing', { scope, reason })]
  const isFinal = balance.outcome === 'blocked' || balance.outcome === 'rejected'
  return [find(isFinal ? 'balance_refused' : 'balance_unanswered', { reason })]
}

/** The scope `gn.settings.read` is for this only: without it, nothing is said. */
async function examineSettings(
  client: BankClient,
  receivingKeys: readonly string[],
  signal: AbortSignal,
): Promise<BankFinding[]> {
  const open = await checkSettings(client, receivingKeys, false, signal)
  if (open.outcome !== 'ok' || open.value.length === 0) return []
  return [find('settings_open', { settings: open.value.join(', ') })]
}

function lastMinute() {
  const toText = (at: number) => new Date(at).toISOString()
  const now = Date.now()
  return { inicio: toText(now - 60_000), fim: toText(now) }
}

function newPayoutId(): string {
  return removeHyphens(newId())
}

const PROFILE = 'efi'
/** Has Efí register an address that also accepts callers without Efí's certificate. */
const WITHOUT_MTLS = { 'x-skip-mtls-checking': 'true' }

/**
 * Opens an account at Efí: API Pix to receive and refund, and payouts from a key of the account. It may
 * have keys to receive with, a key to pay from, or both.
 */
export function openEfi(connection: Connection, lookup: LookupFunction): Gateway | null {
  const { profile, receivingKeys, payingKey } = connection
  const opened = openClient({ ...connection, profile: PROFILE }, lookup)
  if (!opened || (receivingKeys.length === 0 && payingKey === null)) return null
  if (profile !== null && profile !== PROFILE)
    throw invalidInput('profile', `must be absent or ${PROFILE}`)
  // Payouts are below the same address with another version.
  if (!/\/v2\/?$/.test(opened.apiUrl))
    throw invalidInput('settings', 'must have an api_url that ends in /v2')
  const account = { ...opened, receivingKeys, payingKey }
  return payingKey === null ? buildReceiver(account) : buildPayer({ ...account, payingKey })
}

interface Account {
  client: BankClient
  profile: BankProfile
  receivingKeys: string[]
  payingKey: string | null
}

function buildReceiver({ client, profile, receivingKeys, payingKey }: Account) {
  const [receivingKey = ''] = receivingKeys
  // A key that pays needs a webhook, too.
  const keys = new Set([...receivingKeys, ...(payingKey === null ? [] : [payingKey])])
  return {
    ...buildGateway({ client, profile, receivingKey, receivingKeys }),
    ...(receivingKey === '' && { createCharge: async () => NOTHING_RECEIVED }),
    name: 'efi',
    registerWebhook: (address, signal, { keys: only = [...keys], isCertificateRequired } = {}) =>
      registerNotices(client, only, address, signal, isCertificateRequired ? {} : WITHOUT_MTLS),
    listWebhooks: signal => listNoticeAddresses(client, [...keys], signal),
    parseWebhook: body => parseNotice(body, readEntry),
    diagnose: (noticesAt, signal) =>
      diagnoseEfi({ client, receivingKeys, payingKey }, noticesAt, signal),
    checkSettings: (corrects, signal) => checkSettings(client, receivingKeys, corrects, signal),
    listDisputes: (since, cursor, signal) =>
      listEntries({ client, profile }, DISPUTES, since, cursor, signal),
    answerDispute: (answer, signal) => answerDispute(client, answer, signal),
    readStatement: (day, cursor, signal) => readStatement(client, day, cursor, signal),
  } satisfies Gateway
}

function buildPayer(account: Account & { payingKey: string }): Gateway {
  const { client, receivingKeys, payingKey } = account
  const receiver = buildReceiver(account)
  const payer = { client, payingKey, ownKeys: [...receivingKeys, payingKey] }
  return {
    ...receiver,
    checkPayout: async () => ({ outcome: 'ok', value: null }),
    sendPayout: (order, signal) => sendPayout(payer, order, signal),
    getPayout: (order, signal) => queryPayout(client, order, signal),
    listSentPayouts: (since, cursor, signal) =>
      listEntries(account, SENT_PAYOUTS, since, cursor, signal),
    listTakenPayouts: (since, cursor, signal) =>
      listEntries(account, TAKEN_PAYOUTS, since, cursor, signal),
    getBalance: signal => readBalance(client, signal),
    async checkHealth(signal) {
      const checks = [
        ...(receivingKeys.length > 0 ? [() => receiver.checkHealth(signal)] : []),
        () => readBalance(client, signal),
        () => checkList(account, signal, SENT_PAYOUTS),
      ]
      for (const check of checks) {
        const result = await check()
        if (result.outcome !== 'ok') return result
      }
      return { outcome: 'ok', value: null }
    },
  }
}

/**
 * An entry with `idEnvio` is about a payout, and what came back of it, as all does of one that failed after it was done;
 * any other is as in the standard.
 */
function readEntry(entry: unknown): GatewayNotification[] {
  const { gnExtras, devolucoes, status } = fieldsOf(entry)
  const id = textOf(fieldsOf(gnExtras).idEnvio)
  if (id === null) return readNoticeEntry(entry)
  const isReturned = elementsOf(devolucoes).length > 0 || status === 'NAO_REALIZADO'
  return [{ kind: 'payout', id }, ...(isReturned ? [{ kind: 'return', id } as const] : [])]
}

const NOTHING_RECEIVED: GatewayResult<never> = {
  outcome: 'blocked',
  code: 'key',
  reason: 'the connection has no receiving key',
}

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
async function readBalance(
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
async function queryPayout(
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
const TAKEN_PAYOUTS: ListSource<TakenOrder> = { ...SENT_PAYOUTS, read: readTaken }

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
