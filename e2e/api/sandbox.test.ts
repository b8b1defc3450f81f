import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
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
import { LISTS, WITHDRAWAL } from '#lib/testing/lists.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'

const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

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

const callApi = (method: string, path: string, body?: unknown, caller = token) =>
  call(api.url, method, path, { token: caller, body })
const readBalance = async () => (await callApi('GET', '/account')).body.balance
const countEvents = () => db().event.count({ where: { accountId: merchant.id } })

async function create(path: string, extra: object = {}): Promise<string> {
  const order = path === '/transactions' ? CHARGE : WITHDRAWAL
  const { data } = (await callApi('POST', path, { ...order, ...extra })).body
  return data.transaction_id ?? data.id
}

describe('POST /sandbox/transactions/{id}', () => {
  test.each([
    ['paid', CHARGE.amount],
    ['failed', 0],
    ['expired', 0],
  ])('%s: returns the charge, with one event and %i cents more', async (outcome, gain) => {
    const id = await create('/transactions')
    const [before, events] = [await readBalance(), await countEvents()]
    const { status, body } = await callApi('POST', `/sandbox/transactions/${id}`, { outcome })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['status', 'data'])
    expect(body).toEqual((await callApi('GET', `/transactions/${id}`)).body)
    expect(body.data.status).toBe(outcome)
    expect(await readBalance()).toBe(before + gain)
    expect(await countEvents()).toBe(events + 1)
  })

  test('a payment overrides an expiry and a failure', async () => {
    for (const outcome of ['expired', 'failed']) {
      const id = await create('/transactions')
      const before = await readBalance()
      await callApi('POST', `/sandbox/transactions/${id}`, { outcome })
      const { status, body } = await callApi('POST', `/sandbox/transactions/${id}`, {
        outcome: 'paid',
      })
      expect([status, body.data.status]).toEqual([200, 'paid'])
      expect(await readBalance()).toBe(before + CHARGE.amount)
    }
  })

  test('of twenty concurrent payments one succeeds', async () => {
    const id = await create('/transactions')
    const before = await readBalance()
    const responses = await Promise.all(
      Array.from({ length: 20 }, () =>
        callApi('POST', `/sandbox/transactions/${id}`, { outcome: 'paid' }),
      ),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(19)
    expect(await readBalance()).toBe(before + CHARGE.amount)
  })

  test('a charge that will fail by itself can be failed before, but only once', async () => {
    const id = await create('/transactions', { client_email: 'fail@example.com' })
    const failed = await callApi('POST', `/sandbox/transactions/${id}`, { outcome: 'failed' })
    expect(failed.body.data.status).toBe('failed')
    expect(
      (await callApi('POST', `/sandbox/transactions/${id}`, { outcome: 'failed' })).status,
    ).toBe(409)
  })
})

describe('POST /sandbox/withdrawals/{id}', () => {
  test('approved: the amount is gone; the withdrawal has its time and end-to-end id', async () => {
    const before = await readBalance()
    const id = await create('/withdrawals', { amount: 3_000 })
    const events = await countEvents()
    const { status, body } = await callApi('POST', `/sandbox/withdrawals/${id}`, {
      outcome: 'approved',
    })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    expect(body).toEqual((await callApi('GET', `/withdrawals/${id}`)).body)
    expect(body.data).toMatchObject({
      status: 'approved',
      approved_at: expect.stringMatching(MICROSECONDS),
      end_to_end_id: expect.stringMatching(/^[0-9A-Za-z]{32}$/),
      rejected_at: null,
      rejection_reason: null,
    })
    expect(await readBalance()).toBe(before - 3_000)
    expect(await countEvents()).toBe(events + 1)
  })

  test.each([
    [undefined, 'Rejected at the simulated bank'],
    ['Key not found', 'Key not found'],
    ['  ção 😀 ', 'ção 😀'],
  ])('rejected: the amount is back, with the reason %j', async (reason, expectedReason) => {
    const before = await readBalance()
    const id = await create('/withdrawals', { amount: 3_000 })
    const sent = { outcome: 'rejected', reason }
    const { status, body } = await callApi('POST', `/sandbox/withdrawals/${id}`, sent)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      status: 'rejected',
      rejection_reason: expectedReason,
      rejected_at: expect.stringMatching(MICROSECONDS),
      approved_at: null,
    })
    expect(await readBalance()).toBe(before)
  })

  test('of twenty concurrent approvals and rejections one succeeds', async () => {
    const before = await readBalance()
    const id = await create('/withdrawals')
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        callApi('POST', `/sandbox/withdrawals/${id}`, {
          outcome: index % 2 ? 'approved' : 'rejected',
        }),
      ),
    )
    const succeeded = responses.filter(({ status }) => status === 200)
    expect(succeeded).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(19)
    const { status } = (await callApi('GET', `/withdrawals/${id}`)).body.data
    expect(status).toBe(succeeded[0]?.body.data.status)
    expect(await readBalance()).toBe(status === 'approved' ? before - WITHDRAWAL.amount : before)
  })
})

