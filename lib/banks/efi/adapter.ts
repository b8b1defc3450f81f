import type { LookupFunction } from 'node:net'
import { buildGateway, openClient } from '#lib/banks/api-pix/adapter.ts'
import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { fieldsOf, listOf, textOf } from '#lib/banks/api-pix/json.ts'
import {
  listNoticeAddresses,
  parseNotice,
  readNoticeEntry,
  registerNotices,
} from '#lib/banks/api-pix/notices.ts'
import { checkList, listEntries } from '#lib/banks/api-pix/payments.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import type { Connection } from '#lib/banks/connection.ts'
import { diagnoseEfi } from '#lib/banks/efi/diagnose.ts'
import { answerDispute, DISPUTES } from '#lib/banks/efi/disputes.ts'
import {
  queryPayout,
  readBalance,
  SENT_PAYOUTS,
  sendPayout,
  TAKEN_PAYOUTS,
} from '#lib/banks/efi/payouts.ts'
import { checkSettings } from '#lib/banks/efi/settings.ts'
import { readStatement } from '#lib/banks/efi/statement.ts'
import type { Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import type { GatewayNotification } from '#lib/banks/notice.ts'
import { invalidInput } from '#lib/core/errors.ts'

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
  const isReturned = listOf(devolucoes).length > 0 || status === 'NAO_REALIZADO'
  return [{ kind: 'payout', id }, ...(isReturned ? [{ kind: 'return', id } as const] : [])]
}

const NOTHING_RECEIVED: GatewayResult<never> = {
  ...({ outcome: 'blocked', code: 'key', reason: 'the connection has no receiving key' } as const),
}
