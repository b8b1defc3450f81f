import { expect, test } from 'vitest'
import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { matchPayments, receivePayments } from '#lib/charges/receive.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import fc from '#lib/testing/property.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)
const COMMAND_COUNT = Number(process.env.MODEL_COMMANDS || 12)
const CONNECTION = { id: SIMULATOR_CONNECTION_ID, mode: 'test' } as const
const CHARGE_COUNT = 3
const AMOUNT = 1_000

inOwnDatabase()
/** Each table that a payment writes, so that a crash is tried at every step. */
const TABLES = [
  'booked_payments',
  'charges',
  'ledger_accounts',
  'ledger_transfers',
  ...([
    'ledger_entries',
    'event_sequences',
    'events',
    'unmatched_payments',
    'differences',
  ] as const),
]
const faults = new Faults(TABLES)

/** A report of the bank. Reports come in any order, and repeatedly. */
type Report =
  /** The payments of a charge, of which the newest may be missing. */
  | { do: 'query'; charge: number; missing: number }
  /** A page of its list; `hidden` payments come without their txid. */
  | { do: 'list'; from: number; count: number; hidden: boolean }
  | { do: 'close'; charge: number; outcome: 'expired' | 'failed' }
type Command =
  | { do: 'pay'; charge: number | null; difference: number; minute: number }
  | { do: 'report'; reports: Report[]; fault: string | null }

const report: fc.Arbitrary<Report> = fc.oneof(
  fc.record({
    do: fc.constant('query' as const),
    charge: fc.nat(CHARGE_COUNT - 1),
    missing: fc.nat(1),
  }),
  fc.record({
    do: fc.constant('list' as const),
    from: fc.nat(9),
    count: fc.integer({ min: 1, max: 5 }),
    hidden: fc.boolean(),
  }),
  fc.record({
    do: fc.constant('close' as const),
    charge: fc.nat(CHARGE_COUNT - 1),
    outcome: fc.constantFrom('expired' as const, 'failed' as const),
  }),
)
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    do: fc.constant('pay' as const),
    charge: fc.option(fc.nat(CHARGE_COUNT - 1), { freq: 6 }),
    difference: fc.constantFrom(0, 0, 0, -1, 250),
    minute: fc.nat(5),
  }),
  fc.record({
    do: fc.constant('report' as const),
    reports: fc.array(report, { minLength: 1, maxLength: 3 }),
    fault: fc.option(fc.constantFrom(...TABLES), { freq: 3 }),
  }),
)

interface Paid extends ReceivedPayment {
  charge: number | null
}

test(
  'each payment is credited or suspended, once, whatever the bank reports and whenever a worker dies',
  async () => {
    const seen = { credited: 0, suspended: 0, crashes: 0 }

    async function checkCommands(commands: Command[]): Promise<void> {
      const merchant = await makeMerchant()
      const ids = await Promise.all(
        Array.from({ length: CHARGE_COUNT }, async () => (await openCharge(merchant, AMOUNT)).id),
      )
      const paid: Paid[] = []

      function apply(step: Report): Promise<unknown> {
        const chargeId = ids['charge' in step ? step.charge : 0] ?? ''
        if (step.do === 'close') return closeCharge(merchant.id, chargeId, step.outcome)
        if (step.do === 'query') {
          const payments = paid.filter(({ charge }) => charge === step.charge)
          const known = payments.slice(0, payments.length - step.missing)
          return known.length === 0
            ? Promise.resolve()
            : receivePayments([{ accountId: merchant.id, chargeId, payments: known }])
        }
        const page = paid.slice(step.from, step.from + step.count)
        return matchPayments(
          CONNECTION,
          step.hidden ? page.map(payment => ({ ...payment, txid: null })) : page,
        )
      }

      for (const step of commands) {
        if (step.do === 'pay') {
          const { charge, difference, minute } = step
          const txid = charge === null ? null : removeHyphens(ids[charge] ?? '')
          const paidAt = new Date(Date.UTC(2026, 10, 21, 0, minute))
          paid.push({ ...makePayment(AMOUNT + difference, { txid, paidAt }), charge })
        } else if (step.fault) {
          const [first] = step.reports
          const isCrash = await faults.during(step.fault, () => apply(first as Report))
          if (isCrash) seen.crashes += 1
        } else await Promise.all(step.reports.map(apply))
      }
      // Whatever was lost is reported again.
      for (let round = 0; round < 2; round++) {
        for (const [charge] of ids.entries()) await apply({ do: 'query', charge, missing: 0 })
        await apply({ do: 'list', from: 0, count: paid.length, hidden: round === 1 })
      }

      const charges = await db().charge.findMany({ where: { accountId: merchant.id } })
      const credited = new Map(charges.map(row => [row.endToEndId, row]))
      const payments = await db().unmatchedPayment.findMany({
        where: { endToEndId: { in: paid.map(({ endToEndId }) => endToEndId) } },
      })
      const items = await db().difference.findMany({
        where: { key: { in: paid.map(({ endToEndId }) => endToEndId) } },
      })
      const suspended = payments.map(({ endToEndId }) => endToEndId).sort()
      expect(items.map(({ key }) => key).sort()).toEqual(suspended)
      for (const { endToEndId, amount, charge } of paid) {
        const row = credited.get(endToEndId)
        expect([row !== undefined, suspended.includes(endToEndId)].toSorted()).toEqual([
          false,
          true,
        ])
        if (row) expect([row.id, Number(row.amount)]).toEqual([ids[charge ?? -1], amount])
      }
      for (const { status, id } of charges) {
        const paidEvents = { accountId: merchant.id, subjectId: id, type: 'transaction.paid' }
        expect(await db().event.count({ where: paidEvents })).toBe(status === 'paid' ? 1 : 0)
      }
      const creditedCount = charges.filter(({ status }) => status === 'paid').length
      expect((await readBalances(merchant.id, 'test')).available).toBe(creditedCount * AMOUNT)
      const total = payments.reduce((sum, { amount }) => sum + Number(amount), 0)
      const received = paid.reduce((sum, { amount }) => sum + amount, 0)
      expect(creditedCount * AMOUNT + total).toBe(received)
      seen.credited += creditedCount
      seen.suspended += payments.length
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
