import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { revokeToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

const ACTOR = { type: 'system' } as const
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const WITHDRAWAL = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  await fundMerchant(merchant, 100_000_000)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const post = (body: unknown, caller: string | null = token) =>
  call(api.url, 'POST', '/withdrawals', { token: caller, body })
const withdraw = (extra: object = {}) => post({ ...WITHDRAWAL, ...extra })
const read = (id: string, caller = token) =>
  call(api.url, 'GET', `/withdrawals/${id}`, { token: caller })
const readBalance = async (caller = token) =>
  (await call(api.url, 'GET', '/account', { token: caller })).body.balance
const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })

describe('POST /withdrawals', () => {
  test('200 with exactly the documented keys in this order', async () => {
    const { status, text, body, headers } = await withdraw({ amount: 2_345 })
    expect(status).toBe(200)
    const { id, created_at } = body.data
    expect(id).toMatch(UUID)
    expect(created_at).toMatch(MICROSECONDS)
    expect(text).toBe(
      `{"message":"Withdrawal created","data":{"id":"${id}","amount":2345,"status":"pending",` +
        `"pix_key_type":"email","pix_key":"hold@example.com","created_at":"${created_at}"}}`,
    )
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('a memo is cleaned, and returned with the withdrawal only: not by its creation', async () => {
    const { body, headers } = await withdraw({ memo: ' Aluguel\nde 3º andar ' })
    expect(Object.keys(body.data)).not.toContain('memo')
    expect(headers.get('x-ignored-fields')).toBe('memo')
    expect((await read(body.data.id)).body.data.memo).toBe('Aluguelde 3º andar')
    const found = await call(api.url, 'GET', '/withdrawals?q=3%C2%BA%20ANDAR', { token })
    expect(found.body.data).toMatchObject([{ id: body.data.id, memo: 'Aluguelde 3º andar' }])
    for (const memo of ['', '  ', null, undefined]) {
      const plain = (await withdraw({ memo })).body.data
      expect((await read(plain.id)).body.data).not.toHaveProperty('memo')
    }
    const count = await countWithdrawals()
    const tooLong = await withdraw({ memo: 'x'.repeat(141) })
    expect([tooLong.status, tooLong.body]).toEqual([
      422,
      { errors: { memo: ['memo must have at most 140 characters'] } },
    ])
    expect(await countWithdrawals()).toBe(count)
  })

  test('created_at is the database’s time in microseconds and never changes', async () => {
    const times: string[] = []
    for (let count = 0; count < 3; count++) {
      const { id, created_at } = (await withdraw()).body.data
      expect((await read(id)).body.data.created_at).toBe(created_at)
      expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000)
      times.push(created_at)
    }
    expect(times.every(time => time.endsWith('000Z'))).toBe(false)
    expect(times).toEqual(times.toSorted())
  })

  test('the amount leaves the available balance at once', async () => {
    const before = await readBalance()
    expect((await withdraw({ amount: 12_345 })).status).toBe(200)
    expect(await readBalance()).toBe(before - 12_345)
    await expectBalancedLedger(merchant.id)
  })

  test('ignores unknown fields, also status, mode, account_id, times and id', async () => {
    const id = newId()
    const forged = { id, status: 'approved', account_id: id, mode: 'live', x: 1 }
    const times = { created_at: '2020-01-01T00:00:00Z', approved_at: '2020-01-01T00:00:00Z' }
    const { data } = (await withdraw({ ...forged, ...times })).body
    expect(data.id).not.toBe(id)
    expect((await read(data.id)).body.data).toMatchObject({
      mode: 'test',
      status: 'pending',
      approved_at: null,
      external_id: null,
    })
    expect(data.created_at > '2026').toBe(true)
  })

  test.each([
    [{ amount: 1_000 }],
    [{ webhook_url: 'http://127.0.0.1:9/hook' }],
    [{ webhook_url: `https://a.example/${'x'.repeat(2048 - 'https://a.example/'.length)}` }],
    [{ external_id: 'x' }],
    [{ external_id: `ação / 😀 #${'x'.repeat(240)}` }],
    [{ webhook_url: null, external_id: '', pix_key_type: null }],
  ])('200 for %j', async extra => {
    expect(await withdraw(extra)).toMatchObject({ status: 200 })
  })

  test.each<[string, unknown, string]>([
    ...[999, 0, -1_000, 1_000_000_000_000, 1_000.5, '1000', true, [1_000], {}, 2 ** 53 + 2].map(
      (amount): [string, unknown, string] => ['amount', amount, ' must '],
    ),
    ['amount', null, ' is required'],
    ['amount', '', ' is required'],
    ['pix_key', null, ' is required'],
    ['pix_key', '', ' is required'],
    ['pix_key', '   ', ' must '],
    ['pix_key', 52_998_224_725, ' must '],
    ['pix_key', ['a@b.co'], ' must '],
    ['pix_key', `${'x'.repeat(72)}@b.com`, ' must have at most 77 characters'],
    ['pix_key_type', 'CPF', ' must be one of cpf, cnpj, email, phone, random'],
    ['pix_key_type', 'iban', ' must be one of cpf, cnpj, email, phone, random'],
    ['pix_key_type', 1, ' must be one of cpf, cnpj, email, phone, random'],
    ['webhook_url', 'hook', ' must '],
    ['webhook_url', 'ftp://a.example/', ' must '],
    ['webhook_url', ` https://a.example/`, ' must '],
    ['webhook_url', `https://a.example/${'x'.repeat(2048)}`, ' must '],
    ['webhook_url', 1, ' must '],
    ['external_id', 'x'.repeat(256), ' must '],
    ['external_id', 'a\nb', ' must '],
    ['external_id', ' ', ' must '],
    ['external_id', '0190a8f0-0000-7000-8000-00000000000A', ' must '],
    ['external_id', 4711, ' must '],
  ])(
    '422 naming only the field for %s = %j, without an effect',
    async (field, value, ruleStart) => {
      const before = await countWithdrawals()
      const { status, body, headers } = await withdraw({ [field]: value })
      expect(status).toBe(422)
      expect(Object.keys(body)).toEqual(['errors'])
      expect(Object.keys(body.errors)).toEqual([field])
      expect(body.errors[field]).toHaveLength(1)
      expect(body.errors[field][0].startsWith(field + ruleStart)).toBe(true)
      expect(headers.get('x-error-code')).toBe('invalid_input')
      expect(await countWithdrawals()).toBe(before)
    },
  )

  test('422 for an empty or missing body names amount and pix_key only', async () => {
    const text = '{"errors":{"amount":["amount is required"],"pix_key":["pix_key is required"]}}'
    for (const body of [{}, undefined]) {
      const response = await post(body)
      expect([response.status, response.text]).toEqual([422, text])
    }
  })

  test('422 names all invalid fields at once', async () => {
    const { status, body } = await post({
      amount: 1,
      pix_key: 7,
      pix_key_type: 'iban',
      webhook_url: 'hook',
      external_id: newId(),
    })
    expect(status).toBe(422)
    const fields = ['amount', 'pix_key', 'pix_key_type', 'webhook_url', 'external_id']
    expect(Object.keys(body.errors)).toEqual(fields)
    const response = await post({ amount: 1, pix_key: 'nobody', pix_key_type: 'cpf' })
    expect(response.body.errors).toMatchObject({ amount: [/./], pix_key: [/CPF/] })
  })

  test('a withdrawal above the balance is 422 insufficient_balance and holds nothing', async () => {
    const poor = await makeMerchant()
    await fundMerchant(poor, 1_999)
    const caller = await makeToken(poor.id)
    for (const amount of [2_000, 999_999_999_999]) {
      const { status, text, headers } = await post({ ...WITHDRAWAL, amount }, caller)
      expect([status, text]).toEqual([422, '{"errors":{"amount":["Insufficient balance"]}}'])
      expect(headers.get('x-error-code')).toBe('insufficient_balance')
    }
    expect(await readBalance(caller)).toBe(1_999)
    const where = { accountId: poor.id }
    expect(await db().withdrawal.count({ where })).toBe(0)
    expect(await db().ledgerTransfer.count({ where: { ...where, kind: 'withdrawal_held' } })).toBe(
      0,
    )
    expect((await post({ ...WITHDRAWAL, amount: 1_999 }, caller)).status).toBe(200)
    expect(await readBalance(caller)).toBe(0)
    await expectBalancedLedger(poor.id)
  })

  test('of thirty concurrent withdrawals over a balance for ten, ten succeed', async () => {
    const poor = await makeMerchant()
    await fundMerchant(poor, 10_500)
    const caller = await makeToken(poor.id)
    const responses = await Promise.all(Array.from({ length: 30 }, () => post(WITHDRAWAL, caller)))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10)
    const refused = responses.filter(({ status }) => status !== 200).map(({ text }) => text)
    expect(new Set(refused)).toEqual(new Set(['{"errors":{"amount":["Insufficient balance"]}}']))
    expect(await readBalance(caller)).toBe(500)
    await expectBalancedLedger(poor.id)
  })

  test('409 for a used external_id holds nothing; other accounts may use it', async () => {
    const external_id = 'payroll 1/2 #3'
    expect((await withdraw({ external_id })).status).toBe(200)
    const before = await readBalance()
    const again = await withdraw({ external_id })
    expect([again.status, again.text]).toEqual([409, '{"error":"external_id already used"}'])
    expect(again.headers.get('x-error-code')).toBe('external_id_used')
    expect(await readBalance()).toBe(before)
    const other = await makeMerchant()
    await fundMerchant(other, 1_000)
    expect((await post({ ...WITHDRAWAL, external_id }, await makeToken(other.id))).status).toBe(200)
  })

  test('503 from a bank that is down holds nothing and frees the external_id', async () => {
    const [rows, before] = [await countWithdrawals(), await readBalance()]
    const request = { pix_key: 'unavailable@example.com', external_id: 'once-more' }
    const { status, text, headers } = await withdraw(request)
    expect([status, text]).toEqual([503, '{"error":"Service unavailable"}'])
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect([await countWithdrawals(), await readBalance()]).toEqual([rows, before])
    expect((await withdraw({ external_id: 'once-more' })).status).toBe(200)
  })

  test('401 without a token and with a revoked token', async () => {
    const tokenOptions = { accountId: merchant.id, mode: 'test' as const, name: 'leaked' }
    const leaked = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    await revokeToken(leaked.id, 'leaked', ACTOR)
    for (const caller of [null, leaked.token]) {
      const { status, text, headers } = await post(WITHDRAWAL, caller)
      expect([status, text]).toEqual([401, '{"error":"Unauthenticated"}'])
      expect(headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('403 without the permission, for a suspended account and in live mode without a bank', async () => {
    const permissions = PERMISSIONS.filter(name => name !== 'withdrawals:write')
    const reader = await post(WITHDRAWAL, await makeToken(merchant.id, { permissions }))
    const denied = '{"error":"Permission denied: withdrawals:write"}'
    expect([reader.status, reader.text]).toEqual([403, denied])
    expect(reader.headers.get('x-required-permission')).toBe('withdrawals:write')

    const suspended = await makeMerchant()
    await fundMerchant(suspended, 5_000)
    const caller = await makeToken(suspended.id)
    await suspendAccount(suspended.id, 'test', ACTOR)
    const suspendedResponse = await post(WITHDRAWAL, caller)
    expect([suspendedResponse.status, suspendedResponse.text]).toEqual([
      403,
      '{"error":"Account not active"}',
    ])

    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const live = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    const liveResponse = await post(WITHDRAWAL, live.token)
    expect([liveResponse.status, liveResponse.text]).toEqual([
      403,
      '{"error":"Live mode is not enabled"}',
    ])
    await expectBalancedLedger(suspended.id)
  })
})

describe('GET /withdrawals/{id}', () => {
  test('200 with the fields of the creation first, by id and by external_id', async () => {
    const sent = { external_id: 'wage/7 ção', webhook_url: 'https://example.com/hook?a=1' }
    const created = (await withdraw(sent)).body.data
    const { status, body, text } = await read(created.id)
    expect(status).toBe(200)
    const updated_at = body.data.updated_at
    expect(updated_at).toMatch(MICROSECONDS)
    const rest = {
      returned_amount: 0,
      rejection_reason: null,
      rejection_code: null,
      awaiting: 'balance_window',
      end_to_end_id: null,
      approved_at: null,
    }
    expect(body).toEqual({
      data: { ...created, ...sent, mode: 'test', ...rest, rejected_at: null, updated_at },
    })
    expect(Object.keys(body.data).slice(0, 6)).toEqual(Object.keys(created))
    expect((await read(encodeURIComponent(sent.external_id))).text).toBe(text)
    expect((await read(created.id.toUpperCase())).text).toBe(text)
  })

  test('404 is the same for a withdrawal of another account or mode and for an unknown id', async () => {
    const other = await makeMerchant()
    await fundMerchant(other, 1_000)
    const foreign = (await post(WITHDRAWAL, await makeToken(other.id))).body.data.id
    const ownId = (await withdraw()).body.data.id
    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const live = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    const responses = [await read(ownId, live.token)]
    for (const id of [foreign, newId(), 'nobody', ownId.replaceAll('-', ''), '%F0%9F%98%80']) {
      responses.push(await read(id))
    }
    for (const { status, text, headers } of responses) {
      expect([status, text]).toEqual([404, '{"error":"Withdrawal not found"}'])
      expect(headers.get('x-error-code')).toBe('withdrawal_not_found')
    }
  })
})
