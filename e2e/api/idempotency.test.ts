import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  openCharge,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { OPERATIONS } from '#lib/testing/route-table.ts'
import { pickSize } from '#lib/testing/size.ts'
import { pickInTurn } from '#lib/testing/turn.ts'

let api: Api
let merchant: Account
let token: string
let receiver: Receiver
const CHILD = { name: 'a', permissions: ['account:read'] }
/** Receives no event here, only tests. */
const ENDPOINT = { url: '', event_types: ['withdrawal.returned'] }
beforeAll(async () => {
  receiver = await openReceiver()
  ENDPOINT.url = `${receiver.url}/hook`
  ;({ api, merchant, token } = await startApiWithMerchant())
  await fundMerchant(merchant, 10_000_000)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await receiver.close()
  await api.close()
})

type CallOptions = Parameters<typeof call>[3]
/** A token is shown once: instead of it, a replay has null, as all texts have here. */
async function post(path: string, options: CallOptions): Promise<ApiResponse> {
  const response = await call(api.url, 'POST', path, { token, ...options })
  const text = response.text.replace(/"token":"troco_\w+"/, '"token":null')
  return { ...response, text }
}
const readBalance = async () => (await call(api.url, 'GET', '/account', { token })).body.balance
const countCharges = () => db().charge.count({ where: { accountId: merchant.id } })
const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })
const countEvents = () => db().event.count({ where: { accountId: merchant.id } })
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotent-replayed') === 'true'
const serialize = JSON.stringify

async function makeSandboxPaths() {
  const withdrawal = await post('/withdrawals', { body: WITHDRAWAL })
  return {
    charge: `/sandbox/transactions/${(await openCharge(merchant)).id}`,
    withdrawal: `/sandbox/withdrawals/${withdrawal.body.data.id}`,
  }
}

/** A choice replaces the one before, so each that was seen counts. */
const seenControls = new Set<string>()
const countControls = async () => {
  const controls = await db().sandboxControl.findMany({ where: { accountId: merchant.id } })
  for (const { id } of controls) seenControls.add(id)
  return seenControls.size
}
const countActions = (action: string) =>
  db().auditRecord.count({ where: { accountId: merchant.id, action } })

const fieldErrors = (text: string) => ({ errors: { 'Idempotency-Key': [text] } })

async function payCharge(): Promise<string> {
  const { id } = await openCharge(merchant)
  await post(`/sandbox/transactions/${id}`, { body: { outcome: 'paid' } })
  return id
}

async function openHeldRefund(): Promise<string> {
  const payer = { ...CHARGE, client_email: 'hold@example.com' }
  const { transaction_id } = (await post('/transactions', { body: payer })).body.data
  await post(`/sandbox/transactions/${transaction_id}`, { body: { outcome: 'paid' } })
  const path = `/transactions/${transaction_id}/refunds`
  return (await post(path, { body: { amount: 100 } })).body.data.id
}

async function openDispute(): Promise<string> {
  const path = `/sandbox/transactions/${await payCharge()}/disputes`
  return (await post(path, { body: { amount: 100 } })).body.data.id
}

/**
 * Every POST that stores its response, with the bodies to send, a count of its effects and its
 * change of the balance.
 */
