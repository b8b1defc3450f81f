import { expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { writeOffClaim } from '#lib/accounts/write-off.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { loseDispute, openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { completeRefund, createRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import fc from '#lib/testing/property.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 3)
const GROUP_COUNT = Number(process.env.MODEL_COMMANDS || 12)
const ACTOR = { type: 'system' } as const
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const CHARGE_AMOUNTS = [5_000, 8_000]
const DISPUTES_PER_CHARGE = 2

inOwnDatabase()
/** Each table that a dispute, a refund or a credit writes, so that a crash is tried at every step. */
const TABLES = [
  'disputes',
  'ledger_accounts',
  'ledger_transfers',
  'ledger_entries',
  'charges',
  'withdrawals',
  'write_offs',
  'audit_log',
  'differences',
  'booked_payments',
  'refunds',
  'events',
]
const faults = new Faults(TABLES)

type Step = Request | End | Report | { do: 'write off' }
type Request =
  | { do: 'pay'; amount: number }
  | { do: 'withdraw'; amount: number }
  /** Without an amount: what is left of the charge. */
  | { do: 'refund'; which: number; amount: number | undefined }
type End = { do: 'approve' | 'reject' | 'complete refund' | 'reject refund'; which: number }
/** The reported amount is the charge's, divided by `divisor`; `nth` is a dispute of the charge. */
type Report = { do: 'open' | 'win' | 'lose'; which: number; nth: number; divisor: number }
const OPERATIONS = { open: openDispute, win: winDispute, lose: loseDispute }

const amount = fc.constantFrom(1_000, 2_500, 4_000, 9_000)
const which = fc.nat(CHARGE_AMOUNTS.length - 1)
const nth = fc.constantFrom(0, 0, 0, DISPUTES_PER_CHARGE - 1)
/** A dispute is often lost for less than it was opened with. */
const divisorOf = { open: fc.constantFrom(1, 1, 1, 2), lose: fc.constantFrom(1, 2, 4) }
const one = <T extends string>(...names: T[]) => fc.constantFrom(...names)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: one('pay', 'withdraw', 'withdraw'), amount }) },
  { weight: 2, arbitrary: fc.record({ do: one('approve', 'reject'), which }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: one('refund'),
      which,
      amount: fc.option(amount, { nil: undefined }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: one('complete refund', 'reject refund'), which }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: one('open', 'open', 'win'), which, nth, divisor: divisorOf.open }),
  },
  { weight: 4, arbitrary: fc.record({ do: one('lose'), which, nth, divisor: divisorOf.lose }) },
  { weight: 1, arbitrary: fc.record({ do: one('write off') }) },
)
/** A step alone, which may be aborted, or steps at the same time. */
const group: fc.Arbitrary<{ steps: Step[]; fault: string | null }> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      steps: fc.tuple(step),
      fault: fc.option(fc.constantFrom(...TABLES), { freq: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      steps: fc.array(step, { minLength: 2, maxLength: 3 }),
      fault: fc.constant(null),
    }),
  },
)

interface Charge {
  id: string
  endToEndId: string
  /** The bank's ids of its disputes. */
  bankIds: string[]
}

const amountOf = ({ which, divisor }: Report) => (CHARGE_AMOUNTS[which] ?? 0) / divisor

/** Balances that the books must have, computed without a database. */
class Model {
  available = 0
  outbound = 0
  disputed = 0
  owed = 0

  credit(value: number): void {
    const repaid = Math.min(value, this.owed)
    this.owed -= repaid
    this.available += value - repaid
  }

  open(value: number): void {
    const held = Math.min(value, this.available)
    this.available -= held
    this.owed += value - held
    this.disputed += value
  }

  /** Returns whether the balance covers it. */
  hold(value: number): boolean {
    if (value > this.available) return false
    this.available -= value
    this.outbound += value
    return true
  }
}

async function readModel(accountId: string): Promise<Model> {
  const rows = await db().ledgerAccount.findMany({ where: { accountId, mode: 'test' } })
  const balance = (name: string) => Number(rows.find(({ ledger }) => ledger === name)?.balance ?? 0)
  const { available, outbound, disputed } = {
    available: balance('available'),
    outbound: balance('outbound'),
    disputed: balance('disputed'),
  }
  return Object.assign(new Model(), { available, outbound, disputed, owed: 0 - balance('owed') })
}

/** Returns what the account should hold: all that was received or written off, less what has left. */
async function countMoney(accountId: string): Promise<number> {
  const [row] = await db().$queryRaw<{ money: number }[]>`
    SELECT (
      COALESCE((SELECT sum(amount) FROM charges WHERE account_id = ${accountId}::uuid AND status = 'paid'), 0)
      - COALESCE((SELECT sum(amount) FROM withdrawals
        WHERE account_id = ${accountId}::uuid AND status = 'approved'), 0)
      - COALESCE((SELECT sum(amount) FROM refunds
        WHERE account_id = ${accountId}::uuid AND status = 'completed'), 0)
      - COALESCE((SELECT sum(lost_amount) FROM disputes WHERE account_id = ${accountId}::uuid), 0)
      + COALESCE((SELECT sum(amount) FROM write_offs WHERE account_id = ${accountId}::uuid), 0))::float8 AS money`
  return row?.money ?? 0
}

