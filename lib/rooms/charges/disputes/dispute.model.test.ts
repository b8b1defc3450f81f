import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID, newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { writeOffClaim } from '#lib/rooms/accounts/write-off.ts'
import { loseDispute, winDispute } from '#lib/rooms/charges/disputes/close.ts'
import { openDispute } from '#lib/rooms/charges/disputes/open.ts'
import type { DisputeReport } from '#lib/rooms/charges/disputes/schema.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { createWithdrawal } from '#lib/rooms/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/rooms/withdrawals/settle.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { makeReceipt } from '#lib/testing/receipts.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)
const GROUP_COUNT = Number(process.env.MODEL_COMMANDS || 12)
const ACTOR = { type: 'system' } as const
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const DISPUTE_AMOUNTS = [3_000, 5_000, 8_000]

inOwnDatabase()
/** Each table that a dispute or a credit writes, so that a crash is tried at every step. */
const TABLES = [
  ...(['disputes', 'ledger_accounts', 'ledger_transfers', 'ledger_entries', 'charges'] as const),
  ...(['withdrawals', 'write_offs', 'audit_log', 'inbox_items', 'booked_payments'] as const),
]
const faults = new Faults(TABLES)

type Step =
  | { do: 'pay' | 'withdraw'; amount: number }
  | { do: 'approve' | 'reject'; which: number }
  | { do: 'open' | 'win' | 'lose'; which: number }
  | { do: 'write off' }

const amount = fc.constantFrom(1_000, 2_500, 4_000, 9_000)
const which = fc.nat(DISPUTE_AMOUNTS.length - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('pay' as const, 'withdraw' as const), amount }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('approve' as const, 'reject' as const), which }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('open' as const, 'win' as const, 'lose' as const),
      which,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('write off' as const) }) },
)
/** Steps of a group run at the same time; a group with a fault has one step, which is aborted. */
const group = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  fault: fc.option(fc.constantFrom(...TABLES), { freq: 3 }),
})

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

  /** Returns the code of the refusal, if there is one. */
  withdraw(value: number): string | null {
    if (value > this.available)
      return Math.min(this.owed, this.disputed) > 0 ? 'dispute_not_covered' : 'insufficient_balance'
    this.available -= value
    this.outbound += value
    return null
  }
}

