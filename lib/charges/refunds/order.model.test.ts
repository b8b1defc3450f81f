import { expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { completeRefund, createRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 4)
const CHARGE_COUNT = 3
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

// A database of its own: a worker of another test would send the due refunds.
inOwnDatabase()

/** `which` selects a charge, or one of the existing refunds or withdrawals. */
type Step =
  | { do: 'pay'; which: number }
  | { do: 'refund'; which: number; amount: number | undefined }
  | { do: 'withdraw'; amount: number }
  | { do: 'complete' | 'reject' | 'approve' | 'return'; which: number }

/** Result of a step: done, a refusal code, or nothing because the row was final. */
type Outcome = 'done' | 'nothing' | (string & {})

const which = fc.nat(9)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pay' as const), which }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      which,
      amount: fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined, freq: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('withdraw' as const),
      amount: fc.integer({ min: 1_000, max: 2_000 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('complete', 'reject', 'approve', 'return'),
      which,
    }),
  },
)
/** Steps of a group run concurrently, groups one after another. */
const groups = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.array(step, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 2, maxLength: 6 }) },
  ),
  { minLength: 4, maxLength: 16, size: 'max' },
)

interface Outgoing {
  id: string
  amount: number
  state: 'pending' | 'sent' | 'returned'
}
interface Charge {
  id: string
  amount: number
  isPaid: boolean
  refunds: Outgoing[]
}

class Model {
  readonly charges: Charge[]
  readonly withdrawals: Outgoing[] = []

  constructor(charges: { id: string; amount: number }[]) {
    this.charges = charges.map(charge => ({ ...charge, isPaid: false, refunds: [] }))
  }

  get refunds(): Outgoing[] {
    return this.charges.flatMap(charge => charge.refunds)
  }

  charge(which: number): Charge {
    return this.charges[which % CHARGE_COUNT] as Charge
  }

  /**
   * Returns the refund or withdrawal that a step selects; three times in four, a pending one if
   * any.
   */
  findTarget(step: Step & { which: number }): Outgoing | undefined {
    const all = /complete|reject/.test(step.do) ? this.refunds : this.withdrawals
    const pending = all.filter(one => one.state === 'pending')
    const list = step.which % 4 && pending.length > 0 ? pending : all
    return list[step.which % Math.max(1, list.length)]
  }

  get balances() {
    const outgoing = [...this.refunds, ...this.withdrawals]
    const received = total(this.charges.filter(charge => charge.isPaid))
    const gone = total(outgoing.filter(one => one.state !== 'returned'))
    const outbound = total(outgoing.filter(one => one.state === 'pending'))
    return { available: received - gone, outbound }
  }

  refundable(charge: Charge): number {
    return charge.amount - total(charge.refunds.filter(one => one.state !== 'returned'))
  }

  predict(step: Step): Outcome {
    const { available } = this.balances
    switch (step.do) {
      case 'pay':
        return this.charge(step.which).isPaid ? 'already_final' : 'done'
      case 'withdraw':
        return step.amount > available ? 'insufficient_balance' : 'done'
      case 'refund': {
        const charge = this.charge(step.which)
        const refundable = this.refundable(charge)
        if (!charge.isPaid) return 'not_paid'
        if ((step.amount ?? 1) > refundable) return 'refund_exceeds_remainder'
        return (step.amount ?? refundable) > available ? 'insufficient_balance' : 'done'
      }
      default:
        return this.findTarget(step)?.state === 'pending' ? 'done' : 'nothing'
    }
  }
}

function total(list: { amount: number }[]): number {
  return list.reduce((sum, { amount }) => sum + amount, 0)
}

async function applyStep(step: Step, merchant: Account, model: Model): Promise<Outcome> {
  const accountId = merchant.id
  switch (step.do) {
    case 'pay': {
      const charge = model.charge(step.which)
      await simulateCharge(accountId, charge.id, 'paid')
      charge.isPaid = true
      return 'done'
    }
    case 'refund': {
      const charge = model.charge(step.which)
      const { id, amount } = await createRefund(accountId, 'test', charge.id, step)
      charge.refunds.push({ id, amount: Number(amount), state: 'pending' })
      return 'done'
    }
    case 'withdraw': {
      const { id, amount } = await createWithdrawal(accountId, 'test', { ...KEY, ...step })
      model.withdrawals.push({ id, amount: Number(amount), state: 'pending' })
      return 'done'
    }
    default: {
      const target = model.findTarget(step)
      const settled = target && (await settle(step.do, accountId, target.id))
      if (settled) target.state = /complete|approve/.test(step.do) ? 'sent' : 'returned'
      return settled ? 'done' : 'nothing'
    }
  }
}