interface Order {
  id: string
  amount: number
  status: string
}

class World {
  readonly withdrawals: Order[] = []
  readonly refunds: (Order & { which: number })[] = []
  /** Keys are the bank's ids. */
  readonly disputes = new Map<string, { amount: number; lost: number; status: string }>()
  private readonly merchant: Account
  private readonly charges: Charge[]

  constructor(merchant: Account, charges: Charge[]) {
    this.merchant = merchant
    this.charges = charges
  }

  /** Carries out a step; returns the code of its refusal. */
  async apply(step: Step): Promise<string | null> {
    try {
      if (step.do === 'pay' || step.do === 'withdraw' || step.do === 'refund')
        await this.request(step)
      else if (step.do === 'write off')
        await writeOffClaim(this.merchant.id, 'test', { reason: 'test' }, ACTOR)
      else if ('divisor' in step) {
        const { endToEndId } = this.charges[step.which] as Charge
        const bankId = this.bankIdOf(step)
        const report = { connectionId: SIMULATOR_CONNECTION_ID, bankId, endToEndId }
        await OPERATIONS[step.do]({ ...report, amount: amountOf(step) })
      } else await this.end(step)
    } catch (error) {
      if (isTrocoError(error)) return error.code
      throw error
    }
    return null
  }

  private async request(step: Request): Promise<unknown> {
    if (step.do === 'pay') return pay(this.merchant, step.amount)
    const { id: accountId } = this.merchant
    if (step.do === 'withdraw') {
      const { amount } = step
      const { id } = await createWithdrawal(accountId, 'test', { amount, ...KEY })
      return this.withdrawals.push({ id, amount, status: 'pending' })
    }
    const { id: chargeId } = this.charges[step.which] as Charge
    const { id, amount } = await createRefund(accountId, 'test', chargeId, step)
    return this.refunds.push({ id, amount, status: 'pending', which: step.which })
  }

  private end(step: End): Promise<unknown> {
    const accountId = this.merchant.id
    const id = this.orderOf(step)?.id ?? newId()
    const withdrawal = { accountId, withdrawalId: id }
    const refund = { accountId, refundId: id }
    const reason = { code: 'unspecified', params: {}, bankText: null } as const
    if (step.do === 'approve')
      return approveWithdrawal({ ...withdrawal, endToEndId: newEndToEndId() })
    if (step.do === 'reject') return rejectWithdrawal({ ...withdrawal, reason })
    if (step.do === 'reject refund') return rejectRefund({ ...refund, reason })
    return completeRefund({ ...refund, returnId: newId() })
  }

  private orderOf(step: End): Order | undefined {
    const isRefund = step.do === 'complete refund' || step.do === 'reject refund'
    const orders = isRefund ? this.refunds : this.withdrawals
    return orders.at(-1 - (step.which % orders.length))
  }

  /** Predicts a step that runs alone: changes the model, and returns the code of its refusal. */
  predict(model: Model, step: Step): string | null {
    if (step.do === 'pay') model.credit(step.amount)
    else if (step.do === 'withdraw') {
      const isCovered = Math.min(model.owed, model.disputed) === 0
      const code = isCovered ? 'insufficient_balance' : 'dispute_not_covered'
      return model.hold(step.amount) ? null : code
    } else if (step.do === 'refund') {
      const left = this.unrefunded(step.which, 'completed', 'pending') - this.taken(step.which)
      if ((step.amount ?? 1) > left) return 'refund_exceeds_remainder'
      return model.hold(step.amount ?? left) ? null : 'insufficient_balance'
    } else if (step.do === 'write off') {
      const claim = Math.max(0, model.owed - model.disputed)
      model.owed -= claim
      return claim === 0 ? 'not_found' : null
    } else if ('divisor' in step) this.report(model, step)
    else this.predictEnd(model, step)
    return null
  }

  private predictEnd(model: Model, step: End): void {
    const order = this.orderOf(step)
    if (order?.status !== 'pending') return
    model.outbound -= order.amount
    if (step.do.startsWith('reject')) model.credit(order.amount)
  }

  /** Whether a refund that is refused would fit in the charge if it had no disputes. */
  isRefusedByDispute(step: Step): boolean {
    if (step.do !== 'refund') return false
    return (step.amount ?? 1) <= this.unrefunded(step.which, 'completed', 'pending')
  }

  /** Amount of a charge minus its refunds with these statuses. */
  private unrefunded(which: number, ...statuses: string[]): number {
    const refunds = this.refunds.filter(one => one.which === which && statuses.includes(one.status))
    return refunds.reduce((left, { amount }) => left - amount, CHARGE_AMOUNTS[which] ?? 0)
  }

