import type { LookupFunction } from 'node:net'
import * as z from 'zod'
import { readCertificateEnd } from '#lib/banks/api-pix/certificates.ts'
import {
  openCharge,
  type QueryBank,
  queryCharges,
  removeCharge,
} from '#lib/banks/api-pix/charges.ts'
import { BankClient } from '#lib/banks/api-pix/client.ts'
import { parseCredentials } from '#lib/banks/api-pix/credentials.ts'
import { diagnose } from '#lib/banks/api-pix/diagnose.ts'
import { listNoticeAddresses, parseNotice, registerNotices } from '#lib/banks/api-pix/notices.ts'
import {
  checkList,
  findPayment,
  listPayments,
  listReturnedPayments,
  listTakenRefunds,
} from '#lib/banks/api-pix/payments.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import { queryRefund, sendRefund } from '#lib/banks/api-pix/refunds.ts'
import type { Connection } from '#lib/banks/connection.ts'
import type { Gateway, GatewayResult, Listing } from '#lib/banks/gateway.ts'
import type { Environment } from '#lib/banks/schema.ts'
import { invalidInput } from '#lib/core/errors.ts'

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