describe.each([
  { path: '/transactions', kind: 'Transaction', final: ['paid'], outcomes: ['paid', 'failed'] },
  {
    path: '/withdrawals',
    kind: 'Withdrawal',
    final: ['approved', 'rejected'],
    outcomes: ['approved', 'rejected'],
  },
])('POST /sandbox$path/{id}', ({ path, kind, final, outcomes }) => {
  const simulateOutcome = (id: string, body: unknown, caller = token) =>
    callApi('POST', `/sandbox${path}/${id}`, body, caller)

  test('409 for a final object, without an effect', async () => {
    for (const first of final) {
      const id = await create(path)
      expect((await simulateOutcome(id, { outcome: first })).status).toBe(200)
      const [before, events] = [await readBalance(), await countEvents()]
      for (const outcome of outcomes) {
        const { status, text, headers } = await simulateOutcome(id, { outcome })
        expect([status, text]).toEqual([409, `{"error":"${kind} is already ${first}"}`])
        expect(headers.get('x-error-code')).toBe('already_final')
      }
      expect([await readBalance(), await countEvents()]).toEqual([before, events])
    }
  })

  test('accepts the external_id in place of the id', async () => {
    const external_id = `mine / ${newId()}?`
    const id = await create(path, { external_id })
    const { status, body } = await simulateOutcome(encodeURIComponent(external_id), {
      outcome: outcomes[1],
    })
    expect([status, body.data.id]).toEqual([200, id])
  })

  test('404 for an object of another account as for an unknown one, without an effect', async () => {
    const id = await create(path)
    const stranger = await makeToken((await makeMerchant()).id)
    const responses = [await simulateOutcome(id, { outcome: outcomes[0] }, stranger)]
    for (const missing of [newId(), 'nobody', '%F0%9F%98%80']) {
      responses.push(await simulateOutcome(missing, { outcome: outcomes[0] }))
    }
    for (const { status, text } of responses) {
      expect([status, text]).toEqual([404, `{"error":"${kind} not found"}`])
    }
    const misspelled = await simulateOutcome(id, { outcome: outcomes[0], Reason: 'x' })
    expect([misspelled.status, Object.keys(misspelled.body.errors)]).toEqual([422, ['Reason']])
    expect((await callApi('GET', `${path}/${id}`)).body.data.status).toBe('pending')
  })

  test('cannot decide a live object', async () => {
    const list = LISTS.find(one => one.path === path)
    const live = await list?.insert(merchant.id, { mode: 'live' })
    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const all = { ...tokenOptions, permissions: [...PERMISSIONS] }
    const { token: caller } = await issueToken(all, { type: 'system' })
    const id = live?.id ?? ''
    const liveResponse = await simulateOutcome(id, { outcome: outcomes[0] }, caller)
    expect([liveResponse.status, liveResponse.text]).toEqual([
      403,
      '{"error":"Live mode is not enabled"}',
    ])
    expect((await simulateOutcome(id, { outcome: outcomes[0] })).status).toBe(404)
    expect((await callApi('GET', `${path}/${id}`, undefined, caller)).body.data.status).toBe(
      'pending',
    )
    // Inserted without a ledger entry: it must not be part of the balance check.
    await db().withdrawal.deleteMany({ where: { id } })
  })

  test('requires one of two permissions; a token with neither gets 403 naming both', async () => {
    const writes: Permission[] = ['transactions:write', 'withdrawals:write']
    for (const permission of writes) {
      const caller = await makeToken(merchant.id, { permissions: [permission] })
      const id = await create(path)
      expect((await simulateOutcome(id, { outcome: outcomes[1] }, caller)).status).toBe(200)
    }
    const permissions = PERMISSIONS.filter(name => !writes.includes(name))
    const { status, text, headers } = await simulateOutcome(
      newId(),
      { outcome: outcomes[0] },
      await makeToken(merchant.id, { permissions }),
    )
    const permissionText = 'transactions:write or withdrawals:write'
    expect([status, text]).toEqual([403, `{"error":"Permission denied: ${permissionText}"}`])
    expect(headers.get('x-required-permission')).toBe(permissionText)
  })

  test('422 for an unknown outcome or an invalid reason, without an effect', async () => {
    const id = await create(path)
    for (const body of [undefined, {}]) {
      const { status, text } = await simulateOutcome(id, body)
      expect([status, text]).toEqual([422, '{"errors":{"outcome":["outcome is required"]}}'])
    }
    for (const outcome of [null, '', 'refunded', 'PAID', 'pending', 1, true, [outcomes[0]], {}]) {
      const { status, body } = await simulateOutcome(id, { outcome })
      expect([status, Object.keys(body.errors)]).toEqual([422, ['outcome']])
      expect(body.errors.outcome[0]).toMatch(/^outcome must be /)
    }
    if (path === '/withdrawals') {
      for (const reason of ['x'.repeat(256), 7, '   ', '', null]) {
        const { status, body } = await simulateOutcome(id, { outcome: 'rejected', reason })
        expect([status, Object.keys(body.errors)]).toEqual([422, ['reason']])
      }
    }
    expect((await callApi('GET', `${path}/${id}`)).body.data.status).toBe('pending')
  })
})
