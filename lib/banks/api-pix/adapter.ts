import type { LookupFunction } from 'node:net'
import * as z from 'zod'
import {
  openCharge,
  type QueryBank,
  queryCharges,
  removeCharge,
} from '#lib/banks/api-pix/charges.ts'
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
  textOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import {
  checkList,
  findPayment,
  listPayments,
  listReturnedPayments,
  listTakenRefunds,
} from '#lib/banks/api-pix/payments.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import { type BankRefund, readRefund } from '#lib/banks/api-pix/read.ts'
import {
  type Connection,
  type Gateway,
  type GatewayNotification,
  type GatewayResult,
  type KeyWebhook,
  type Listing,
  type OrderState,
  type RefundOrder,
  spiRefusal,
} from '#lib/banks/gateway.ts'
import type { Environment } from '#lib/banks/schema.ts'
import { invalidInput } from '#lib/core/errors.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'

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
