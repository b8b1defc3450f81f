import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { payWelcomeCharge, simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { type DayReceived, type Home, HomeRead, StepsRead } from '#lib/dashboard/wire.ts'
import { db } from '#lib/db/client.ts'
import { checkLedger } from '#lib/ledger/check.ts'
import { call } from '#lib/testing/call.ts'
import { withOwner } from '#lib/testing/database.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, signIn } from '#lib/testing/member.ts'

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'viewer')
})
afterAll(() => api.close())

const callApi = (path: string) =>
  call(api.url, 'GET', path, { headers: pageHeaders(secret, merchant.id) })

async function readHome(query = ''): Promise<Home> {
  const { status, body } = await callApi(`/dashboard/home${query}`)
  expect(status).toBe(200)
  expectShape(HomeRead, body)
  return body.data
}

async function payAt(moment: string, amount = 1_000): Promise<void> {
  const { id: chargeId } = await openCharge(merchant, amount)
  const paidAt = new Date(moment)
  const payment = { accountId: merchant.id, chargeId, amount, paidAt, bookedAt: paidAt }
  await settleCharges([{ ...payment, endToEndId: newEndToEndId(paidAt) }])
}

const paidDays = (days: DayReceived[]) => days.filter(({ count }) => count > 0)

test('a new account shows zeros and every day of the chart', async () => {
  const home = await readHome()
  expect(home).toMatchObject({
    balance: { available: 0, outbound: 0, held: { withdrawals: 0, refunds: 0 } },
    received: { today: { amount: 0, count: 0 }, month: { amount: 0, count: 0 } },
    conversion: null,
    median_seconds: null,
    webhooks: null,
    books: null,
    charges: [],
  })
  expect(home.days).toHaveLength(30)
  expect(new Set(home.days.map(({ amount }) => amount))).toEqual(new Set([0]))
})