const POSTS = [
  {
    name: 'POST /transactions',
    path: async () => '/transactions',
    body: CHARGE,
    otherBody: { ...CHARGE, amount: 1_501 },
    balanceChange: 0,
    retentionHours: 24,
    countEffects: countCharges,
    message: (text: string) => ({ errors: text }),
  },
  {
    name: 'POST /withdrawals',
    path: async () => '/withdrawals',
    body: WITHDRAWAL,
    otherBody: { ...WITHDRAWAL, amount: 1_001 },
    balanceChange: -WITHDRAWAL.amount,
    retentionHours: 30 * 24,
    countEffects: countWithdrawals,
    message: fieldErrors,
  },
  {
    name: 'POST /transactions/[id]/refunds',
    path: async () => `/transactions/${await payCharge()}/refunds`,
    body: { amount: 100, reason: 'no' },
    otherBody: { amount: 101, reason: 'no' },
    balanceChange: -100,
    retentionHours: 30 * 24,
    countEffects: () => db().refund.count({ where: { accountId: merchant.id } }),
    message: fieldErrors,
  },
  {
    name: 'POST /transactions/[id]/cancel',
    path: async () => `/transactions/${(await openCharge(merchant)).id}/cancel`,
    body: { reason: 'late' },
    otherBody: { reason: 'no' },
    balanceChange: 0,
    retentionHours: 24,
    countEffects: countEvents,
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/transactions/[id]',
    path: async () => (await makeSandboxPaths()).charge,
    body: { outcome: 'paid' },
    otherBody: { outcome: 'failed' },
    balanceChange: CHARGE.amount,
    retentionHours: 24,
    countEffects: countEvents,
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/withdrawals/[id]',
    path: async () => (await makeSandboxPaths()).withdrawal,
    body: { outcome: 'rejected', reason: 'no' },
    otherBody: { outcome: 'rejected' },
    balanceChange: WITHDRAWAL.amount,
    retentionHours: 30 * 24,
    countEffects: countEvents,
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/refunds/[id]',
    path: async () => `/sandbox/refunds/${await openHeldRefund()}`,
    body: { outcome: 'rejected' },
    otherBody: { outcome: 'completed' },
    balanceChange: 100,
    retentionHours: 24,
    countEffects: countEvents,
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/transactions/[id]/disputes',
    path: async () => `/sandbox/transactions/${await payCharge()}/disputes`,
    body: { amount: 100 },
    otherBody: { amount: 101 },
    balanceChange: -100,
    retentionHours: 24,
    countEffects: countEvents,
    message: fieldErrors,
  },
  {
    name: 'POST /disputes/[id]/evidence',
    path: async () => `/disputes/${await openDispute()}/evidence`,
    body: { text: 'a' },
    otherBody: { text: 'b' },
    balanceChange: 0,
    retentionHours: 24,
    countEffects: () => countActions('dispute.evidence_added'),
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/clock',
    path: async () => '/sandbox/clock',
    body: { advance: '1s' },
    otherBody: { advance: '2s' },
    balanceChange: 0,
    retentionHours: 24,
    countEffects: countControls,
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/webhooks',
    path: async () => '/sandbox/webhooks',
    body: { fault: 'timeout' },
    otherBody: { fault: 'duplicate' },
    balanceChange: 0,
    retentionHours: 24,
    countEffects: countControls,
    message: fieldErrors,
  },
  {
    name: 'POST /sandbox/disputes/[id]',
    path: async () => `/sandbox/disputes/${await openDispute()}`,
    body: { outcome: 'won' },
    otherBody: { outcome: 'lost' },
    balanceChange: 100,
    retentionHours: 24,
    countEffects: countEvents,
    message: fieldErrors,
  },
  ...[
    {
      name: 'POST /webhooks/endpoints',
      async path() {
        const where = { accountId: merchant.id }
        await db().webhookEndpoint.updateMany({ where, data: { deletedAt: new Date() } })
        return '/webhooks/endpoints'
      },
      body: ENDPOINT,
      otherBody: { url: 'http://127.0.0.1:1025/hook', event_types: '*' },
      countEffects: () =>
        db().webhookEndpoint.count({ where: { accountId: merchant.id, deletedAt: null } }),
    },
    {
      name: 'POST /webhooks/endpoints/[id]/disable',
      path: () => makeEndpoint('disable'),
      countEffects: () => countActions('webhook_endpoint.disabled'),
    },
    {
      name: 'POST /webhooks/endpoints/[id]/enable',
      path: async () => {
        const path = await makeEndpoint('enable')
        await post(path.replace('enable', 'disable'), { body: {} })
        return path
      },
      otherBody: { send_missed: false },
      countEffects: () => countActions('webhook_endpoint.enabled'),
    },
    {
      name: 'POST /webhooks/endpoints/[id]/rotate',
      path: () => makeEndpoint('rotate'),
      countEffects: () => countActions('webhook_endpoint.secret_rotated'),
    },
    {
      name: 'POST /webhooks/endpoints/[id]/test',
      path: () => makeEndpoint('test'),
      body: { type: 'transaction.paid' },
      otherBody: { type: 'transaction.expired' },
      countEffects: async () => receiver.calls.length,
    },
    {
      name: 'POST /webhooks/deliveries/[id]/resend',
      async path() {
        const subjectId = await createPaidCharge(merchant, 'http://127.0.0.1:1025/hook')
        const where = { accountId: merchant.id, subjectId }
        return `/webhooks/deliveries/${(await db().delivery.findFirstOrThrow({ where })).id}/resend`
      },
      countEffects: () => countActions('webhook_delivery.resent'),
    },
    {
      name: 'POST /webhooks/deliveries/resend',
      path: async () => '/webhooks/deliveries/resend',
      body: { from: '2026-11-20', to: '2026-11-21' },
      otherBody: { from: '2026-11-19', to: '2026-11-21' },
      countEffects: () => countActions('webhook_delivery.resent'),
    },
    {
      name: 'POST /tokens',
      path: async () => '/tokens',
      body: CHILD,
      otherBody: { ...CHILD, name: 'b' },
      countEffects: () => countActions('token.issued'),
    },
    {
      name: 'POST /tokens/[id]/rotate',
      path: () => makeChild('rotate'),
      body: { overlap_hours: 24 },
      otherBody: { overlap_hours: 1 },
      countEffects: () => countActions('token.rotated'),
    },
    {
      name: 'POST /tokens/[id]/revoke',
      path: () => makeChild('revoke'),
      countEffects: () => countActions('token.revoked'),
    },
  ].map(row => ({
    body: { note: 'a' },
    otherBody: { note: 'b' },
    ...row,
    balanceChange: 0,
    retentionHours: 24,
    message: fieldErrors,
  })),
]

