import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { activateAccount, suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const ACTOR = { type: 'system' } as const

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  await fundMerchant(merchant, 1_000_000)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const post = (path: string, key: string, body: unknown, caller = token) =>
  call(api.url, 'POST', path, { token: caller, key, body })
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotent-replayed') === 'true'
const countKeys = (key: string) => db().idempotencyKey.count({ where: { key } })

describe('a key belongs to', () => {
  test('one path: on another path the same key is a different key', async () => {
    const key = newId()
    const [charge, otherCharge] = [await openCharge(merchant), await openCharge(merchant)]
    const paid = { outcome: 'paid' }
    const responses = [
      await post('/transactions', key, CHARGE),
      await post('/withdrawals', key, WITHDRAWAL),
      await post(`/sandbox/transactions/${charge.id}`, key, paid),
      await post(`/sandbox/transactions/${otherCharge.id}`, key, paid),
    ]
    expect(responses.map(response => [response.status, isReplay(response)])).toEqual(
      Array(4).fill([200, false]),
    )
    expect(await countKeys(key)).toBe(4)
    expect(isReplay(await post('/transactions/?again=1', key, CHARGE))).toBe(true)
  })

  test('one resource, whatever the spelling of its path', async () => {
    const key = newId()
    const { id } = await openCharge(merchant)
    const first = await post(`/transactions/${id}/cancel`, key, {})
    expect([first.status, isReplay(first)]).toEqual([200, false])
    const spellings = [
      `/transactions/${id.toUpperCase()}/cancel`,
      `/transactions/${id.replace('-', '%2D')}/cancel`,
      `/transactions/${id.replace('-', '%2d')}/cancel/`,
      `//transactions///${id}//cancel//?again=1`,
    ]
    for (const path of spellings) {
      const again = await post(path, key, {})
      expect([path, again.text, isReplay(again)]).toEqual([path, first.text, true])
    }
    expect(await countKeys(key)).toBe(1)
    const reference = `a b/${newId()}`
    await post('/transactions', newId(), { ...CHARGE, external_id: reference })
    const [encoded, other] = [encodeURIComponent(reference), reference.replace('/', '%2f')]
    const named = await post(`/transactions/${encoded}/cancel`, key, {})
    expect([named.status, isReplay(named)]).toEqual([200, false])
    expect(isReplay(await post(`/transactions/${other}/cancel`, key, {}))).toBe(true)
  })

  test('one account: another account gets a response of its own', async () => {
    const stranger = await makeToken((await makeMerchant()).id)
    const key = newId()
    const ownResponse = await post('/transactions', key, CHARGE)
    const otherResponse = await post('/transactions', key, { ...CHARGE, amount: 777 }, stranger)
    expect([otherResponse.status, isReplay(otherResponse)]).toEqual([200, false])
    expect(otherResponse.body.data.transaction_id).not.toBe(ownResponse.body.data.transaction_id)
    const replay = await post('/transactions', key, { ...CHARGE, amount: 777 }, stranger)
    expect(replay.text).toBe(otherResponse.text)
  })

  test('one mode: a response stored in live mode is not replayed in test mode', async () => {
    const key = newId()
    const requestHash = new Uint8Array(createHash('sha256').update('any').digest())
    const scope = { accountId: merchant.id, mode: 'live', path: '/api/transactions', key }
    const stored = { requestHash, resourceId: newId(), status: 200, answer: '{"live":true}' }
    const expiresAt = new Date(Date.now() + 3_600_000)
    await db().idempotencyKey.create({ data: { ...scope, ...stored, expiresAt } })
    const first = await post('/transactions', key, CHARGE)
    expect([first.status, isReplay(first)]).toEqual([200, false])
  })

  test('the account, not the token: a second token gets the first response', async () => {
    const key = newId()
    const first = await post('/transactions', key, CHARGE)
    const second = await post('/transactions', key, CHARGE, await makeToken(merchant.id))
    expect([second.text, isReplay(second)]).toEqual([first.text, true])
    const permissions = ['transactions:read' as const]
    const reader = await makeToken(merchant.id, { permissions })
    expect((await post('/transactions', key, CHARGE, reader)).status).toBe(403)
  })
})

describe('a refusal is not stored, and the same key works later:', () => {
  const expectFirstSuccess = async (path: string, key: string, body: unknown) => {
    const response = await post(path, key, body)
    expect([response.status, isReplay(response)]).toEqual([200, false])
    expect(isReplay(await post(path, key, body))).toBe(true)
  }

  test('422', async () => {
    const key = newId()
    for (const body of [{}, { ...CHARGE, amount: 1 }]) {
      const response = await post('/transactions', key, body)
      expect([response.status, await countKeys(key)]).toEqual([422, 0])
    }
    await expectFirstSuccess('/transactions', key, CHARGE)
  })

  test('422 Insufficient balance', async () => {
    const poor = await makeMerchant()
    const caller = await makeToken(poor.id)
    const key = newId()
    const refused = await post('/withdrawals', key, WITHDRAWAL, caller)
    expect([refused.status, await countKeys(key)]).toEqual([422, 0])
    await fundMerchant(poor, WITHDRAWAL.amount)
    const later = await post('/withdrawals', key, WITHDRAWAL, caller)
    expect([later.status, isReplay(later)]).toEqual([200, false])
    // The balance is spent, but the stored response stays.
    expect((await post('/withdrawals', key, WITHDRAWAL, caller)).text).toBe(later.text)
    await expectBalancedLedger(poor.id)
  })

  test('404 and 409', async () => {
    const key = newId()
    const external_id = `later-${key}`
    const path = `/sandbox/transactions/${external_id}`
    const outcome = { outcome: 'expired' }
    expect((await post(path, key, outcome)).status).toBe(404)
    const { data } = (await post('/transactions', newId(), { ...CHARGE, external_id })).body
    await expectFirstSuccess(path, key, outcome)
    const duplicate = { ...CHARGE, external_id }
    const otherKey = newId()
    expect((await post('/transactions', otherKey, duplicate)).status).toBe(409)
    await db().charge.updateMany({
      where: { accountId: merchant.id, id: data.transaction_id },
      data: { externalId: `moved-${key}` },
    })
    await expectFirstSuccess('/transactions', otherKey, duplicate)
  })

  test('503', async () => {
    const key = newId()
    const unavailable = { ...CHARGE, client_email: 'unavailable@example.com' }
    const responses = [
      await post('/transactions', key, unavailable),
      await post('/transactions', key, unavailable),
      await post('/withdrawals', key, { ...WITHDRAWAL, pix_key: 'unavailable@example.com' }),
    ]
    expect(responses.map(response => [response.status, isReplay(response)])).toEqual(
      Array(3).fill([503, false]),
    )
    expect(await countKeys(key)).toBe(0)
    await expectFirstSuccess('/transactions', key, CHARGE)
    await expectFirstSuccess('/withdrawals', key, WITHDRAWAL)
  })

  test('401 and 403', async () => {
    const key = newId()
    expect((await post('/transactions', key, CHARGE, 'nobody')).status).toBe(401)
    await suspendAccount(merchant.id, 'test', ACTOR)
    expect((await post('/transactions', key, CHARGE)).status).toBe(403)
    await activateAccount(merchant.id, 'test', ACTOR)
    expect(await countKeys(key)).toBe(0)
    await expectFirstSuccess('/transactions', key, CHARGE)
  })

  test('415, 413 and 400', async () => {
    const key = newId()
    const send = (raw: string, headers = {}) =>
      call(api.url, 'POST', '/transactions', { token, key, raw, headers })
    expect((await send('{}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await send('x'.repeat(70_000))).status).toBe(413)
    expect((await send('{')).status).toBe(400)
    expect(await countKeys(key)).toBe(0)
    await expectFirstSuccess('/transactions', key, CHARGE)
  })
})

describe('a key whose first request has no response yet', () => {
  const DECISION = { outcome: 'expired' }
  /** A charge that calls a bank, so that its key can remain without a response. */
  const GATEWAY_CHARGE = { ...CHARGE, client_email: 'fail@example.com' }
  const CASES = [
    { what: 'a charge', path: async () => '/transactions', body: GATEWAY_CHARGE },
    { what: 'a charge without a bank call', path: async () => '/transactions', body: CHARGE },
    { what: 'a withdrawal', path: async () => '/withdrawals', body: WITHDRAWAL },
    {
      what: 'a refund',
      path: async () => {
        const { id } = await openCharge(merchant)
        await post(`/sandbox/transactions/${id}`, newId(), { outcome: 'paid' })
        return `/transactions/${id}/refunds`
      },
      body: { amount: 100 },
    },
    {
      what: 'the sandbox',
      path: async () => `/sandbox/transactions/${(await openCharge(merchant)).id}`,
      body: DECISION,
    },
  ]

  /** Inserts the key of a request that has not finished. */
  async function insertUnfinishedKey(path: string, body: object, seconds: number) {
    const sorted = Object.fromEntries(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1)))
    const requestHash = createHash('sha256').update(JSON.stringify(sorted)).digest()
    const [key, id] = [newId(), newId()]
    await db().$executeRaw`
      INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
        locked_until, expires_at)
      VALUES (${merchant.id}::uuid, 'test', ${`/api${path}`}, ${key}, ${requestHash}, ${id}::uuid,
        now() + make_interval(secs => ${seconds}::float8), now() + interval '1 day')`
    return { key, id }
  }

  test.each(CASES)(
    '$what: an abandoned request is completed once, under the same id',
    async testCase => {
      const path = await testCase.path()
      const { key, id } = await insertUnfinishedKey(path, testCase.body, -1)
      const responses = await Promise.all(
        Array.from({ length: 10 }, () => post(path, key, testCase.body)),
      )
      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      const [first] = responses
      expect(first?.status).toBe(200)
      const { data } = first?.body ?? {}
      if (!path.startsWith('/sandbox')) expect(data.id ?? data.transaction_id).toBe(id)
      const later = await post(path, key, testCase.body)
      expect([later.text, isReplay(later)]).toEqual([first?.text, true])
      await expectBalancedLedger(merchant.id)
    },
  )

  testInTorture.concurrent.each(CASES)(
    '$what: 409 after ten seconds while the first request is running',
    async testCase => {
      const path = await testCase.path()
      const { key } = await insertUnfinishedKey(path, testCase.body, 60)
      const began = performance.now()
      const response = await post(path, key, testCase.body)
      const waitedMs = performance.now() - began
      const text = '{"error":"A request with this Idempotency-Key is still running"}'
      expect([response.status, response.text]).toEqual([409, text])
      expect(response.headers.get('retry-after')).toBe('1')
      expect(waitedMs).toBeGreaterThan(9_000)
    },
  )

  test('concurrent requests wait for the first one and return its response', async () => {
    const path = '/transactions'
    const first = await post(path, newId(), GATEWAY_CHARGE)
    const { key } = await insertUnfinishedKey(path, GATEWAY_CHARGE, 60)
    const { transaction_id } = first.body.data
    const waiting = [1, 2, 3].map(() => post(path, key, GATEWAY_CHARGE))
    await sleep(500)
    await db().$executeRaw`
      UPDATE idempotency_keys SET locked_until = NULL, resource_id = ${transaction_id}::uuid
      WHERE key = ${key}`
    for (const response of await Promise.all(waiting)) {
      expect([response.text, isReplay(response)]).toEqual([first.text, true])
    }
  })
})
