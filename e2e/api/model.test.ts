import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/base/ids.ts'
import { chargeColumns } from '#lib/rooms/charges/queries.ts'
import { completeRefund, rejectRefund } from '#lib/rooms/charges/refunds/settle.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedBooks,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

/** Number of histories; `npm run torture` sets more. */
const RUNS = Number(process.env.MODEL_RUNS || 50)
/** Number of steps in each history; `npm run torture` sets more. */
const STEPS = Number(process.env.MODEL_COMMANDS || 30)
/** Time for one step on a slow machine; the timeout is the sum of all steps. */
const STEP_MAX_MS = 500

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

/** `nth` selects one of the objects that exist at this step, `part` varies the amount. */
interface Step {
  do: keyof typeof ACTIONS
  nth: number
  part: number
}

interface Resource {
  id: string
  amount: number
  status: string
  /** Refunded amount of a charge, including amounts held for refunds. */
  refunded: number
  charge?: Resource
}

/** Simple model of one merchant: no holds, no ledger, only a balance. */
class MerchantModel {
  readonly token: string
  readonly accountId: string
  balance = 0
  eventCount = 0
  readonly charges: Resource[] = []
  readonly withdrawals: Resource[] = []
  readonly refunds: Resource[] = []
  readonly requests: { path: string; key: string; body: object; text: string }[] = []

  constructor(token: string, accountId: string) {
    this.token = token
    this.accountId = accountId
  }

  send(path: string, body: object, key?: string): Promise<ApiResponse> {
    return call(api.url, 'POST', path, { token: this.token, body, key })
  }

  /** Sends one request from several callers; returns the new id, or null if it is refused. */
  async create(path: string, body: object, refusal: number | null, callers: number) {
    const key = newId()
    const responses = await Promise.all(
      Array.from({ length: callers }, () => this.send(path, body, key)),
    )
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([refusal ?? 200]))
    if (refusal !== null) return null
    const text = responses[0]?.text ?? ''
    expect(new Set(responses.map(response => response.text))).toEqual(new Set([text]))
    expect(responses.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    this.requests.push({ path, key, body, text })
    const { data } = JSON.parse(text)
    expect(data.status).toBe('pending')
    return String(data.id ?? data.transaction_id)
  }

  /** Reports an outcome of the simulated bank; adds `gain` if the state allows it. */
  async decide(kind: string, resource: Resource, outcome: string, from: string[], gain: number) {
    const isAllowed = from.includes(resource.status)
    const { status } = await this.send(`/sandbox/${kind}/${resource.id}`, { outcome })
    expect(status).toBe(isAllowed ? 200 : 409)
    if (!isAllowed) return
    resource.status = outcome
    this.balance += gain
    this.eventCount += 1
  }
}

const pick = <T>(things: T[], nth: number): T | undefined => things[nth % things.length]

async function charge(shop: MerchantModel, { part }: Step, callers = 1): Promise<void> {
  const amount = 500 + part * 45
  const id = await shop.create('/transactions', { ...CHARGE, amount }, null, callers)
  if (id) shop.charges.push({ id, amount, status: 'pending', refunded: 0 })
}

