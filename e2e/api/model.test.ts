import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/base/ids.ts'
import { chargeColumns } from '#lib/rooms/charges/queries.ts'
import { completeRefund, rejectRefund } from '#lib/rooms/charges/refunds/settle.ts'
import { type Answered, call } from '#lib/testing/call.ts'
import fc from '#lib/testing/property.ts'
import {
  type Api,
  CHARGE,
  expectBalancedBooks,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/stage.ts'

/** Number of histories and of steps in each; `npm run torture` sets more. */
const RUNS = Number(process.env.MODEL_RUNS || 50)
const STEPS = Number(process.env.MODEL_COMMANDS || 30)
/** Time for one step on a slow machine; the timeout is the sum of all steps. */
const STEP_MAX_MS = 500

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

/** `nth` and `part` choose among the objects that exist at this step. */
interface Step {
  do: keyof typeof DEEDS
  nth: number
  part: number
}

interface Thing {
  id: string
  amount: number
  status: string
  /** Refunded amount of a charge, with what is held for refunds. */
  refunded: number
  charge?: Thing
}

/** Simple model of one merchant: no holds, no ledger, only a balance. */
class Shop {
  readonly token: string
  readonly accountId: string
  balance = 0
  told = 0
  readonly charges: Thing[] = []
  readonly withdrawals: Thing[] = []
  readonly refunds: Thing[] = []
  readonly done: { path: string; key: string; body: object; text: string }[] = []

  constructor(token: string, accountId: string) {
    this.token = token
    this.accountId = accountId
  }

  send(path: string, body: object, key?: string): Promise<Answered> {
    return call(api.url, 'POST', path, { token: this.token, body, key })
  }

  /** Sends one request from several callers; returns the new id, or null if it was refused. */
  async make(path: string, body: object, refusal: number | null, callers: number) {
    const key = newId()
    const answers = await Promise.all(
      Array.from({ length: callers }, () => this.send(path, body, key)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([refusal ?? 200]))
    if (refusal !== null) return null
    const text = answers[0]?.text ?? ''
    expect(new Set(answers.map(answer => answer.text))).toEqual(new Set([text]))
    expect(answers.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1)
    this.done.push({ path, key, body, text })
    const { data } = JSON.parse(text)
    expect(data.status).toBe('pending')
    return String(data.id ?? data.transaction_id)
  }

  /** Decides at the simulated bank; adds `gain` to the balance if it still can be decided. */
  async decide(kind: string, thing: Thing, outcome: string, from: string[], gain: number) {
    const may = from.includes(thing.status)
    const { status } = await this.send(`/sandbox/${kind}/${thing.id}`, { outcome })
    expect(status).toBe(may ? 200 : 409)
    if (!may) return
    thing.status = outcome
    this.balance += gain
    this.told += 1
  }
}

const pick = <T>(things: T[], nth: number): T | undefined => things[nth % things.length]

async function charge(shop: Shop, { part }: Step, callers = 1): Promise<void> {
  const amount = 500 + part * 45
  const id = await shop.make('/transactions', { ...CHARGE, amount }, null, callers)
  if (id) shop.charges.push({ id, amount, status: 'pending', refunded: 0 })
}

async function withdraw(shop: Shop, { part }: Step, callers = 1): Promise<void> {
  const amount = 1_000 + part * 60
  const order = { amount, pix_key: 'hold@example.com', pix_key_type: 'email' }
  const id = await shop.make('/withdrawals', order, amount > shop.balance ? 422 : null, callers)
  if (!id) return
  shop.withdrawals.push({ id, amount, status: 'pending', refunded: 0 })
  shop.balance -= amount
}

async function refund(shop: Shop, { nth, part }: Step, callers = 1): Promise<void> {
  const of = pick(shop.charges, nth)
  if (!of) return
  const amount = Math.max(1, Math.round((of.amount * (part + 1)) / 90))
  const tooMuch = amount > of.amount - of.refunded || amount > shop.balance
  const refusal = of.status !== 'paid' ? 409 : tooMuch ? 422 : null
  const id = await shop.make(`/transactions/${of.id}/refunds`, { amount }, refusal, callers)
  if (!id) return
  of.refunded += amount
  shop.refunds.push({ id, amount, status: 'pending', refunded: 0, charge: of })
  shop.balance -= amount
}

async function end(shop: Shop, { nth }: Step, outcome: 'paid' | 'expired' | 'failed') {
  const thing = pick(shop.charges, nth)
  const from = outcome === 'paid' ? ['pending', 'expired', 'failed'] : ['pending']
  if (!thing) return
  await shop.decide('transactions', thing, outcome, from, outcome === 'paid' ? thing.amount : 0)
}

async function settle(shop: Shop, { nth }: Step, outcome: 'approved' | 'rejected') {
  const thing = pick(shop.withdrawals, nth)
  const gain = outcome === 'rejected' ? (thing?.amount ?? 0) : 0
  if (thing) await shop.decide('withdrawals', thing, outcome, ['pending'], gain)
}

/** Reports the bank's result of a refund; only a worker receives it, so there is no route. */
async function hear(shop: Shop, { nth }: Step, outcome: 'completed' | 'rejected'): Promise<void> {
  const thing = pick(shop.refunds, nth)
  if (!thing) return
  const settlement = { accountId: shop.accountId, refundId: thing.id, chargeColumns }
  const row =
    outcome === 'completed'
      ? await completeRefund({
          ...settlement,
          returnId: `D${newId().replaceAll('-', '').slice(1)}`,
        })
      : await rejectRefund({ ...settlement, reason: 'no' })
  expect(row !== null).toBe(thing.status === 'pending')
  if (!row) return
  thing.status = outcome
  shop.told += 1
  if (outcome === 'completed') return
  shop.balance += thing.amount
  if (thing.charge) thing.charge.refunded -= thing.amount
}

/** Repeats a request as after a lost response: nothing happens, and the response is the same. */
async function retry(shop: Shop, { nth }: Step): Promise<void> {
  const first = pick(shop.done, nth)
  if (!first) return
  const again = await shop.send(first.path, first.body, first.key)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
}

const DEEDS = {
  charge,
  withdraw,
  refund,
  retry,
  pay: (shop: Shop, step: Step) => end(shop, step, 'paid'),
  expire: (shop: Shop, step: Step) => end(shop, step, 'expired'),
  fail: (shop: Shop, step: Step) => end(shop, step, 'failed'),
  approve: (shop: Shop, step: Step) => settle(shop, step, 'approved'),
  reject: (shop: Shop, step: Step) => settle(shop, step, 'rejected'),
  complete: (shop: Shop, step: Step) => hear(shop, step, 'completed'),
  refuse: (shop: Shop, step: Step) => hear(shop, step, 'rejected'),
  'charge by three at once': (shop: Shop, step: Step) => charge(shop, step, 3),
  'withdraw by three at once': (shop: Shop, step: Step) => withdraw(shop, step, 3),
  'refund by three at once': (shop: Shop, step: Step) => refund(shop, step, 3),
}

const names = Object.keys(DEEDS) as (keyof typeof DEEDS)[]
/** Charges and payments are more frequent: nothing else works without money. */
const likely: (keyof typeof DEEDS)[] = [
  ...names,
  'charge',
  'charge',
  'pay',
  'pay',
  'pay',
  'withdraw',
]
const step = fc.record({
  do: fc.constantFrom(...likely),
  nth: fc.nat({ max: 11 }),
  part: fc.nat({ max: 99 }),
})

async function read(shop: Shop, path: string) {
  return (await call(api.url, 'GET', path, { token: shop.token })).body
}

async function expectSame(shop: Shop): Promise<void> {
  const wanted = (things: Thing[]) => things.map(({ id, amount, status }) => [id, amount, status])
  for (const [path, things] of [
    ['/transactions', shop.charges],
    ['/withdrawals', shop.withdrawals],
  ] as const) {
    const { data } = await read(shop, `${path}?limit=100`)
    expect(wanted(data.toReversed())).toEqual(wanted(things))
  }
  for (const one of shop.charges.filter(({ status }) => status === 'paid')) {
    const { data } = await read(shop, `/transactions/${one.id}`)
    const given = shop.refunds.filter(
      ({ charge, status }) => charge === one && status === 'completed',
    )
    expect(data.refunded_amount).toBe(given.reduce((sum, { amount }) => sum + amount, 0))
  }
  const { data } = await read(shop, '/events')
  expect(data.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
    Array.from({ length: shop.told }, (_, nth) => nth + 1),
  )
}

test(
  'after any sequence of operations the balance equals a simple model and the books balance',
  async () => {
    const seen = new Set<string>()
    async function holds(history: Step[]): Promise<void> {
      const merchant = await makeMerchant()
      const shop = new Shop(await makeToken(merchant.id), merchant.id)
      for (const one of history) {
        await DEEDS[one.do](shop, one)
        expect(await read(shop, '/account')).toEqual({ name: merchant.name, balance: shop.balance })
      }
      await expectSame(shop)
      await expectBalancedBooks(merchant.id)
      for (const { status } of shop.charges) seen.add(`charge ${status}`)
      for (const { status } of shop.withdrawals) seen.add(`withdrawal ${status}`)
      for (const { status } of shop.refunds) seen.add(`refund ${status}`)
      if (shop.charges.some(({ refunded }) => refunded > 0)) seen.add('charge refunded')
    }
    const histories = fc.array(step, { minLength: STEPS, maxLength: STEPS })
    await fc.assert(fc.asyncProperty(histories, holds), { numRuns: RUNS, endOnFailure: true })
    // A model that reaches no state agrees with everything; short runs may not reach all.
    if (RUNS * STEPS < 1_500) return
    expect([...seen].sort()).toEqual([
      ...['expired', 'failed', 'paid', 'pending', 'refunded'].map(state => `charge ${state}`),
      ...['completed', 'pending', 'rejected'].map(state => `refund ${state}`),
      ...['approved', 'pending', 'rejected'].map(state => `withdrawal ${state}`),
    ])
  },
  60_000 + RUNS * STEPS * STEP_MAX_MS,
)
