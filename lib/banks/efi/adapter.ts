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
  type Reply,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import { checkList, type ListSource, listEntries } from '#lib/banks/api-pix/payments.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import {
  queryPayout,
  readBalance,
  SENT_PAYOUTS,
  sendPayout,
  TAKEN_PAYOUTS,
} from '#lib/banks/efi/payouts.ts'
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
  type ReportedDispute,
} from '#lib/banks/gateway.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'

/** Disputes are rare, and read over weeks: a bank that wants shorter periods refuses this one. */
const WINDOW_MS = 30 * 86_400_000

/** A dispute of any other status is open: its amount stays held until the bank reports an end. */
const ENDS: Record<string, ReportedDispute['state']> = {
  ACEITA: 'lost',
  REJEITADA: 'won',
  CANCELADA_EFI: 'won',
}

/** Status between the defence and the end. */
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

/** The only value that Efí takes: a dispute that is accepted gets no defence. */
const CONTESTED = 'rejeitado'

/**
 * Sends the defence in a dispute. After 409 the dispute has one, which may be another: the list of disputes
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
  if (isDefended) return unknown('the bank has a defence of this dispute')
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