async function makeChild(action: string): Promise<string> {
  return `/tokens/${(await post('/tokens', { body: CHILD })).body.data.id}/${action}`
}

async function makeEndpoint(action: string): Promise<string> {
  const where = { accountId: merchant.id }
  await db().webhookEndpoint.updateMany({ where, data: { deletedAt: new Date() } })
  const { body } = await post('/webhooks/endpoints', { body: ENDPOINT })
  return `/webhooks/endpoints/${body.data.id}/${action}`
}

test('the table has every POST of the API', () => {
  const posts = OPERATIONS.filter(({ method }) => method === 'POST')
  const names = posts.map(({ method, path }) => `${method} ${path}`)
  expect(POSTS.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
})

const isOfMoney = ({ name }: { name: string }) => !/^POST \/(webhooks|tokens)/.test(name)

describe.each([
  ...POSTS.filter(isOfMoney),
  ...pickInTurn(POSTS.filter(operation => !isOfMoney(operation))),
])(
  '$name',
  ({ path: pathOf, body, otherBody, balanceChange, retentionHours, countEffects, message }) => {
    test('concurrent requests with one key act once and get identical responses', async () => {
      const path = await pathOf()
      const [before, balanceBefore] = [await countEffects(), await readBalance()]
      const key = newId()
      const responses = await Promise.all(
        Array.from({ length: pickSize(25, 100) }, () => post(path, { key, body })),
      )
      expect(await countEffects()).toBe(before + 1)
      const [first] = responses
      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(
        new Set([`200 ${first?.text}`]),
      )
      expect(responses.filter(response => !isReplay(response))).toHaveLength(1)
      expect(await readBalance()).toBe(balanceBefore + balanceChange)
      const later = await post(path, { key, body })
      expect([later.text, isReplay(later)]).toEqual([first?.text, true])
      await expectBalancedLedger(merchant.id)
    })

    test('a replay is the first response, whatever happened since, with one more header', async () => {
      const path = await pathOf()
      const key = newId()
      const first = await post(path, { key, body })
      const { data = {} } = first.body
      const outcome = path === '/transactions' ? 'paid' : 'approved'
      const id = data.transaction_id ?? data.id
      const isDecided = ['/transactions', '/withdrawals'].includes(path)
      if (isDecided) await post(`/sandbox${path}/${id}`, { body: { outcome } })
      const second = await post(path, { key, body })
      expect([second.status, second.text]).toEqual([200, first.text])
      // A replay is shorter by the token that it does not repeat.
      const others = /"token":null/.test(first.text) ? '|content-length' : ''
      const differing = new RegExp(`^(date|x-request-id|idempotent-replayed${others})$`)
      const comparableHeaders = ({ headers }: ApiResponse) =>
        [...headers].filter(([name]) => !differing.test(name))
      expect(comparableHeaders(second)).toEqual(comparableHeaders(first))
      expect([isReplay(first), isReplay(second)]).toEqual([false, true])
    })

    test('field order, white space and escapes do not make a different body', async () => {
      const path = await pathOf()
      const key = newId()
      const before = await countEffects()
      const first = await post(path, { key, body })
      const reversed = Object.fromEntries(Object.entries(body).toReversed())
      const escaped = serialize(body).replace('a', '\\u0061')
      for (const raw of [serialize(reversed), serialize(body, null, 2), ` ${escaped}\n`]) {
        const replay = await post(path, { key, raw })
        expect([replay.text, isReplay(replay)]).toEqual([first.text, true])
      }
      expect(await countEffects()).toBe(before + 1)
    })

    test('422 in the shape of the endpoint for the same key with another body', async () => {
      const path = await pathOf()
      const key = newId()
      const refusal = message(
        'Idempotency-Key was already used with a different body or by another caller: send a new key',
      )
      const first = await post(path, { key, body })
      const before = await countEffects()
      for (const sent of [otherBody, { ...body, note: 1 }, {}]) {
        const { status, body: responseBody } = await post(path, { key, body: sent })
        expect([status, responseBody]).toEqual([422, refusal])
      }
      expect(await countEffects()).toBe(before)
      expect((await post(path, { key, body })).text).toBe(first.text)
    })

    test('of two concurrent bodies with one key, one acts and the other is refused', async () => {
      const path = await pathOf()
      const [key, before] = [newId(), await countEffects()]
      const responses = await Promise.all(
        [body, otherBody].map(sent => post(path, { key, body: sent })),
      )
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 422])
      expect(await countEffects()).toBe(before + 1)
    })

    test('422 in the shape of the endpoint for an empty key and a key of 256 characters', async () => {
      const path = await pathOf()
      const before = await countEffects()
      const refusal = message('Idempotency-Key must have 1 to 255 characters')
      for (const key of ['', 'k'.repeat(256)]) {
        const { status, body: responseBody } = await post(path, { key, body })
        expect([status, responseBody]).toEqual([422, refusal])
      }
      expect(await countEffects()).toBe(before)
    })

    test('any 1 to 255 characters are a valid key', async () => {
      for (const validKey of ['!', `é${newId()} ÿ"\\'%`, 'k'.repeat(255)]) {
        const path = await pathOf()
        const key = validKey
        const before = await countEffects()
        const first = await post(path, { key, body })
        const second = await post(path, { key, body })
        expect([first.status, second.text]).toEqual([200, first.text])
        expect(await countEffects()).toBe(before + 1)
      }
    })

    test('an expired key acts again', async () => {
      const path = await pathOf()
      const key = newId()
      const first = await post(path, { key, body })
      const { keptS } = await readKeyLifetime(key)
      expect(Math.round(keptS / 3_600)).toBe(retentionHours)
      await db().$executeRaw`
      UPDATE idempotency_keys SET expires_at = now() - interval '1 second' WHERE key = ${key}`
      const before = await countEffects()
      const again = await post(path, { key, body })
      expect(isReplay(again)).toBe(false)
      // The sandbox decides once, and a token is rotated once, but the 409 is a new response. A charge may be
      // disputed in parts.
      const isRefused = /^\/(sandbox(?!.*\/(disputes|clock|webhooks)$)|tokens\/.*\/rotate$)/.test(
        path,
      )
      // The actions `cancel`, `disable`, `enable` and `revoke` return the same resource when repeated.
      const isDone = /\/(cancel|disable|enable|revoke)$/.test(path)
      expect(again.status).toBe(isRefused ? 409 : 200)
      if (path !== '/webhooks/deliveries/resend') expect(again.text === first.text).toBe(isDone)
      expect(await countEffects()).toBe(isRefused || isDone ? before : before + 1)
    })
  },
)

async function readKeyLifetime(key: string) {
  const [row] = await db().$queryRaw<{ keptS: number }[]>`
    SELECT extract(epoch FROM expires_at - created_at)::float8 AS "keptS"
    FROM idempotency_keys WHERE account_id = ${merchant.id}::uuid AND key = ${key}`
  return { keptS: row?.keptS ?? 0 }
}
