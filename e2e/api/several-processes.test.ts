import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { storeRequests } from '#lib/http/request-log.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { revokeToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

const ACTOR = { type: 'system' } as const

let api: Api
let secondProcess: ApiProcess
let merchant: Account
let token: string
beforeAll(async () => {
  api = await startApi()
  secondProcess = await startApiProcess()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  await fundMerchant(merchant, 1_000_000)
  token = await makeToken(merchant.id)
})
afterAll(async () => {
  await secondProcess.close()
  await api.close()
})

const processUrl = (index: number) => (index % 2 === 0 ? api.url : secondProcess.url)
const post = (url: string, path: string, key: string, body: unknown) =>
  call(url, 'POST', path, { token, key, body })
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotent-replayed') === 'true'

describe('one key in two processes', () => {
  const countCharges = () => db().charge.count({ where: { accountId: merchant.id } })
  const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })
  const countEvents = () => db().event.count({ where: { accountId: merchant.id } })

  test.each([
    ['a charge', async () => '/transactions', CHARGE, countCharges],
    ['a withdrawal', async () => '/withdrawals', WITHDRAWAL, countWithdrawals],
    [
      'a decision',
      async () => `/sandbox/transactions/${(await openCharge(merchant)).id}`,
      { outcome: 'expired' },
      countEvents,
    ],
  ])(
    '%s: forty concurrent requests act once, and both processes replay the same response',
    async (_, pathOf, body, count) => {
      const path = await pathOf()
      const [key, before] = [newId(), await count()]
      const responses = await Promise.all(
        Array.from({ length: 40 }, (_none, index) => post(processUrl(index), path, key, body)),
      )
      responses.push(
        await post(api.url, path, key, body),
        await post(secondProcess.url, path, key, body),
      )
      const [first] = responses
      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(
        new Set([`200 ${first?.text}`]),
      )
      expect(responses.filter(response => !isReplay(response))).toHaveLength(1)
      expect(await count()).toBe(before + 1)
      await expectBalancedLedger(merchant.id)
    },
  )

  test('with two bodies: one acts, and the other is refused', async () => {
    const key = newId()
    const bodies = [CHARGE, { ...CHARGE, amount: 777 }]
    const responses = await Promise.all(
      bodies.map((body, index) => post(processUrl(index), '/transactions', key, body)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 422])
  })

  /** `killed-keys` tries each operation, killed before and after its effect. */
  testInTorture.each([
    ['/transactions', CHARGE],
    ['/withdrawals', WITHDRAWAL],
  ])('after a process is killed, %s repeated on another one exists once', async (path, body) => {
    const killedProcess = await startApiProcess()
    const keys = Array.from({ length: 60 }, () => newId())
    const responseTexts = new Map<string, string>()
    const requests = keys.map(async key => {
      const response = await post(killedProcess.url, path, key, body).catch(() => null)
      if (response?.status === 200) responseTexts.set(key, response.text)
      if (responseTexts.size === 10) await killedProcess.close()
    })
    await Promise.all(requests)
    expect(responseTexts.size).toBeGreaterThanOrEqual(10)

    const where = { accountId: merchant.id }
    const again = await Promise.all(keys.map(key => post(api.url, path, key, body)))
    expect(again.filter(({ status }) => status !== 200)).toEqual([])
    for (const [index, key] of keys.entries()) {
      if (responseTexts.has(key)) expect(again[index]?.text).toBe(responseTexts.get(key))
    }
    const charges = await db().charge.count({ where: { ...where, status: 'pending' } })
    const withdrawals = await db().withdrawal.count({ where })
    expect(path === '/transactions' ? charges : withdrawals).toBe(60)
    await expectBalancedLedger(merchant.id)
  })
})

describe('the log of requests', () => {
  const read = (url: string) => call(url, 'GET', '/account', { token })
  const listLogged = async () => {
    await storeRequests()
    return (await call(api.url, 'GET', '/requests', { token })).body.data
  }

  // Other tests of this process may have filled its buffer.
  beforeEach(storeRequests)

  test('contains what each process served', async () => {
    for (const index of [0, 1, 0, 1]) await read(processUrl(index))
    await expect.poll(async () => (await listLogged()).length).toBe(4)
  })

  testInTorture(
    'loses at most the last batch of a killed process, and no caller notices',
    async () => {
      const killedProcess = await startApiProcess()
      const statuses: number[] = []
      const send = async (count: number) => {
        for (let sent = 0; sent < count; sent++)
          statuses.push((await read(killedProcess.url)).status)
      }
      await send(5)
      await expect.poll(async () => (await listLogged()).length).toBe(5)
      await send(3)
      await killedProcess.close()
      await read(api.url)
      const logged = (await listLogged()).length
      expect(statuses).toEqual(Array(8).fill(200))
      expect(logged).toBeGreaterThanOrEqual(6)
      expect(logged).toBeLessThanOrEqual(9)
    },
  )
})

describe('a change in one process applies to the next request in the other:', () => {
  const read = (index: number) => call(processUrl(index), 'GET', '/account', { token })
  const create = (index: number) =>
    call(processUrl(index), 'POST', '/transactions', { token, body: CHARGE })
  const requestBoth = async (request: (index: number) => Promise<ApiResponse>) => [
    (await request(0)).status,
    (await request(1)).status,
  ]

  test('a revoked token', async () => {
    const tokenOptions = { accountId: merchant.id, mode: 'test' as const, name: 'leaked' }
    const leaked = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
    token = leaked.token
    for (const request of [read, create, read, create])
      expect(await requestBoth(request)).toEqual([200, 200])
    await revokeToken(leaked.id, 'leaked', ACTOR)
    for (const request of [create, read]) expect(await requestBoth(request)).toEqual([401, 401])
  })

  test('a suspended account', async () => {
    for (const request of [read, create, read, create])
      expect(await requestBoth(request)).toEqual([200, 200])
    await suspendAccount(merchant.id, 'test', ACTOR)
    for (const request of [create, read]) expect(await requestBoth(request)).toEqual([403, 403])
  })

  test('a changed balance', async () => {
    const balances: number[] = []
    for (let index = 0; index < 6; index++) {
      await call(processUrl(index), 'POST', '/withdrawals', { token, body: WITHDRAWAL })
      balances.push((await read(index + 1)).body.balance)
    }
    expect(balances).toEqual([1, 2, 3, 4, 5, 6].map(times => 1_000_000 - times * WITHDRAWAL.amount))
    await expectBalancedLedger(merchant.id)
  })
})