  /** Amount of a charge that is disputed, or was lost. */
  private taken(which: number): number {
    const disputes = this.charges[which]?.bankIds.map(id => this.disputes.get(id)) ?? []
    const amountTaken = (one: (typeof disputes)[number]) =>
      one?.status === 'open' ? one.amount : (one?.lost ?? 0)
    return disputes.reduce((sum, one) => sum + amountTaken(one), 0)
  }

  private bankIdOf({ which, nth }: Report): string {
    return this.charges[which]?.bankIds[nth] ?? ''
  }

  /** A refund that the bank has not completed leaves the whole charge to its disputes. */
  private report(model: Model, step: Report): void {
    const reported = amountOf(step)
    const known = this.disputes.get(this.bankIdOf(step))
    const left = this.unrefunded(step.which, 'completed') - this.taken(step.which)
    if (!known && (step.do === 'win' || left <= 0)) return
    const disputed = known?.amount ?? Math.min(reported, left)
    if (!known) model.open(disputed)
    if (step.do === 'open' || (known && known.status !== 'open')) return
    model.disputed -= disputed
    model.credit(step.do === 'win' ? disputed : disputed - Math.min(reported, disputed))
  }

  async resync(): Promise<void> {
    const where = { accountId: this.merchant.id }
    const rows = [
      ...(await db().withdrawal.findMany({ where })),
      ...(await db().refund.findMany({ where })),
    ]
    for (const order of [...this.withdrawals, ...this.refunds])
      order.status = rows.find(({ id }) => id === order.id)?.status ?? ''
    const disputes = await db().dispute.findMany({ where })
    for (const { bankId, amount, lostAmount, status } of disputes)
      this.disputes.set(bankId, { amount: Number(amount), lost: Number(lostAmount ?? 0), status })
  }
}

async function pay(merchant: Account, value: number): Promise<Charge> {
  const { id } = await openCharge(merchant, value)
  const payment = makePayment(value)
  await receivePayments([{ accountId: merchant.id, chargeId: id, payments: [payment] }])
  const bankIds = Array.from({ length: DISPUTES_PER_CHARGE }, newId)
  return { id, endToEndId: payment.endToEndId, bankIds }
}

test(
  'disputes and refunds hold, release and claim what they should, in any order and after any crash',
  async () => {
    const seen = {
      ...{
        crashes: 0,
        dispute_not_covered: 0,
        not_found: 0,
        refund_exceeds_remainder: 0,
        claims: 0,
      },
      partlyLost: 0,
      refunded: 0,
      refusedByDispute: 0,
    }

    async function checkGroups(
      groups: { steps: Step[]; fault: string | null }[],
      isSpent: boolean,
    ): Promise<void> {
      const merchant = await makeMerchant()
      const charges: Charge[] = []
      for (const value of CHARGE_AMOUNTS) charges.push(await pay(merchant, value))
      const world = new World(merchant, charges)
      const received = CHARGE_AMOUNTS.reduce((sum, value) => sum + value)
      if (isSpent) await world.apply({ do: 'withdraw', amount: received })
      for (const { steps, fault } of groups) {
        const [first] = steps as [Step]
        let model = await readModel(merchant.id)
        if (fault) {
          const isCrash = await faults.during(fault, () => world.apply(first))
          if (isCrash) expect(await readModel(merchant.id)).toEqual(model)
          if (isCrash) seen.crashes += 1
        } else if (steps.length === 1) {
          const predicted = world.predict(model, first)
          expect(await world.apply(first)).toBe(predicted)
          expect(await readModel(merchant.id)).toEqual(model)
          if (predicted && predicted in seen) seen[predicted as 'not_found'] += 1
          if (predicted === 'refund_exceeds_remainder' && world.isRefusedByDispute(first))
            seen.refusedByDispute += 1
        } else await Promise.all(steps.map(one => world.apply(one)))
        await world.resync()
        model = await readModel(merchant.id)
        expect(Math.min(model.available, model.owed)).toBe(0)
        if (model.owed > model.disputed) seen.claims += 1
        const { available, outbound, disputed, owed } = model
        expect(available + outbound + disputed - owed).toBe(await countMoney(merchant.id))
      }
      const where = { accountId: merchant.id }
      const lostAmount = { lt: db().dispute.fields.amount }
      seen.partlyLost += await db().dispute.count({ where: { ...where, lostAmount } })
      const charge = { refundedAmount: { gt: 0 } }
      seen.refunded += await db().dispute.count({ where: { ...where, charge } })
      await expectBalancedLedger(merchant.id)
    }
    // Few steps seldom open a dispute and lose a part of it.
    const minLength = Math.min(8, GROUP_COUNT)
    const groups = fc.array(group, { minLength, maxLength: GROUP_COUNT, size: 'max' })
    await fc.assert(fc.asyncProperty(groups, fc.boolean(), checkGroups), {
      numRuns: RUN_COUNT,
      endOnFailure: true,
    })
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    if (RUN_COUNT >= 100) for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
  },
  RUN_COUNT * 5_000 + 60_000,
)