async function withdraw(shop: MerchantModel, { part }: Step, callers = 1): Promise<void> {
  const amount = 1_000 + part * 60
  const order = { amount, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const id = await shop.create('/withdrawals', order, amount > shop.balance ? 422 : null, callers)
  if (!id) return
  shop.withdrawals.push({ id, amount, status: 'pending', refunded: 0 })
  shop.balance -= amount
}

async function refund(shop: MerchantModel, { nth, part }: Step, callers = 1): Promise<void> {
  const target = pick(shop.charges, nth)
  if (!target) return
  const amount = Math.max(1, Math.round((target.amount * (part + 1)) / 90))
  const tooMuch = amount > target.amount - target.refunded || amount > shop.balance
  const refusal = target.status !== 'paid' ? 409 : tooMuch ? 422 : null
  const id = await shop.create(`/transactions/${target.id}/refunds`, { amount }, refusal, callers)
  if (!id) return
  target.refunded += amount
  shop.refunds.push({ id, amount, status: 'pending', refunded: 0, charge: target })
  shop.balance -= amount
}

async function decideCharge(
  shop: MerchantModel,
  { nth }: Step,
  outcome: 'paid' | 'expired' | 'failed',
) {
  const resource = pick(shop.charges, nth)
  const from = outcome === 'paid' ? ['pending', 'expired', 'failed'] : ['pending']
  if (!resource) return
  await shop.decide(
    'transactions',
    resource,
    outcome,
    from,
    outcome === 'paid' ? resource.amount : 0,
  )
}

async function decideWithdrawal(
  shop: MerchantModel,
  { nth }: Step,
  outcome: 'approved' | 'rejected',
) {
  const resource = pick(shop.withdrawals, nth)
  const gain = outcome === 'rejected' ? (resource?.amount ?? 0) : 0
  if (resource) await shop.decide('withdrawals', resource, outcome, ['pending'], gain)
}

/** Reports the bank's result of a refund; only a worker receives it, so there is no route. */
async function settleRefund(
  shop: MerchantModel,
  { nth }: Step,
  outcome: 'completed' | 'rejected',
): Promise<void> {
  const resource = pick(shop.refunds, nth)
  if (!resource) return
  const settlement = { accountId: shop.accountId, refundId: resource.id, chargeColumns }
  const row =
    outcome === 'completed'
      ? await completeRefund({
          ...settlement,
          returnId: `D${newId().replaceAll('-', '').slice(1)}`,
        })
      : await rejectRefund({ ...settlement, reason: 'no' })
  expect(row !== null).toBe(resource.status === 'pending')
  if (!row) return
  resource.status = outcome
  shop.eventCount += 1
  if (outcome === 'completed') return
  shop.balance += resource.amount
  if (resource.charge) resource.charge.refunded -= resource.amount
}

/** Repeats a request, as after a lost response: without effect, with the same response. */
async function retry(shop: MerchantModel, { nth }: Step): Promise<void> {
  const first = pick(shop.requests, nth)
  if (!first) return
  const again = await shop.send(first.path, first.body, first.key)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
}

const ACTIONS = {
  charge,
  withdraw,
  refund,
  retry,
  pay: (shop: MerchantModel, step: Step) => decideCharge(shop, step, 'paid'),
  expire: (shop: MerchantModel, step: Step) => decideCharge(shop, step, 'expired'),
  fail: (shop: MerchantModel, step: Step) => decideCharge(shop, step, 'failed'),
  approve: (shop: MerchantModel, step: Step) => decideWithdrawal(shop, step, 'approved'),
  reject: (shop: MerchantModel, step: Step) => decideWithdrawal(shop, step, 'rejected'),
  complete: (shop: MerchantModel, step: Step) => settleRefund(shop, step, 'completed'),
  refuse: (shop: MerchantModel, step: Step) => settleRefund(shop, step, 'rejected'),
  'charge by three at once': (shop: MerchantModel, step: Step) => charge(shop, step, 3),
  'withdraw by three at once': (shop: MerchantModel, step: Step) => withdraw(shop, step, 3),
  'refund by three at once': (shop: MerchantModel, step: Step) => refund(shop, step, 3),
}

const names = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]
/** Charges and payments are more frequent, because the other actions need money. */
const weightedActions: (keyof typeof ACTIONS)[] = [
  ...names,
  'charge',
  'charge',
  'pay',
  'pay',
  'pay',
  'withdraw',
]
const step = fc.record({
  do: fc.constantFrom(...weightedActions),
  nth: fc.nat({ max: 11 }),
  part: fc.nat({ max: 99 }),
})

async function read(shop: MerchantModel, path: string) {
  return (await call(api.url, 'GET', path, { token: shop.token })).body
}

async function expectModelMatches(shop: MerchantModel): Promise<void> {
  const summarize = (things: Resource[]) =>
    things.map(({ id, amount, status }) => [id, amount, status])
  for (const [path, things] of [
    ['/transactions', shop.charges],
    ['/withdrawals', shop.withdrawals],
  ] as const) {
    const { data } = await read(shop, `${path}?limit=100`)
    expect(summarize(data.toReversed())).toEqual(summarize(things))
  }
  for (const one of shop.charges.filter(({ status }) => status === 'paid')) {
    const { data } = await read(shop, `/transactions/${one.id}`)
    const completedRefunds = shop.refunds.filter(
      ({ charge, status }) => charge === one && status === 'completed',
    )
    expect(data.refunded_amount).toBe(completedRefunds.reduce((sum, { amount }) => sum + amount, 0))
  }
  const { data } = await read(shop, '/events')
  expect(data.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
    Array.from({ length: shop.eventCount }, (_, nth) => nth + 1),
  )
}

test(
  'after any sequence of operations the balance equals a simple model and the ledger balances',
  async () => {
    const seen = new Set<string>()
    async function runHistory(history: Step[]): Promise<void> {
      const merchant = await makeMerchant()
      const shop = new MerchantModel(await makeToken(merchant.id), merchant.id)
      for (const one of history) {
        await ACTIONS[one.do](shop, one)
        expect(await read(shop, '/account')).toEqual({ name: merchant.name, balance: shop.balance })
      }
      await expectModelMatches(shop)
      await expectBalancedBooks(merchant.id)
      for (const { status } of shop.charges) seen.add(`charge ${status}`)
      for (const { status } of shop.withdrawals) seen.add(`withdrawal ${status}`)
      for (const { status } of shop.refunds) seen.add(`refund ${status}`)
      if (shop.charges.some(({ refunded }) => refunded > 0)) seen.add('charge refunded')
    }
    const histories = fc.array(step, { minLength: STEPS, maxLength: STEPS })
    await fc.assert(fc.asyncProperty(histories, runHistory), { numRuns: RUNS, endOnFailure: true })
    // Without reaching every state, the comparison proves little; short runs may miss some.
    if (RUNS * STEPS < 1_500) return
    expect([...seen].sort()).toEqual([
      ...['expired', 'failed', 'paid', 'pending', 'refunded'].map(state => `charge ${state}`),
      ...['completed', 'pending', 'rejected'].map(state => `refund ${state}`),
      ...['approved', 'pending', 'rejected'].map(state => `withdrawal ${state}`),
    ])
  },
  60_000 + RUNS * STEPS * STEP_MAX_MS,
)
