import { afterAll, beforeAll, expect, test } from 'vitest'
import { completeRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { newId } from '#lib/core/ids.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

/** Number of histories; `npm run torture` sets more. */
const HISTORY_COUNT = Number(process.env.MODEL_RUNS || 2)
/** Number of steps in each history; `npm run torture` sets more. */
const STEP_COUNT = Number(process.env.MODEL_COMMANDS || 30)
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
  async simulateOutcome(
    kind: string,
    resource: Resource,
    outcome: string,
    from: string[],
    gain: number,
  ) {
    const isAllowed = from.includes(resource.status)
    const { status } = await this.send(`/sandbox/${kind}/${resource.id}`, { outcome })
    expect(status).toBe(isAllowed ? 200 : 409)
    if (!isAllowed) return
    resource.status = outcome
    this.balance += gain
    this.eventCount += 1
  }
}

const pick = <T>(items: T[], nth: number): T | undefined => items[nth % items.length]

async function charge(merchant: MerchantModel, { part }: Step, callers = 1): Promise<void> {
  const amount = 500 + part * 45
  const id = await merchant.create('/transactions', { ...CHARGE, amount }, null, callers)
  if (id) merchant.charges.push({ id, amount, status: 'pending', refunded: 0 })
}

async function withdraw(merchant: MerchantModel, { part }: Step, callers = 1): Promise<void> {
  const amount = 1_000 + part * 60
  const order = { amount, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const id = await merchant.create(
    '/withdrawals',
    order,
    amount > merchant.balance ? 422 : null,
    callers,
  )
  if (!id) return
  merchant.withdrawals.push({ id, amount, status: 'pending', refunded: 0 })
  merchant.balance -= amount
}

async function refund(merchant: MerchantModel, { nth, part }: Step, callers = 1): Promise<void> {
  const target = pick(merchant.charges, nth)
  if (!target) return
  const amount = Math.max(1, Math.round((target.amount * (part + 1)) / 90))
  const isTooMuch = amount > target.amount - target.refunded || amount > merchant.balance
  const refusal = target.status !== 'paid' ? 409 : isTooMuch ? 422 : null
  const id = await merchant.create(
    `/transactions/${target.id}/refunds`,
    { amount },
    refusal,
    callers,
  )
  if (!id) return
  target.refunded += amount
  merchant.refunds.push({ id, amount, status: 'pending', refunded: 0, charge: target })
  merchant.balance -= amount
}

async function decideCharge(
  merchant: MerchantModel,
  { nth }: Step,
  outcome: 'paid' | 'expired' | 'failed',
) {
  const resource = pick(merchant.charges, nth)
  const from = outcome === 'paid' ? ['pending', 'expired', 'failed'] : ['pending']
  if (!resource) return
  await merchant.simulateOutcome(
    'transactions',
    resource,
    outcome,
    from,
    outcome === 'paid' ? resource.amount : 0,
  )
}

async function decideWithdrawal(
  merchant: MerchantModel,
  { nth }: Step,
  outcome: 'approved' | 'rejected',
) {
  const resource = pick(merchant.withdrawals, nth)
  const gain = outcome === 'rejected' ? (resource?.amount ?? 0) : 0
  if (resource) await merchant.simulateOutcome('withdrawals', resource, outcome, ['pending'], gain)
}

/** Reports the bank's result of a refund; only a worker receives it, so there is no route. */
async function settleRefund(
  merchant: MerchantModel,
  { nth }: Step,
  outcome: 'completed' | 'rejected',
): Promise<void> {
  const resource = pick(merchant.refunds, nth)
  if (!resource) return
  const settlement = { accountId: merchant.accountId, refundId: resource.id }
  const row =
    outcome === 'completed'
      ? await completeRefund({
          ...settlement,
          returnId: `D${newId().replaceAll('-', '').slice(1)}`,
        })
      : await rejectRefund({ ...settlement, reason: REFUSAL })
  expect(row !== null).toBe(resource.status === 'pending')
  if (!row) return
  resource.status = outcome
  merchant.eventCount += 1
  if (outcome === 'completed') return
  merchant.balance += resource.amount
  if (resource.charge) resource.charge.refunded -= resource.amount
}

/** Repeats a request, as after a lost response: without effect, with the same response. */
async function retry(merchant: MerchantModel, { nth }: Step): Promise<void> {
  const first = pick(merchant.requests, nth)
  if (!first) return
  const again = await merchant.send(first.path, first.body, first.key)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
}

const ACTIONS = {
  charge,
  withdraw,
  refund,
  retry,
  pay: (merchant: MerchantModel, step: Step) => decideCharge(merchant, step, 'paid'),
  expire: (merchant: MerchantModel, step: Step) => decideCharge(merchant, step, 'expired'),
  fail: (merchant: MerchantModel, step: Step) => decideCharge(merchant, step, 'failed'),
  approve: (merchant: MerchantModel, step: Step) => decideWithdrawal(merchant, step, 'approved'),
  reject: (merchant: MerchantModel, step: Step) => decideWithdrawal(merchant, step, 'rejected'),
  complete: (merchant: MerchantModel, step: Step) => settleRefund(merchant, step, 'completed'),
  refuse: (merchant: MerchantModel, step: Step) => settleRefund(merchant, step, 'rejected'),
  'charge by three at once': (merchant: MerchantModel, step: Step) => charge(merchant, step, 3),
  'withdraw by three at once': (merchant: MerchantModel, step: Step) => withdraw(merchant, step, 3),
  'refund by three at once': (merchant: MerchantModel, step: Step) => refund(merchant, step, 3),
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

async function read(merchant: MerchantModel, path: string) {
  return (await call(api.url, 'GET', path, { token: merchant.token })).body
}

async function expectModelMatches(merchant: MerchantModel): Promise<void> {
  const summarize = (resources: Resource[]) =>
    resources.map(({ id, amount, status }) => [id, amount, status])
  for (const [path, resources] of [
    ['/transactions', merchant.charges],
    ['/withdrawals', merchant.withdrawals],
  ] as const) {
    const { data } = await read(merchant, `${path}?limit=100`)
    expect(summarize(data.toReversed())).toEqual(summarize(resources))
  }
  for (const paidCharge of merchant.charges.filter(({ status }) => status === 'paid')) {
    const { data } = await read(merchant, `/transactions/${paidCharge.id}`)
    const completedRefunds = merchant.refunds.filter(
      ({ charge, status }) => charge === paidCharge && status === 'completed',
    )
    expect(data.refunded_amount).toBe(completedRefunds.reduce((sum, { amount }) => sum + amount, 0))
  }
  const { data } = await read(merchant, '/events')
  expect(data.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
    Array.from({ length: merchant.eventCount }, (_, index) => index + 1),
  )
}

test(
  'after any sequence of operations the balance equals a simple model and the ledger balances',
  async () => {
    const reachedStates = new Set<string>()
    async function runHistory(history: Step[]): Promise<void> {
      const merchant = await makeMerchant()
      const model = new MerchantModel(await makeToken(merchant.id), merchant.id)
      for (const nextStep of history) {
        await ACTIONS[nextStep.do](model, nextStep)
        expect(await read(model, '/account')).toEqual({
          name: merchant.name,
          balance: model.balance,
        })
      }
      await expectModelMatches(model)
      await expectBalancedLedger(merchant.id)
      for (const { status } of model.charges) reachedStates.add(`charge ${status}`)
      for (const { status } of model.withdrawals) reachedStates.add(`withdrawal ${status}`)
      for (const { status } of model.refunds) reachedStates.add(`refund ${status}`)
      if (model.charges.some(({ refunded }) => refunded > 0)) reachedStates.add('charge refunded')
    }
    const histories = fc.array(step, { minLength: STEP_COUNT, maxLength: STEP_COUNT })
    await fc.assert(fc.asyncProperty(histories, runHistory), {
      numRuns: HISTORY_COUNT,
      endOnFailure: true,
    })
    // Without reaching every state, the comparison proves little; short runs may miss some.
    if (HISTORY_COUNT * STEP_COUNT < 1_500) return
    expect([...reachedStates].sort()).toEqual([
      ...['expired', 'failed', 'paid', 'pending', 'refunded'].map(state => `charge ${state}`),
      ...['completed', 'pending', 'rejected'].map(state => `refund ${state}`),
      ...['approved', 'pending', 'rejected'].map(state => `withdrawal ${state}`),
    ])
  },
  60_000 + HISTORY_COUNT * STEP_COUNT * STEP_MAX_MS,
)
