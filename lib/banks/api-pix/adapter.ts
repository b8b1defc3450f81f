import type { LookupFunction } from 'node:net'
import * as z from 'zod'
import { BankClient } from '#lib/banks/api-pix/client.ts'
import { parseCredentials, readCertificateEnd } from '#lib/banks/api-pix/credentials.ts'
import { diagnose } from '#lib/banks/api-pix/diagnose.ts'
import {
  bodyOf,
  elementsOf,
  fieldsOf,
  isStatusOk,
  isSuccess,
  parseJson,
  type Reply,
  textOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown, type Verdict } from '#lib/banks/api-pix/outcomes.ts'
import {
  checkList,
  findPayment,
  findPayments,
  listPayments,
  listReturnedPayments,
  listTakenRefunds,
} from '#lib/banks/api-pix/payments.ts'
import { type BankProfile, PROFILES } from '#lib/banks/api-pix/profiles.ts'
import {
  type BankCharge,
  type BankRefund,
  readCharge,
  readRefund,
} from '#lib/banks/api-pix/read.ts'
import {
  buildChargeCode,
  type ChargeAnswers,
  type ChargeState,
  type ChargeTerms,
  type Connection,
  findCodeContradiction,
  type Gateway,
  type GatewayNotification,
  type GatewayResult,
  type KeyWebhook,
  type Listing,
  type OpenedCharge,
  type OrderState,
  PAYER_NAME_MAX,
  type RefundOrder,
  spiRefusal,
} from '#lib/banks/gateway.ts'
import type { Environment } from '#lib/banks/schema.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { normalizeTaxId, taxIdKind } from '#lib/core/pix/tax-id.ts'

/** Ages at which an open charge is queried, until notices of the bank end it sooner. */
const QUERY_AGES_MS = [15_000, 60_000, 180_000]

const url = z.url({ protocol: /^https$/ }).optional()
/** `trusted_certificates`: PEM of the only authorities that may issue the bank's certificate. */
const Settings = z.looseObject({
  api_url: url,
  token_url: url,
  trusted_certificates: z.string().optional(),
})

/** Opens a bank that speaks Banco Central's API Pix. It receives and refunds, and has no payouts. */
export function openApiPix(connection: Connection, lookup: LookupFunction): Gateway | null {
  const client = openClient(connection, lookup)
  const [receivingKey] = connection.receivingKeys
  if (!client || receivingKey === undefined) return null
  return buildGateway({ ...client, receivingKey, receivingKeys: connection.receivingKeys })
}

const MISSING = 'must be given: client_id, client_secret, and p12 or certificate and private_key'

/** Returns null if the connection lacks an environment. */
export function openClient(connection: Connection, lookup: LookupFunction) {
  const { credentials, environment } = connection
  if (environment === null) return null
  if (credentials === null) throw invalidInput('credentials', MISSING)
  const { profile, ...addresses } = readProfile(connection, environment)
  const client = new BankClient({
    profile,
    lookup,
    ...addresses,
    credentials: parseCredentials(credentials),
  })
  return { client, profile, apiUrl: addresses.apiUrl }
}

export function buildGateway(bank: QueryBank & { receivingKeys: string[] }) {
  const { client, profile, receivingKeys } = bank
  return {
    name: 'api-pix',
    queryAgesMs: QUERY_AGES_MS,
    payoutsInFlight: profile.payoutsInFlight,
    certificateEndsAt: readCertificateEnd(client.options.credentials.identity),
    createCharge: (order, signal) => openCharge(bank, order, signal),
    getCharges: (txids, signal) => queryCharges(bank, txids, signal),
    cancelCharge: (txid, signal) => removeCharge(bank, txid, signal),
    checkPayout: async () => NO_PAYOUTS,
    sendPayout: async () => NO_PAYOUTS,
    getPayout: async () => NO_PAYOUTS,
    refundCharge: (order, signal) => sendRefund(client, order, signal),
    getRefund: (refund, signal) => queryRefund(client, refund, signal),
    listPayments: (since, cursor, signal) => listPayments(bank, since, cursor, signal),
    listReturnedPayments: (since, cursor, signal) =>
      listReturnedPayments(bank, since, cursor, signal),
    getPayment: (endToEndId, signal) => findPayment(bank, endToEndId, signal),
    listTakenRefunds: (since, cursor, signal) => listTakenRefunds(bank, since, cursor, signal),
    listTakenPayouts: async () => NONE_LISTED,
    checkHealth: signal => checkList(bank, signal),
    diagnose: (noticesAt, signal) =>
      diagnose({ client, keys: receivingKeys, noticesAt, receives: true }, signal),
    registerWebhook: (address, signal, { keys = receivingKeys } = {}) =>
      registerNotices(client, keys, address, signal),
    listWebhooks: signal => listNoticeAddresses(client, receivingKeys, signal),
    parseWebhook: parseNotice,
  } satisfies Gateway
}