/** Returns a time zone in which it is about noon: no day or month ends during the test. */
function findNoonZone(): string {
  const ahead = 12 - new Date().getUTCHours()
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`
}

test('shows amounts received, conversion and the number of held withdrawals', async () => {
  await db().account.update({ where: { id: merchant.id }, data: { timeZone: findNoonZone() } })
  await fundMerchant(merchant, 5_000)
  await fundMerchant(merchant, 7_000)
  for (const outcome of ['expired', 'failed'] as const) {
    await simulateCharge(merchant.id, (await openCharge(merchant)).id, outcome)
  }
  const pending = await openCharge(merchant)
  const token = await makeToken(merchant.id)
  const order = { amount: 2_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
  await call(api.url, 'POST', '/withdrawals', { token, body: order })
  const home = await readHome()
  expect(home).toMatchObject({
    balance: { available: 10_000, outbound: 2_000, held: { withdrawals: 1, refunds: 0 } },
    received: {
      today: { amount: 12_000, count: 2 },
      week: { amount: 12_000, count: 2 },
      month: { amount: 12_000, count: 2 },
    },
    conversion: 0.5,
  })
  expect(home.median_seconds).toBeLessThan(60)
  expect(home.charges).toHaveLength(5)
  expect(home.charges[0]).toMatchObject({ id: pending.id, status: 'pending', amount: 1_500 })
  expect(JSON.stringify(home)).not.toContain('ana@example.com')
  const paid = { accountId: merchant.id, status: 'paid', amount: 5_000n }
  await db().charge.updateMany({ where: paid, data: { externalId: 'welcome' } })
  expect((await readHome()).conversion).toBeCloseTo(1 / 3)
  await expectBalancedLedger(merchant.id)
})

test('figures of a merchant with 50,000 payments are read anew every 30 s, those of today always', async () => {
  await db().account.update({ where: { id: merchant.id }, data: { timeZone: findNoonZone() } })
  await withOwner(
    owner => owner.$executeRaw`
    INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code, client_name,
      client_email, client_doc, expires_at, created_at, paid_at)
    SELECT ${merchant.id}::uuid, (substr(${newId()}, 1, 24) || lpad(to_hex(n), 12, '0'))::uuid,
      'test', 'paid', 1000, n, n, '-', 'Ana', 'ana@example.com', '52998224725', now(), now() - interval '2 days',
      now() - interval '2 days'
    FROM generate_series(1, 50000) n`,
  )
  const counts = async () => {
    const { received, conversion } = await readHome()
    return [received.today.count, received.month.count, conversion]
  }
  expect(await counts()).toEqual([0, 50_000, 1])
  await fundMerchant(merchant, 5_000)
  await payAt(new Date(Date.now() - 2 * 86_400_000).toISOString())
  expect(await counts()).toEqual([1, 50_001, 1])
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 31_000)
  expect(await counts()).toEqual([1, 50_002, 1])
  clock.mockRestore()
}, 60_000)

test('withdrawals that the bank keeps waiting are counted; those of a second member are not', async () => {
  await fundMerchant(merchant, 20_000)
  const token = await makeToken(merchant.id)
  const withdraw = async (amount: number) => {
    const order = { amount, pix_key: 'hold@example.com', pix_key_type: 'email' }
    const { body } = await call(api.url, 'POST', '/withdrawals', { token, body: order })
    return { accountId_id: { accountId: merchant.id, id: body.data.id } }
  }
  const [first, second, third] = [
    await withdraw(1_000),
    await withdraw(2_000),
    await withdraw(4_000),
  ]
  await withdraw(8_000)
  expect((await readHome()).balance.waiting).toEqual({ count: 0, amount: 0 })
  const createdAt = new Date(Date.now() - 11 * 60_000)
  for (const where of [first, second, third]) {
    await db().withdrawal.update({ where, data: { createdAt } })
  }
  const approvalDueAt = new Date(Date.now() + 60_000)
  const approval = { approvalReason: 'new_key', approvalDueAt, approvalBarred: [] }
  await db().withdrawal.update({ where: second, data: approval })
  await db().withdrawal.update({ where: third, data: { approvalAt: new Date() } })
  expect((await readHome()).balance.waiting).toEqual({ count: 1, amount: 1_000 })
  await expectBalancedLedger(merchant.id)
})

test('days follow the merchant’s time zone, also on days of 23 and 25 hours', async () => {
  await db().account.update({ where: { id: merchant.id }, data: { timeZone: 'America/New_York' } })
  await payAt('2025-11-02T03:59:59Z', 500)
  await payAt('2025-11-02T04:00:00Z', 1_000)
  await payAt('2025-11-03T04:59:59Z', 2_000)
  await payAt('2025-11-03T05:00:00Z', 4_000)
  const autumn = await readHome('?period=custom&from=2025-11-01&to=2025-11-03')
  expect(autumn.days).toEqual([
    { day: '2025-11-01', amount: 500, count: 1 },
    { day: '2025-11-02', amount: 3_000, count: 2 },
    { day: '2025-11-03', amount: 4_000, count: 1 },
  ])
  await payAt('2025-03-10T03:59:59Z', 500)
  await payAt('2025-03-10T04:00:00Z', 1_000)
  const spring = await readHome('?period=custom&from=2025-03-08&to=2025-03-11')
  expect(paidDays(spring.days)).toEqual([
    { day: '2025-03-09', amount: 500, count: 1 },
    { day: '2025-03-10', amount: 1_000, count: 1 },
  ])
})

test.each([
  ['?period=7d', 7],
  ['?period=90d', 90],
  ['?period=today', 1],
  ['?period=custom&from=2020-01-01&to=2024-12-31', 366],
  ['?period=custom&from=2024-12-31&to=2020-01-01', 30],
  ['?period=custom&from=0001-01-01&to=x', 30],
  ['?period=forever', 30],
])('%s shows %i days', async (query, days) => {
  expect((await readHome(query)).days).toHaveLength(days)
})

test('the result of the last ledger check is shown', async () => {
  await fundMerchant(merchant, 5_000)
  await db().ledgerCheck.create({ data: { accountId: merchant.id, wrong: 'a promise: a row' } })
  expect((await readHome()).books).toMatchObject({ is_right: false })
  await db().ledgerCheck.delete({ where: { accountId: merchant.id } })
  await checkLedger(db(), merchant.id)
  expect((await readHome()).books).toMatchObject({ is_right: true })
})

async function createDelivery(status: string, attempts: number, durationMs = 40): Promise<void> {
  const [id, eventId] = [newId(), newId()]
  const scope = { accountId: merchant.id, mode: 'test' }
  const sequence = await db().event.count({ where: scope })
  const event = { ...scope, id: eventId, sequence: sequence + 1, subjectId: newId() }
  const { subjectId } = event
  const delivery = { ...scope, id, eventId, subjectId, sequence: event.sequence, status, attempts }
  const deliveredAt = status === 'delivered' ? new Date() : null
  const dueAt = status === 'pending' ? new Date(Date.now() + 3_600_000) : null
  const target = { url: 'https://shop.example/hook', host: 'shop.example', deliveredAt, dueAt }
  await withOwner(async owner => {
    await owner.event.create({ data: { ...event, type: 'transaction.paid', resource: {} } })
    await owner.delivery.create({ data: { ...delivery, ...target } })
  })
  if (attempts === 0) return
  const attempt = { accountId: merchant.id, deliveryId: id, number: attempts, requestHeaders: {} }
  const problem = status === 'delivered' ? null : 'the receiver answered 500'
  const result = { responseStatus: problem ? 500 : 200, durationMs, problem }
  await db().deliveryAttempt.create({ data: { ...attempt, ...result } })
}

test('the webhook rate counts deliveries with an attempt and ignores those without', async () => {
  await createDelivery('delivered', 1, 30)
  await createDelivery('delivered', 2, 50)
  await createDelivery('exhausted', 3, 900)
  await createDelivery('pending', 1, 900)
  await createDelivery('pending', 0)
  expect((await readHome()).webhooks).toEqual({ delivered: 0.5, mean_ms: 40 })
})

test('a first step is completed by the merchant’s own action, not by the welcome charge', async () => {
  const steps = async () => {
    const { body } = await callApi('/dashboard/steps')
    expectShape(StepsRead, body)
    return body.data
  }
  await payWelcomeCharge(merchant)
  expect(await steps()).toEqual({ token: false, payment: false, webhook: false })
  await makeToken(merchant.id)
  expect(await steps()).toEqual({ token: true, payment: false, webhook: false })
  await fundMerchant(merchant, 5_000)
  await createDelivery('exhausted', 3)
  expect(await steps()).toEqual({ token: true, payment: true, webhook: false })
  await createDelivery('delivered', 1)
  expect(await steps()).toEqual({ token: true, payment: true, webhook: true })
  // As pruning does.
  const where = { accountId: merchant.id }
  await db().deliveryAttempt.deleteMany({ where })
  await db().delivery.deleteMany({ where })
  expect(await steps()).toEqual({ token: true, payment: true, webhook: true })
})
