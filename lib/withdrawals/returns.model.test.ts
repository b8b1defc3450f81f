import { expect, test } from 'vitest'
import type { PayoutReturn } from '#lib/banks/gateway.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { endAsReported, returnPayout } from '#lib/withdrawals/outcome.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)
const COMMAND_COUNT = Number(process.env.MODEL_COMMANDS || 12)
const AMOUNT = 1_000
const ORDER = { amount: AMOUNT, pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const WITHDRAWAL_COUNT = 2

inOwnDatabase()
/** Each table that a return writes, so that a crash is tried at every step. */
const TABLES = [
  'booked_payments',
  'withdrawals',
  'payout_returns',
  'ledger_accounts',
  ...([
    'ledger_transfers',
    'ledger_entries',
    'event_sequences',
    'events',
    'unmatched_payments',
  ] as const),
]
const faults = new Faults(TABLES)

type Report =
  /** The state of a payout with all that came back of it so far. */
  { do: 'state'; which: number } | { do: 'return'; which: number; nth: number }
type Command =
  | { do: 'come back'; which: number; amount: number }
  | { do: 'report'; reports: Report[]; fault: string | null }

const which = fc.nat(WITHDRAWAL_COUNT - 1)
const report: fc.Arbitrary<Report> = fc.oneof(
  fc.record({ do: fc.constant('state' as const), which }),
  fc.record({ do: fc.constant('return' as const), which, nth: fc.nat(4) }),
)
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    do: fc.constant('come back' as const),
    which,
    amount: fc.constantFrom(1, 300, 700, AMOUNT),
  }),
  fc.record({
    do: fc.constant('report' as const),
    reports: fc.array(report, { minLength: 1, maxLength: 3 }),
    fault: fc.option(fc.constantFrom(...TABLES), { freq: 3 }),
  }),
)

test(
  'each return is credited or suspended, once, and never more than was sent',
  async () => {
    const seen = { credited: 0, suspended: 0, crashes: 0 }

    async function checkCommands(commands: Command[]): Promise<void> {
      const merchant = await makeMerchant()
      await fundMerchant(merchant, WITHDRAWAL_COUNT * AMOUNT)
      const payouts = await Promise.all(
        Array.from({ length: WITHDRAWAL_COUNT }, async () => {
          const { id } = await createWithdrawal(merchant.id, 'test', ORDER)
          return { id, endToEndId: newEndToEndId(), returns: [] as PayoutReturn[] }
        }),
      )
      function apply(step: Report): Promise<unknown> {
        const { id, endToEndId, returns } = payouts[step.which] as (typeof payouts)[number]
        if (step.do === 'state')
          return endAsReported(merchant.id, id, { state: 'done', endToEndId, returns })
        const one = returns[step.nth % Math.max(1, returns.length)]
        const withdrawal = { accountId: merchant.id, withdrawalId: id }
        return one ? returnPayout(withdrawal, one) : Promise.resolve()
      }
      for (const step of commands) {
        if (step.do === 'come back')
          payouts[step.which]?.returns.push({
            id: `D${newId()}`,
            amount: step.amount,
            returnedAt: new Date(),
          })
        else if (step.fault) {
          const [first] = step.reports
          if (await faults.during(step.fault, () => apply(first as Report))) seen.crashes += 1
        } else await Promise.all(step.reports.map(apply))
      }
      for (const [index, { returns }] of payouts.entries()) {
        await apply({ do: 'state', which: index })
        for (const [nth] of returns.entries()) await apply({ do: 'return', which: index, nth })
      }

      let back = 0
      for (const { id, returns } of payouts) {
        const ids = returns.map(one => one.id)
        const credited = await db().payoutReturn.findMany({ where: { returnId: { in: ids } } })
        const suspended = await db().unmatchedPayment.findMany({
          where: { endToEndId: { in: ids } },
        })
        const booked = [
          ...credited.map(row => [row.returnId, Number(row.amount)]),
          ...suspended.map(row => [row.endToEndId, Number(row.amount)]),
        ]
        expect(booked.toSorted()).toEqual(returns.map(one => [one.id, one.amount]).toSorted())
        const sum = credited.reduce((total, { amount }) => total + Number(amount), 0)
        expect(sum).toBeLessThanOrEqual(AMOUNT)
        const row = await db().withdrawal.findFirstOrThrow({ where: { id } })
        expect([row.status, Number(row.returnedAmount)]).toEqual(['approved', sum])
        const where = { subjectId: id, type: 'withdrawal.returned' }
        expect(await db().event.count({ where })).toBe(credited.length)
        back += sum
        seen.credited += credited.length
        seen.suspended += suspended.length
      }
      expect(await readBalances(merchant.id, 'test')).toEqual({ available: back, outbound: 0 })
      await expectBalancedLedger(merchant.id)
    }
    const commands = fc.array(command, { minLength: 1, maxLength: COMMAND_COUNT, size: 'max' })
    await fc.assert(fc.asyncProperty(commands, checkCommands), {
      numRuns: RUN_COUNT,
      endOnFailure: true,
    })
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    if (RUN_COUNT >= 50) for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
  },
  RUN_COUNT * 5_000 + 60_000,
)