const NONE_LISTED: GatewayResult<Listing<never>> = {
  outcome: 'ok',
  value: { items: [], nextCursor: null },
}

const NO_PAYOUTS: GatewayResult<never> = {
  outcome: 'blocked',
  code: 'other',
  reason: 'API Pix has no payouts',
}

function readProfile({ profile: name, settings }: Connection, environment: Environment) {
  const profile = Object.hasOwn(PROFILES, name ?? 'standard') && PROFILES[name ?? 'standard']
  if (!profile) {
    throw invalidInput('profile', `must be one of ${Object.keys(PROFILES).join(', ')}`)
  }
  const parsed = Settings.safeParse(settings)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw invalidInput('settings', `must have ${issue?.path.join('.')} as an https address or PEM`)
  }
  const { api_url, token_url, trusted_certificates: trusted } = parsed.data
  const [apiUrl, tokenUrl] = [
    api_url ?? profile.apiUrl[environment],
    token_url ?? profile.tokenUrl[environment],
  ]
  if (!apiUrl || !tokenUrl)
    throw invalidInput('settings', 'must have api_url and token_url: the profile has none')
  return { profile, apiUrl, tokenUrl, ...(trusted !== undefined && { trusted }) }
}

/** Sends a refund. If the bank has the id already, or refuses the refund, it is asked by the id. */
async function sendRefund(
  client: BankClient,
  order: RefundOrder,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState>> {
  const body = { valor: formatDecimalAmount(order.amount) }
  const reply = await client.call({ method: 'PUT', path: pathOf(order), body }, signal)
  if (isSuccess(reply)) return toState(readRefund(bodyOf(reply)), order)
  const verdict = judge(reply, 'refund', { id: order.id })
  if (verdict.outcome === 'none') return unknown('no refund')
  if (verdict.outcome !== 'ask') return verdict
  const found = await findRefund(client, order, signal)
  if (found.outcome !== 'ok') return unknown('the bank does not say what it has under the id')
  return found.value === null ? verdict.ifAbsent : toFoundState(found.value, order)
}

/** Returns the state of a refund, or null if the bank does not have it. */
async function queryRefund(
  client: BankClient,
  refund: RefundOrder,
  signal: AbortSignal,
): Promise<GatewayResult<OrderState | null>> {
  const found = await findRefund(client, refund, signal)
  return found.outcome === 'ok' && found.value !== null
    ? toFoundState(found.value, refund)
    : asNull(found)
}

async function findRefund(
  client: BankClient,
  refund: RefundOrder,
  signal: AbortSignal,
): Promise<GatewayResult<BankRefund | null>> {
  const reply = await client.call({ method: 'GET', path: pathOf(refund) }, signal)
  if (isSuccess(reply)) return { outcome: 'ok', value: readRefund(bodyOf(reply)) }
  const verdict = judge(reply, 'question', { id: refund.id })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
}

function asNull(found: GatewayResult<BankRefund | null>): GatewayResult<null> {
  return found.outcome === 'ok' ? { outcome: 'ok', value: null } : found
}

/** A refund that was queried must have an amount. The response to an order may omit it. */
function toFoundState(refund: BankRefund, order: RefundOrder): GatewayResult<OrderState> {
  return refund.amount === null ? unknown('a refund without an amount') : toState(refund, order)
}

/** A new status is not final. */
function toState(
  { status, amount, returnId, reason }: BankRefund,
  order: RefundOrder,
): GatewayResult<OrderState> {
  if (status === null) return unknown('a refund without a status')
  if (amount !== null && amount !== order.amount) return unknown('a refund of another amount')
  if (status === 'NAO_REALIZADO') {
    const spiCode = /\b[A-Z]{2}\d{2}\b/.exec(reason ?? '')?.[0] ?? ''
    return { outcome: 'ok', value: { state: 'refused', ...spiRefusal(spiCode, reason) } }
  }
  if (status !== 'DEVOLVIDO')
    return { outcome: 'ok', value: { state: 'taken', ...(returnId && { endToEndId: returnId }) } }
  // Not every bank reports its id of the return. That of the order is as unique.
  return { outcome: 'ok', value: { state: 'done', endToEndId: returnId ?? order.id } }
}

function pathOf({ endToEndId, id }: RefundOrder): string {
  return `/pix/${encodeURIComponent(endToEndId)}/devolucao/${encodeURIComponent(id)}`
}

/** Registers the address for each key: a bank sends notices only about keys that have one. */
export async function registerNotices(
  client: BankClient,
  keys: string[],
  address: string,
  signal: AbortSignal,
  headers: Record<string, string> = {},
): Promise<GatewayResult<null>> {
  for (const key of keys) {
    const path = `/webhook/${encodeURIComponent(key)}`
    const body = { webhookUrl: address }
    const reply = await client.call({ method: 'PUT', path, body, headers }, signal)
    // Successes have no body at some banks.
    if (reply.kind === 'response' && isStatusOk(reply.status)) continue
    return judgeQuestion(reply, 'no key')
  }
  return { outcome: 'ok', value: null }
}

export async function listNoticeAddresses(
  client: BankClient,
  keys: string[],
  signal: AbortSignal,
): Promise<GatewayResult<KeyWebhook[]>> {
  const found: KeyWebhook[] = []
  for (const key of keys) {
    const path = `/webhook/${encodeURIComponent(key)}`
    const reply = await client.call({ method: 'GET', path }, signal)
    const isFound = isSuccess(reply)
    if (!isFound && judge(reply, 'question').outcome !== 'none')
      return judgeQuestion(reply, 'no key')
    const address = isFound ? textOf(fieldsOf(bodyOf(reply)).webhookUrl) : null
    found.push({ key, address })
  }
  return { outcome: 'ok', value: found }
}

/**
 * Parses a notice: `{"pix": […]}`, or the bare array that some banks send. Each payment names itself,
 * its charge and its refunds. Never throws.
 */
export function parseNotice(
  body: string,
  readEntry: (entry: unknown) => GatewayNotification[] = readNoticeEntry,
): GatewayNotification[] {
  const parsed = parseJson(body)
  const list = Array.isArray(parsed) ? parsed : elementsOf(fieldsOf(parsed).pix)
  return list.flatMap(entry => readEntry(entry))
}

export function readNoticeEntry(entry: unknown): GatewayNotification[] {
  const { txid, endToEndId, devolucoes } = fieldsOf(entry)
  const returned = elementsOf(devolucoes)
  return [
    ...named('charge', txid),
    ...named(returned.length > 0 ? 'payment_return' : 'payment', endToEndId),
    ...returned.flatMap(each => named('refund', fieldsOf(each).id)),
  ]
}

function named(kind: GatewayNotification['kind'], value: unknown): GatewayNotification[] {
  const id = textOf(value)
  return id === null ? [] : [{ kind, id }]
}

/** Difference from which a bank's clock, or its time zone, is taken as wrong. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000
/** Age up to which a charge that a repeated request finds may be: older openings have been ended. */
const FOUND_AGE_MAX_MS = 15 * 60_000
/** Least time for which a charge is shown, whatever the bank's clock says. */
const PAYABLE_MIN_MS = 1_000
const OTHER_TXID = 'a response about the charge of another txid'

interface ChargeBank {
  client: BankClient
  /** Key that receives what is paid. */
  receivingKey: string
}

/**
 * Opens a charge. A bank that has the txid already, or may have it, is asked: the charge counts only
 * with the amount and key of the order.
 */
async function openCharge(
  bank: ChargeBank,
  order: ChargeTerms,
  signal: AbortSignal,
): Promise<GatewayResult<OpenedCharge>> {
  const put = (hasPayer: boolean) => {
    const body = buildBody(bank, order, hasPayer)
    return bank.client.call({ method: 'PUT', path: `/cob/${order.txid}`, body }, signal)
  }
  let reply = await put(true)
  if (isSuccess(reply)) return readOpened(bank, order, reply, 'new')
  let verdict = judge(reply, 'charge', { id: order.txid })
  if (isDocumentRefused(verdict) && /[A-Z]/i.test(order.payerDoc)) {
    // Not every bank knows documents with letters. The payer is optional.
    reply = await put(false)
    if (isSuccess(reply)) return readOpened(bank, order, reply, 'new')
    verdict = judge(reply, 'charge', { id: order.txid })
  }
  if (verdict.outcome === 'none') return unknown('no charge')
  return verdict.outcome === 'ask' ? findOpened(bank, order, verdict.ifAbsent, signal) : verdict
}

/** Returns the charge of a txid, or null. */
async function findCharge(
  { client }: ChargeBank,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<BankCharge | null>> {
  const reply = await client.call({ method: 'GET', path: `/cob/${txid}` }, signal)
  if (isSuccess(reply)) {
    const value = readCharge(bodyOf(reply), txid)
    return value === null ? unknown(OTHER_TXID) : { outcome: 'ok', value }
  }
  const verdict = judge(reply, 'question', { id: txid })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
}

/** An expired charge is open at the bank, whose record knows no expiry; so is one of a new status. */
function stateOfCharge(charge: BankCharge): ChargeState | null {
  const { status, payments, unreadable, foreign } = charge
  if (unreadable + foreign > 0) return null
  if (payments.length > 0) return { state: 'paid', payments }
  if (status === 'CONCLUIDA') return null
  return { state: status?.startsWith('REMOVIDA') ? 'cancelled' : 'open' }
}

async function findOpened(
  bank: ChargeBank,
  order: ChargeTerms,
  ifAbsent: GatewayResult<never>,
  signal: AbortSignal,
): Promise<GatewayResult<OpenedCharge>> {
  const found = await findCharge(bank, order.txid, signal)
  // The bank has the charge, or says so: whatever keeps it from answering does not undo that.
  if (found.outcome !== 'ok') return unknown('the bank does not say what it has under the txid')
  const charge = found.value
  if (charge === null) return ifAbsent
  if (charge.status?.startsWith('REMOVIDA'))
    return { outcome: 'rejected', code: 'unspecified', params: {}, bankText: charge.status }
  if (charge.amount === null || charge.key === null)
    return unknown('the bank has a charge of this txid without amount or key')
  return toOpened(bank, order, charge, 'found')
}

function readOpened(
  bank: ChargeBank,
  order: ChargeTerms,
  reply: Reply,
  origin: Origin,
): GatewayResult<OpenedCharge> {
  const charge = readCharge(bodyOf(reply), order.txid)
  return charge === null ? unknown(OTHER_TXID) : toOpened(bank, order, charge, origin)
}

type Origin = 'new' | 'found'

/** What contradicts the order is unknown, not rejected: it is payable, and so must be removed. */
function toOpened(
  { client, receivingKey }: ChargeBank,
  order: ChargeTerms,
  charge: BankCharge,
  origin: Origin,
): GatewayResult<OpenedCharge> {
  const { amount, key, location } = charge
  if (amount !== null && amount !== order.amount) return unknown('a charge of another amount')
  if (key !== null && key !== receivingKey) return unknown('a charge of another key')
  const brCode = charge.brCode ?? buildCode(location, order)
  if (brCode === null) return unknown('a charge without a code and location')
  const contradiction = findCodeContradiction(brCode, order.amount, location)
  if (contradiction !== null) return unknown(contradiction)
  const isClockRight = Math.abs(client.clockAheadMs ?? 0) <= CLOCK_DIFFERENCE_MAX_MS
  const payableForMs = isClockRight ? findPayableMs(charge, order, origin) : null
  const isPaid = charge.payments.length > 0 || charge.status === 'CONCLUIDA'
  return {
    outcome: 'ok',
    value: {
      brCode,
      ...(payableForMs !== null && { payableForMs }),
      ...(isPaid && { newsInMs: 0 }),
    },
  }
}

function buildCode(location: string | null, order: ChargeTerms): string | null {
  try {
    return location === null ? null : buildChargeCode(location, order)
  } catch {
    return null
  }
}

/** Null if the time of creation cannot be trusted: then the charge expires by Troco's clock. */
function findPayableMs(
  { createdAt, lifetimeS }: BankCharge,
  { expiresInSeconds }: ChargeTerms,
  origin: Origin,
): number | null {
  if (createdAt === null) return null
  const ageMs = Date.now() - createdAt.getTime()
  const ageMaxMs = origin === 'new' ? CLOCK_DIFFERENCE_MAX_MS : FOUND_AGE_MAX_MS
  if (ageMs < -CLOCK_DIFFERENCE_MAX_MS || ageMs > ageMaxMs) return null
  return Math.max(PAYABLE_MIN_MS, (lifetimeS ?? expiresInSeconds) * 1_000 - ageMs)
}

function buildBody({ receivingKey }: ChargeBank, order: ChargeTerms, hasPayer: boolean): object {
  const { payerDoc, payerName, amount, expiresInSeconds } = order
  const kind = taxIdKind(payerDoc)
  const payer = kind && {
    [kind]: normalizeTaxId(payerDoc),
    nome: payerName.slice(0, PAYER_NAME_MAX),
  }
  return {
    calendario: { expiracao: expiresInSeconds },
    ...(payer && hasPayer && { devedor: payer }),
    valor: { original: formatDecimalAmount(amount) },
    chave: receivingKey,
  }
}

function isDocumentRefused(verdict: Verdict): boolean {
  const result = verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
  return result.outcome === 'rejected' && result.field === 'document'
}

/** Concurrent questions of one batch. */
const CONCURRENCY_MAX = 8
/** Time for a batch: below the 10 s after which the journal aborts the call with all its answers. */
const BATCH_MAX_MS = 8_000
/** Questions that may fail before a batch ends. One charge that always fails must not end it. */
const FAILURES_MAX = 3

type QueryBank = ChargeBank & { profile: BankProfile }

/** Queries charges one by one: the standard has no call for many. Answers for those that it reached. */
async function queryCharges(
  bank: QueryBank,
  txids: string[],
  signal: AbortSignal,
): Promise<GatewayResult<ChargeAnswers>> {
  const answers = new Map<string, ChargeState | null>()
  const failures: GatewayResult<never>[] = []
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(BATCH_MAX_MS)])
  const left = [...txids]
  const work = async () => {
    for (let txid = left.shift(); txid !== undefined; txid = left.shift()) {
      if (failures.length >= FAILURES_MAX || inTime.aborted) return
      const result = await queryCharge(bank, txid, inTime)
      if (result.outcome === 'ok') answers.set(txid, result.value)
      else failures.push(result)
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY_MAX, txids.length) }, work))
  const [failure] = failures
  if (answers.size === 0 && failure) return failure
  const pauses = failures.map(each => ('retryAfterMs' in each ? (each.retryAfterMs ?? 0) : 0))
  const states = new Map([...answers].filter((entry): entry is [string, ChargeState] => !!entry[1]))
  const retryAfterMs = Math.max(0, ...pauses)
  const unanswered = txids.filter(txid => !answers.has(txid))
  return { outcome: 'ok', value: { states, unanswered, ...(retryAfterMs && { retryAfterMs }) } }
}

