import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import { completeRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const NOT_FOUND = [404, '{"error":"Transaction not found"}']

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

interface Options {
  caller?: string | null
  key?: string
}

const callApi = (method: string, path: string, body?: unknown, options: Options = {}) =>
  call(api.url, method, path, { token: options.caller ?? token, key: options.key, body })
const refund = (charge: string, body?: unknown, options: Options = {}) =>
  callApi('POST', `/transactions/${charge}/refunds`, body, options)
const listRefunds = (charge: string, query = '') =>
  callApi('GET', `/transactions/${charge}/refunds${query}`)
const readRefund = (charge: string, id: string) =>
  callApi('GET', `/transactions/${charge}/refunds/${id}`)
const readBalance = async (caller = token) =>
  (await callApi('GET', '/account', undefined, { caller })).body.balance

async function openCharge(request: object = {}, caller = token): Promise<string> {
  const { body } = await callApi('POST', '/transactions', { ...CHARGE, ...request }, { caller })
  return body.data.transaction_id
}

async function payCharge(request: object = {}, caller = token): Promise<string> {
  const id = await openCharge(request, caller)
  await callApi('POST', `/sandbox/transactions/${id}`, { outcome: 'paid' }, { caller })
  return id
}

const countRefunds = () => db().refund.count({ where: { accountId: merchant.id } })
const settlement = (refundId: string) => ({ accountId: merchant.id, refundId })

describe('POST /transactions/{id}/refunds', () => {
  test('refunds nothing if the amount is empty or misspelled', async () => {
    const charge = await payCharge()
    const before = [await readBalance(), await countRefunds()]
    const bodies = [
      { amount: null },
      { amount: '' },
      { amount: Number.NaN },
      { amout: 100 },
      { amount: 100, reason: null },
      { amount: 100, Reason: 'x' },
    ]
    for (const body of bodies) {
      const { status, text } = await refund(charge, body)
      expect([status, text], JSON.stringify(body)).toEqual([422, expect.stringContaining('errors')])
    }
    expect([await readBalance(), await countRefunds()]).toEqual(before)
  })

  test('refunds all that is left without a body, with an empty one and with `all`', async () => {
    for (const body of [undefined, {}, { amount: 'all' }]) {
      const charge = await payCharge()
      await refund(charge, { amount: 100 })
      expect((await refund(charge, body)).body.data.amount).toBe(CHARGE.amount - 100)
    }
  })

  test('200 with exactly these keys in this order', async () => {
    const charge = await payCharge()
    const { status, text, body, headers } = await refund(charge, { amount: 700, reason: ' Late ' })
    expect(status).toBe(200)
    const { id, created_at } = body.data
    expect(id).toMatch(UUID)
    expect(created_at).toMatch(MICROSECONDS)
    expect(text).toBe(
      `{"data":{"id":"${id}","transaction_id":"${charge}","amount":700,"status":"pending",` +
        `"reason":"Late","created_at":"${created_at}"}}`,
    )
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('without a body refunds all that is left, with a null reason', async () => {
    const charge = await payCharge({ amount: 1_000 })
    expect((await refund(charge, { amount: 300 })).status).toBe(200)
    const { status, body } = await refund(charge)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ amount: 700, reason: null, status: 'pending' })
  })

  test('the amount leaves the available balance at once', async () => {
    const charge = await payCharge()
    const before = await readBalance()
    await refund(charge, { amount: 400 })
    expect(await readBalance()).toBe(before - 400)
  })

  test('accepts the charge’s external_id in place of its id', async () => {
    const external_id = 'order 9/ç #1'
    const charge = await payCharge({ external_id })
    const { status, body } = await refund(encodeURIComponent(external_id), { amount: 100 })
    expect(status).toBe(200)
    expect(body.data.transaction_id).toBe(charge)
    expect((await listRefunds(encodeURIComponent(external_id))).body.data).toHaveLength(1)
    const found = await readRefund(encodeURIComponent(external_id), body.data.id)
    expect(found.body.data.id).toBe(body.data.id)
  })

  test('names every unknown field, also status, mode, id and transaction_id', async () => {
    const charge = await payCharge()
    const forged = { id: charge, transaction_id: charge, status: 'completed', mode: 'live', x: 1 }
    const { status, body } = await refund(charge, { amount: 100, ...forged })
    const rule = (name: string) => [name, [`${name} is unknown: the request has amount, reason`]]
    expect([status, body.errors]).toEqual([422, Object.fromEntries(Object.keys(forged).map(rule))])
    const named = await refund(charge, JSON.parse('{"amount":100,"__proto__":1}'))
    expect(named.body.errors).toEqual(Object.fromEntries([rule('__proto__')]))
  })

  const RULE = 'must be a whole number of cents from 1 to 999999999999, or "all"'
  test.each<[string, unknown, string]>([
    ['amount', 0, RULE],
    ['amount', -1, RULE],
    ['amount', 1.5, RULE],
    ['amount', '100', RULE],
    ['amount', true, RULE],
    ['amount', [100], RULE],
    ['amount', 1_000_000_000_000, RULE],
    ['reason', '   ', 'must have 1 to 255 characters'],
    ['reason', 'x'.repeat(256), 'must have 1 to 255 characters'],
    ['reason', 'two\nlines', 'must contain no line breaks or control characters'],
    ['reason', 'a\u200Bb', 'must contain no line breaks or control characters'],
    ['reason', 7, 'must be a string'],
    ['reason', { a: 1 }, 'must be a string'],
  ])('422 for %s = %j, with the rule in the message', async (field, value, rule) => {
    const charge = await payCharge()
    const before = await countRefunds()
    const { status, body, headers } = await refund(charge, { [field]: value })
    expect([status, body]).toEqual([422, { errors: { [field]: [`${field} ${rule}`] } }])
    expect(headers.get('x-error-code')).toBe('invalid_input')
    expect(await countRefunds()).toBe(before)
  })

  test('422 names every invalid field at once', async () => {
    const { body } = await refund(await payCharge(), { amount: 0, reason: '  ' })
    expect(Object.keys(body.errors)).toEqual(['amount', 'reason'])
  })

  test('422 for more than the remaining amount, which the message contains, and if nothing remains', async () => {
    const charge = await payCharge({ amount: 1_000 })
    await refund(charge, { amount: 600 })
    const excess = await refund(charge, { amount: 401 })
    expect([excess.status, excess.text]).toEqual([
      422,
      '{"errors":{"amount":["amount must be at most 400, the amount left to refund"]}}',
    ])
    expect(excess.headers.get('x-error-code')).toBe('refund_exceeds_remainder')
    expect((await refund(charge, { amount: 400 })).status).toBe(200)
    for (const body of [{ amount: 1 }, undefined]) {
      const response = await refund(charge, body)
      expect([response.status, response.text]).toEqual([
        422,
        '{"errors":{"amount":["amount cannot be refunded: refunds already cover the whole charge"]}}',
      ])
    }
    expect((await listRefunds(charge)).body.data).toHaveLength(2)
  })

  test('422 for what the payer disputes, although the balance covers it', async () => {
    const charge = await payCharge({ amount: 1_000 })
    await payCharge({ amount: 5_000 })
    const { connectionId, endToEndId } = await db().charge.findFirstOrThrow({
      where: { accountId: merchant.id, id: charge },
    })
    const report = { connectionId, endToEndId: endToEndId ?? '', bankId: newId(), amount: 1_000 }
    await openDispute(report)
    const { status, text, headers } = await refund(charge)
    expect([status, text, headers.get('x-error-code')]).toEqual([
      422,
      '{"errors":{"amount":["amount cannot be refunded while the payer disputes the charge: try again when the dispute has ended"]}}',
      'refund_exceeds_remainder',
    ])
    await winDispute(report)
    expect((await refund(charge)).body.data.amount).toBe(1_000)
  })

  test('422 Insufficient balance when the money is already withdrawn', async () => {
    const poor = await makeMerchant()
    const caller = await makeToken(poor.id)
    const charge = await payCharge({ amount: 5_000 }, caller)
    const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
    await createWithdrawal(poor.id, 'test', { amount: 4_500, ...key })
    const { status, text, headers } = await refund(charge, { amount: 501 }, { caller })
    expect([status, text]).toEqual([422, '{"errors":{"amount":["Insufficient balance"]}}'])
    expect(headers.get('x-error-code')).toBe('insufficient_balance')
    expect(await readBalance(caller)).toBe(500)
    expect((await refund(charge, { amount: 500 }, { caller })).status).toBe(200)
    await expectBalancedLedger(poor.id)
  })

  test.each(['pending', 'expired', 'failed'])('409 for a charge that is %s', async outcome => {
    const charge = await openCharge()
    if (outcome !== 'pending') await callApi('POST', `/sandbox/transactions/${charge}`, { outcome })
    const { status, text, headers } = await refund(charge)
    expect([status, text]).toEqual([409, '{"error":"Transaction is not paid"}'])
    expect(headers.get('x-error-code')).toBe('not_paid')
  })

  test('409 refund_window_closed when it was paid more than 90 days ago', async () => {
    const charge = await payCharge()
    await db().$executeRaw`
      UPDATE charges SET paid_at = now() - interval '90 days 1 second' WHERE id = ${charge}::uuid`
    const { status, text, headers } = await refund(charge)
    expect([status, text]).toEqual([
      409,
      '{"error":"Transaction was paid more than 90 days ago and can no longer be refunded"}',
    ])
    expect(headers.get('x-error-code')).toBe('refund_window_closed')
  })

  test('404 for a charge of another account as for an unknown one, without an effect', async () => {
    const caller = await makeToken((await makeMerchant()).id)
    const foreign = await payCharge({ external_id: 'not-yours' }, caller)
    for (const id of [foreign, 'not-yours', newId(), 'nobody', '%F0%9F%98%80']) {
      for (const body of [undefined, { amount: 1_000_000 }]) {
        const { status, text, headers } = await refund(id, body)
        expect([status, text]).toEqual(NOT_FOUND)
        expect(headers.get('x-error-code')).toBe('transaction_not_found')
      }
    }
    expect(await readBalance(caller)).toBe(CHARGE.amount)
  })

  test('an invalid body is 422 before an unknown charge is 404', async () => {
    expect((await refund(newId(), { amount: 0 })).status).toBe(422)
  })
})

describe('permissions', () => {
  const makeTokenWith = (permissions: Permission[]) => makeToken(merchant.id, { permissions })

  test('401 without a token', async () => {
    const path = `/transactions/${newId()}/refunds`
    for (const [method, requestPath] of [
      ['POST', path],
      ['GET', path],
      ['GET', `${path}/${newId()}`],
    ] as const) {
      const { status, text } = await call(api.url, method, requestPath)
      expect([status, text]).toEqual([401, '{"error":"Unauthenticated"}'])
    }
  })

  test('403 without refunds:write to refund, without transactions:read to read', async () => {
    const charge = await payCharge()
    const reader = {
      caller: await makeTokenWith(PERMISSIONS.filter(name => name !== 'refunds:write')),
    }
    const writer = { caller: await makeTokenWith(['refunds:write', 'transactions:write']) }
    const denied = await refund(charge, { amount: 1 }, reader)
    expect([denied.status, denied.text]).toEqual([
      403,
      '{"error":"Permission denied: refunds:write"}',
    ])
    const path = `/transactions/${charge}/refunds`
    for (const requestPath of [path, `${path}/${newId()}`]) {
      const response = await callApi('GET', requestPath, undefined, writer)
      expect([response.status, response.text]).toEqual([
        403,
        '{"error":"Permission denied: transactions:read"}',
      ])
    }
    const response = await refund(
      charge,
      { amount: 1 },
      { caller: await makeTokenWith(['refunds:write']) },
    )
    expect(response.status).toBe(200)
  })

  test('403 for a live token that refunds, 404 for one that reads: it has no such charge', async () => {
    const charge = await payCharge()
    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const issued = await issueToken(
      { ...tokenOptions, permissions: [...PERMISSIONS] },
      { type: 'system' },
    )
    const live = { caller: issued.token }
    const { status, text } = await refund(charge, { amount: 1 }, live)
    expect([status, text]).toEqual([403, '{"error":"Live mode is not enabled"}'])
    const response = await callApi('GET', `/transactions/${charge}/refunds`, undefined, live)
    expect([response.status, response.text]).toEqual(NOT_FOUND)
  })

  test('401 for a token that another process revoked, without an effect', async () => {
    const charge = await payCharge()
    const path = `/transactions/${charge}/refunds`
    const tokenOptions = { accountId: merchant.id, mode: 'test' as const, name: 'short-lived' }
    const permissions = [...PERMISSIONS]
    for (const [method, requestPath] of [
      ['POST', path],
      ['GET', path],
      ['GET', `${path}/${newId()}`],
    ] as const) {
      const issued = await issueToken({ ...tokenOptions, permissions }, { type: 'system' })
      const options = { caller: issued.token }
      expect((await callApi('GET', path, undefined, options)).status).toBe(200)
      await db().$executeRaw`UPDATE tokens SET revoked_at = now() WHERE id = ${issued.id}::uuid`
      expect((await callApi(method, requestPath, undefined, options)).status).toBe(401)
    }
    expect((await listRefunds(charge)).body.data).toEqual([])
  })

  test('403 while the account is suspended', async () => {
    const suspended = await makeMerchant()
    const caller = await makeToken(suspended.id)
    const charge = await payCharge({}, caller)
    expect((await refund(charge, { amount: 1 }, { caller })).status).toBe(200)
    await suspendAccount(suspended.id, 'test', { type: 'system' })
    const { status, text } = await refund(charge, { amount: 1 }, { caller })
    expect([status, text]).toEqual([403, '{"error":"Account not active"}'])
    expect(await db().refund.count({ where: { accountId: suspended.id } })).toBe(1)
    await expectBalancedLedger(suspended.id)
  })

  test('405 with Allow for every other method', async () => {
    const path = `/transactions/${newId()}/refunds`
    const wrong = await callApi('DELETE', path)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
    const single = await callApi('POST', `${path}/${newId()}`)
    expect([single.status, single.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

describe('an Idempotency-Key', () => {
  test('replays the first response, byte for byte, whatever happened to the refund since', async () => {
    const charge = await payCharge()
    const key = newId()
    const body = { amount: 500, reason: 'Twice?' }
    const first = await refund(charge, body, { key })
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    await completeRefund({ ...settlement(first.body.data.id), returnId: newId() })
    const replay = await refund(charge, { reason: 'Twice?', amount: 500 }, { key })
    expect([replay.status, replay.text]).toEqual([200, first.text])
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect((await listRefunds(charge)).body.data).toHaveLength(1)
  })

  test('ten concurrent requests with one key make one refund of all that is left', async () => {
    const charge = await payCharge({ amount: 1_000 })
    const key = newId()
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => refund(charge, undefined, { key })),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    const first = responses.filter(({ headers }) => !headers.get('idempotent-replayed'))
    expect(first).toHaveLength(1)
    expect((await listRefunds(charge)).body.data).toHaveLength(1)
  })

  test('422 for another body under the same key', async () => {
    const charge = await payCharge()
    const key = newId()
    await refund(charge, { amount: 100 }, { key })
    const { status, text } = await refund(charge, { amount: 101 }, { key })
    expect(status).toBe(422)
    expect(text).toBe(
      '{"errors":{"Idempotency-Key":["Idempotency-Key was already used with a different body or by another caller: send a new key"]}}',
    )
  })

  test('of a refused refund is not stored: the same request may succeed later', async () => {
    const charge = await openCharge({ amount: 1_000 })
    const key = newId()
    expect((await refund(charge, { amount: 1 }, { key })).status).toBe(409)
    await callApi('POST', `/sandbox/transactions/${charge}`, { outcome: 'paid' })
    const { status, headers } = await refund(charge, { amount: 1 }, { key })
    expect([status, headers.get('idempotent-replayed')]).toEqual([200, null])
  })

  test('belongs to one charge: the same key on another charge creates another refund', async () => {
    const key = newId()
    const [charge, otherCharge] = [await payCharge(), await payCharge()]
    const first = await refund(charge, { amount: 1 }, { key })
    const second = await refund(otherCharge, { amount: 1 }, { key })
    expect(second.body.data.transaction_id).toBe(otherCharge)
    expect(second.body.data.id).not.toBe(first.body.data.id)
  })

  test('is stored for 30 days', async () => {
    const key = newId()
    await refund(await payCharge(), { amount: 1 }, { key })
    const stored = await db().idempotencyKey.findFirstOrThrow({ where: { key } })
    expect(Number(stored.expiresAt) - Number(stored.createdAt)).toBe(30 * 86_400_000)
  })
})

const DETAIL_FIELDS = [
  'id',
  'transaction_id',
  'amount',
  'status',
  'reason',
  'created_at',
  'mode',
  'rejection_reason',
  'rejection_code',
  'return_id',
  'completed_at',
  'rejected_at',
  'updated_at',
]

describe('GET /transactions/{id}/refunds/{refund_id}', () => {
  test('pending: the fields of the creation and the state', async () => {
    const charge = await payCharge()
    const created = (await refund(charge, { amount: 500, reason: 'Late' })).body.data
    const { status, body } = await readRefund(charge, created.id)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    expect(Object.keys(body.data)).toEqual(DETAIL_FIELDS)
    expect(body.data).toEqual({
      ...created,
      mode: 'test',
      rejection_reason: null,
      rejection_code: null,
      return_id: null,
      completed_at: null,
      rejected_at: null,
      updated_at: created.created_at,
    })
    expect((await readRefund(charge, created.id.toUpperCase())).text).toBe(
      (await readRefund(charge, created.id)).text,
    )
  })

  test('completed: the id of the return; the charge shows what was refunded', async () => {
    const charge = await payCharge({ amount: 1_000 })
    const { id } = (await refund(charge, { amount: 300 })).body.data
    const readCharge = async () => (await callApi('GET', `/transactions/${charge}`)).body.data
    expect(await readCharge()).toMatchObject({ status: 'paid', refunded_amount: 0 })
    await completeRefund({ ...settlement(id), returnId: `D${id}` })
    const { data } = (await readRefund(charge, id)).body
    expect(data).toMatchObject({
      status: 'completed',
      return_id: `D${id}`,
      completed_at: expect.stringMatching(MICROSECONDS),
      rejected_at: null,
    })
    expect(await readCharge()).toMatchObject({ status: 'paid', refunded_amount: 300 })
  })

  test('rejected: the reason; the charge can be refunded again', async () => {
    const charge = await payCharge({ amount: 1_000 })
    const before = await readBalance()
    const { id } = (await refund(charge)).body.data
    await rejectRefund({ ...settlement(id), reason: REFUSAL })
    expect((await readRefund(charge, id)).body.data).toMatchObject({
      status: 'rejected',
      rejection_reason: 'Refused',
      rejected_at: expect.stringMatching(MICROSECONDS),
      completed_at: null,
      return_id: null,
    })
    expect(await readBalance()).toBe(before)
    expect((await refund(charge)).status).toBe(200)
  })

  test('404 for a refund of another charge or account and for an unknown one', async () => {
    const [charge, other] = [await payCharge(), await payCharge()]
    const { id } = (await refund(other, { amount: 1 })).body.data
    for (const missing of [id, newId(), 'nothing', charge, id.replaceAll('-', '')]) {
      const { status, text, headers } = await readRefund(charge, missing)
      expect([status, text]).toEqual([404, '{"error":"Refund not found"}'])
      expect(headers.get('x-error-code')).toBe('refund_not_found')
    }
    const caller = await makeToken((await makeMerchant()).id)
    const path = `/transactions/${other}/refunds`
    for (const requestPath of [path, `${path}/${id}`]) {
      const { status, text } = await callApi('GET', requestPath, undefined, { caller })
      expect([status, text]).toEqual(NOT_FOUND)
    }
    expect((await readRefund(newId(), id)).text).toBe(NOT_FOUND[1])
  })
})

describe('GET /transactions/{id}/refunds', () => {
  test('200 newest first, in pages, each refund as its own GET returns it', async () => {
    const charge = await payCharge({ amount: 1_000 })
    const other = await payCharge()
    await refund(other, { amount: 1 })
    const ids: string[] = []
    for (let count = 0; count < 5; count++) {
      ids.unshift((await refund(charge, { amount: 10 + count })).body.data.id)
    }
    const whole = await listRefunds(charge)
    expect(whole.status).toBe(200)
    expect(Object.keys(whole.body)).toEqual(['data', 'next_cursor'])
    expect(whole.body.data.map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(whole.body.next_cursor).toBeNull()
    expect(Object.keys(whole.body.data[0])).toEqual(DETAIL_FIELDS)
    expect(whole.body.data[0]).toEqual((await readRefund(charge, ids[0] ?? '')).body.data)

    const seen: string[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const { body } = await listRefunds(charge, `?limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(ids)
    expect(cursor).toBeNull()
  })

  test('200 with an empty list for a charge without refunds, paid or not', async () => {
    for (const charge of [await payCharge(), await openCharge()]) {
      expect((await listRefunds(charge)).text).toBe('{"data":[],"next_cursor":null}')
    }
  })

  test('GET /refunds lists those of all charges of the account, newest first', async () => {
    const ids: string[] = []
    for (let count = 0; count < 3; count++) {
      const charge = await payCharge({ amount: 1_000 })
      ids.unshift((await refund(charge, { amount: 100 })).body.data.id)
    }
    await completeRefund({ ...settlement(ids[1] ?? ''), returnId: newId() })
    const idsOf = async (query: string) => {
      const { status, body } = await call(api.url, 'GET', `/refunds${query}`, { token })
      expect(status).toBe(200)
      return body.data.map(({ id }: { id: string }) => id)
    }
    expect(await idsOf('?limit=3')).toEqual(ids)
    expect(await idsOf(`?limit=1&cursor=${ids[0]}`)).toEqual([ids[1]])
    expect(await idsOf('?status=completed&limit=1')).toEqual([ids[1]])
    const stranger = await makeToken((await makeMerchant()).id)
    const other = await call(api.url, 'GET', '/refunds', { token: stranger })
    expect(other.text).toBe('{"data":[],"next_cursor":null}')
  })

  test('filters by status and time, and refuses filters that refunds do not have', async () => {
    const charge = await payCharge({ amount: 1_000 })
    const ids: string[] = []
    for (let count = 0; count < 3; count++) {
      ids.push((await refund(charge, { amount: 1 })).body.data.id)
    }
    const [completed = '', rejected = '', pending = ''] = ids
    await completeRefund({ ...settlement(completed), returnId: newId() })
    await rejectRefund({ ...settlement(rejected), reason: REFUSAL })
    for (const [query, expected] of [
      ['?status=completed', [completed]],
      ['?status=rejected', [rejected]],
      ['?status=pending', [pending]],
      ['?created_from=2026-01-01', ids.toReversed()],
      ['?created_to=2026-01-01', []],
    ] as const) {
      const { body } = await listRefunds(charge, query)
      expect(
        body.data?.map(({ id }: { id: string }) => id),
        query,
      ).toEqual(expected)
    }
    const { status, body } = await listRefunds(charge, '?external_id=x&q=y')
    expect([status, Object.keys(body.errors)]).toEqual([422, ['external_id', 'q']])
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['status=paid', 'status'],
    ['cursor=next', 'cursor'],
    ['created_from=yesterday', 'created_from'],
  ])('422 for ?%s', async (query, field) => {
    const { status, body } = await listRefunds(await payCharge(), `?${query}`)
    expect(status).toBe(422)
    expect(Object.keys(body.errors)).toEqual([field])
  })

  test('404 for an unknown charge', async () => {
    const { status, text } = await listRefunds(newId())
    expect([status, text]).toEqual(NOT_FOUND)
  })
})

describe('GET /events', () => {
  test('has the charge as it was at that time, and the refund', async () => {
    const other = await makeMerchant()
    await fundMerchant(other, 10_000)
    const caller = await makeToken(other.id)
    const charge = await payCharge({ amount: 1_000 }, caller)
    const owner = { accountId: other.id }
    const first = (await refund(charge, { amount: 300 }, { caller })).body.data
    await completeRefund({ ...owner, refundId: first.id, returnId: `D${first.id}` })
    const second = (await refund(charge, { reason: 'Late' }, { caller })).body.data
    await rejectRefund({ ...owner, refundId: second.id, reason: REFUSAL })
    const { body } = await callApi('GET', '/events?after=2', undefined, { caller })
    const [refunded, failed, ...rest] = body.data
    expect(rest).toEqual([])
    const get = async (path: string) =>
      (await callApi('GET', path, undefined, { caller })).body.data
    const current = await get(`/transactions/${charge}`)
    const common = { mode: 'test', id: expect.stringMatching(UUID) }
    const anyTime = expect.stringMatching(MICROSECONDS)
    expect(refunded).toEqual({
      ...common,
      type: 'transaction.refunded',
      event: 'refunded',
      sequence: 3,
      created_at: anyTime,
      transaction: { ...current, updated_at: anyTime },
      refund: await get(`/transactions/${charge}/refunds/${first.id}`),
    })
    expect(refunded.transaction.refunded_amount).toBe(300)
    expect(failed).toEqual({
      ...common,
      type: 'transaction.refund_failed',
      event: 'refund_failed',
      sequence: 4,
      created_at: anyTime,
      transaction: current,
      refund: await get(`/transactions/${charge}/refunds/${second.id}`),
    })
    await expectBalancedLedger(other.id)
  })
})