function settle(
  action: 'complete' | 'reject' | 'approve' | 'return',
  accountId: string,
  id: string,
) {
  const refund = { accountId, refundId: id }
  const withdrawal = { accountId, withdrawalId: id }
  switch (action) {
    case 'complete':
      return completeRefund({ ...refund, returnId: `D${newId()}` })
    case 'reject':
      return rejectRefund({ ...refund, reason: REFUSAL })
    case 'approve':
      return approveWithdrawal({ ...withdrawal, endToEndId: `E${newId()}` })
    case 'return':
      return rejectWithdrawal({ ...withdrawal, reason: REFUSAL })
  }
}

function codeOf(error: unknown): Outcome {
  if (isTrocoError(error)) return error.code
  throw error
}

async function expectModelMatches(merchant: Account, model: Model): Promise<void> {
  expect(await readBalances(merchant.id, 'test')).toEqual(model.balances)
  const rows = await db().charge.findMany({ where: { accountId: merchant.id } })
  for (const { id, amount, isPaid, refunds } of model.charges) {
    const row = rows.find(one => one.id === id)
    expect(row?.status).toBe(isPaid ? 'paid' : 'pending')
    expect(Number(row?.refundedAmount)).toBe(total(refunds.filter(one => one.state === 'sent')))
    expect(Number(row?.refundHeldAmount)).toBe(
      total(refunds.filter(one => one.state === 'pending')),
    )
    const refundedOrHeld = total(refunds.filter(one => one.state !== 'returned'))
    expect(refundedOrHeld).toBeLessThanOrEqual(isPaid ? amount : 0)
  }
}

test('balances and refunds match a plain model after any sequence of payments and refunds', async () => {
  const occurrences = new Map<string, number>()
  async function checkHistory(history: Step[][]): Promise<void> {
    const merchant = await makeMerchant()
    const opened = [500, 1_500, 4_000].map(async amount => {
      const { id } = await openCharge(merchant, amount)
      return { id, amount }
    })
    const model = new Model(await Promise.all(opened))
    await applyStep({ do: 'pay', which: 2 }, merchant, model)
    for (const group of history) {
      const [onlyStep] = group.length === 1 ? group : []
      const predicted = onlyStep && model.predict(onlyStep)
      const outcomes = await Promise.all(
        group.map(one => applyStep(one, merchant, model).catch(codeOf)),
      )
      if (predicted) expect(outcomes).toEqual([predicted])
      for (const [index, outcome] of outcomes.entries()) {
        const result = `${group[index]?.do} ${outcome}`
        occurrences.set(result, (occurrences.get(result) ?? 0) + 1)
      }
      await expectModelMatches(merchant, model)
    }
    const events = await db().event.findMany({
      where: { accountId: merchant.id },
      orderBy: { sequence: 'asc' },
    })
    const ended = [...model.refunds, ...model.withdrawals].filter(one => one.state !== 'pending')
    const paid = model.charges.filter(charge => charge.isPaid)
    expect(events.map(event => Number(event.sequence))).toEqual(
      Array.from({ length: paid.length + ended.length }, (_, index) => index + 1),
    )
    await expectBalancedLedger(merchant.id)
  }
  await fc.assert(fc.asyncProperty(groups, checkHistory), {
    numRuns: RUN_COUNT,
    endOnFailure: true,
  })

  // In enough runs every kind of result occurs, or the test proves nothing about that kind.
  if (RUN_COUNT < 25) return
  expect([...occurrences.keys()].sort()).toEqual(
    [
      'approve done',
      'approve nothing',
      'complete done',
      'complete nothing',
      'pay already_final',
      'pay done',
      'refund done',
      'refund insufficient_balance',
      'refund refund_exceeds_remainder',
      'refund not_paid',
      'reject done',
      'reject nothing',
      'return done',
      'return nothing',
      'withdraw done',
      'withdraw insufficient_balance',
    ].sort(),
  )
}, 120_000)