/** Removes an open charge; one that is not open is queried. */
async function removeCharge(
  bank: QueryBank,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<ChargeState | null>> {
  const body = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
  const call = { method: 'PATCH', path: `/cob/${txid}`, body } as const
  const reply = await bank.client.call(call, signal)
  if (reply.kind === 'response' && isStatusOk(reply.status)) {
    const charge = readCharge(bodyOf(reply), txid)
    if (charge === null) return unknown(OTHER_TXID)
    // An empty answer does not say whether the charge was paid meanwhile.
    return charge.status === null
      ? queryCharge(bank, txid, signal)
      : completeState(bank, charge, txid, signal)
  }
  const verdict = judge(reply, 'removal', { id: txid })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? queryCharge(bank, txid, signal) : verdict
}

async function queryCharge(
  bank: QueryBank,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<ChargeState | null>> {
  const found = await findCharge(bank, txid, signal)
  if (found.outcome !== 'ok') return found
  return found.value === null
    ? { outcome: 'ok', value: null }
    : completeState(bank, found.value, txid, signal)
}

/**
 * Finds the payments of a charge that is paid without naming them in the list of payments. If the bank
 * names one that cannot be read, that is its answer: asking again would never bring another.
 */
async function completeState(
  bank: QueryBank,
  charge: BankCharge,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<ChargeState>> {
  const value = stateOfCharge(charge)
  if (value) return { outcome: 'ok', value }
  if (charge.createdAt === null) return unknown('a paid charge without readable payments')
  const list = await findPayments(bank, charge.createdAt, txid, signal)
  if (list.outcome !== 'ok') return list
  const { payments, isUnread } = list.value
  const hasUnread = isUnread || charge.unreadable > 0
  if (payments.length === 0 && !hasUnread) return unknown('a paid charge without readable payments')
  return { outcome: 'ok', value: { state: 'paid', payments } }
}