async function readModel(accountId: string): Promise<Model> {
  const rows = await db().ledgerAccount.findMany({ where: { accountId, mode: 'test' } })
  const balance = (name: string) => Number(rows.find(({ ledger }) => ledger === name)?.balance ?? 0)
  const { available, outbound, disputed } = {
    ...{ available: balance('available'), outbound: balance('outbound') },
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
      - COALESCE((SELECT sum(amount) FROM disputes WHERE account_id = ${accountId}::uuid AND status = 'lost'), 0)
      + COALESCE((SELECT sum(amount) FROM write_offs WHERE account_id = ${accountId}::uuid), 0))::float8 AS money`
  return row?.money ?? 0
}

class World {
  readonly withdrawals: { id: string; amount: number; ended: boolean }[] = []
  readonly states = DISPUTE_AMOUNTS.map(() => 'new' as 'new' | 'open' | 'won' | 'lost')
  private readonly merchant: Account
  private readonly reports: DisputeReport[]

  constructor(merchant: Account, reports: DisputeReport[]) {
    this.merchant = merchant
    this.reports = reports
  }

  /** Carries out a step; returns the code of its refusal. */
  async apply(one: Step): Promise<string | null> {
    const accountId = this.merchant.id
    const dispute = this.reports['which' in one ? one.which : 0] as DisputeReport
    const order = this.withdrawals.at('which' in one ? -1 - one.which : -1)
    const withdrawal = { accountId, withdrawalId: order?.id ?? newId() }
    const codeOf = (error: { code?: string }) => {
      if (!error.code) throw error
      return error.code
    }
    if (one.do === 'pay') await pay(this.merchant, one.amount)
    else if (one.do === 'withdraw') {
      const made = createWithdrawal(accountId, 'test', { amount: one.amount, ...KEY })
      const result = await made.catch(codeOf)
      if (typeof result === 'string') return result
      this.withdrawals.push({ id: result.id, amount: one.amount, ended: false })
    } else if (one.do === 'approve')
      await approveWithdrawal({ ...withdrawal, endToEndId: newEndToEndId() })
    else if (one.do === 'reject')
      await rejectWithdrawal({ ...withdrawal, reason: { code: 'unspecified', params: {} } })
    else if (one.do === 'write off')
      return writeOffClaim(accountId, 'test', { reason: 'test' }, ACTOR).then(() => null, codeOf)
    else await { open: openDispute, win: winDispute, lose: loseDispute }[one.do](dispute)
    return null
  }

  /** Predicts a step that runs alone. */
  predict(model: Model, one: Step): string | null {
    if (one.do === 'pay') model.credit(one.amount)
    if (one.do === 'withdraw') return model.withdraw(one.amount)
    if (one.do === 'write off') {
      const claim = Math.max(0, model.owed - model.disputed)
      model.owed -= claim
      return claim === 0 ? 'not_found' : null
    }
    if (one.do === 'approve' || one.do === 'reject') this.endOrder(model, one)
    if (one.do === 'open' || one.do === 'win' || one.do === 'lose') this.report(model, one)
    return null
  }

  private endOrder(model: Model, one: Extract<Step, { do: 'approve' | 'reject' }>): void {
    const order = this.withdrawals.at(-1 - one.which)
    if (!order || order.ended) return
    order.ended = true
    model.outbound -= order.amount
    if (one.do === 'reject') model.credit(order.amount)
  }

  private report(model: Model, one: Extract<Step, { do: 'open' | 'win' | 'lose' }>): void {
    const value = DISPUTE_AMOUNTS[one.which] ?? 0
    const state = this.states[one.which]
    if (state === 'new' && one.do !== 'win') model.open(value)
    const isEnding = state === 'open' || state === 'new'
    if (one.do === 'open') {
      if (state === 'new') this.states[one.which] = 'open'
    } else if (isEnding) {
      if (state === 'open' || one.do === 'lose') model.disputed -= value
      if (state === 'open' && one.do === 'win') model.credit(value)
      this.states[one.which] = one.do === 'win' ? 'won' : 'lost'
    }
  }

  async resync(): Promise<void> {
    const accountId = this.merchant.id
    const disputes = await db().dispute.findMany({ where: { accountId } })
    for (const [index, { bankId }] of this.reports.entries()) {
      const status = disputes.find(dispute => dispute.bankId === bankId)?.status
      this.states[index] = (status ?? 'new') as 'new'
    }
    const rows = await db().withdrawal.findMany({ where: { accountId } })
    for (const order of this.withdrawals)
      order.ended = rows.find(({ id }) => id === order.id)?.status !== 'pending'
  }
}

async function pay(merchant: Account, value: number): Promise<string> {
  const { id } = await openCharge(merchant, value)
  const payment = makeReceipt(value)
  await receivePayments([{ accountId: merchant.id, chargeId: id, payments: [payment] }])
  return payment.endToEndId
}

test(
  'disputes hold, release and claim exactly what they should, in any order and after any crash',
  async () => {
    const seen = { crashes: 0, dispute_not_covered: 0, not_found: 0, claims: 0 }

    async function checkGroups(groups: { steps: Step[]; fault: string | null }[]): Promise<void> {
      const merchant = await makeMerchant()
      const reports: DisputeReport[] = []
      for (const value of DISPUTE_AMOUNTS) {
        const endToEndId = await pay(merchant, value)
        const bankId = newId()
        reports.push({ connectionId: SIMULATOR_CONNECTION_ID, bankId, endToEndId, amount: value })
      }
      const world = new World(merchant, reports)
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
        } else await Promise.all(steps.map(one => world.apply(one)))
        await world.resync()
        model = await readModel(merchant.id)
        expect(Math.min(model.available, model.owed)).toBe(0)
        if (model.owed > model.disputed) seen.claims += 1
        const { available, outbound, disputed, owed } = model
        expect(available + outbound + disputed - owed).toBe(await countMoney(merchant.id))
      }
      await expectBalancedLedger(merchant.id)
    }
    const groups = fc.array(group, { minLength: 1, maxLength: GROUP_COUNT, size: 'max' })
    await fc.assert(fc.asyncProperty(groups, checkGroups), {
      numRuns: RUN_COUNT,
      endOnFailure: true,
    })
    await expectBalancedLedger(HOUSE_ACCOUNT_ID)
    if (RUN_COUNT >= 50) for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
  },
  RUN_COUNT * 5_000 + 60_000,
)
