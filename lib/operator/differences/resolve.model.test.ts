import { beforeAll, expect, test } from 'vitest'
import { payByUnmatched } from '#lib/charges/receive.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { creditAccount, giveBack, takeUnmatched } from '#lib/operator/differences/differences.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { SEND_BEHAVIORS, StubBank } from '#lib/testing/bank.ts'
import {
  addConnection,
  assignConnection,
  endPause,
  openLiveCharge,
} from '#lib/testing/connection.ts'
import { keepStray, operatorBalances } from '#lib/testing/differences.ts'
import { Faults } from '#lib/testing/faults.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueReturns } from '#lib/testing/orders.ts'
import fc from '#lib/testing/property.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)
const ITEM_COUNT = 4
const CHARGE_COUNT = 2
const AMOUNT = 1_000
const ACTOR = { type: 'user', id: newId() } as const

inOwnDatabase()
/** Each table that an entry writes, so that a crash is tried at every step. */
const TABLES = [
  'differences',
  'unmatched_resolutions',
  'unmatched_returns',
  'charges',
  'events',
  'ledger_accounts',
  'ledger_transfers',
  'ledger_entries',
  'audit_log',
]
const faults = new Faults(TABLES)
const bank = new StubBank()
bank.isQuick = true

let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(bank)
})

const entry = fc.record({
  item: fc.nat(ITEM_COUNT - 1),
  charge: fc.nat(CHARGE_COUNT - 1),
  do: fc.constantFrom('keep' as const, 'credit' as const, 'match' as const, 'give_back' as const),
  send: fc.constantFrom(...SEND_BEHAVIORS),
})
type Entry = typeof entry extends fc.Arbitrary<infer Value> ? Value : never
/** People act at once, or one of them while a table cannot be written; or the worker runs. */
const step = fc.oneof(
  fc.record({ entries: fc.array(entry, { minLength: 1, maxLength: 4 }), fault: fc.constant(null) }),
  fc.record({
    entries: fc.array(entry, { minLength: 0, maxLength: 1 }),
    fault: fc.option(fc.constantFrom(...TABLES)),
  }),
)

async function send(): Promise<void> {
  await endPause(connectionId)
  await makeOrdersDue({ slots: true })
  await sendDueReturns()
}

test(
  'each payment is settled at most once, whoever decides what, and whenever a process dies',
  async () => {
    const seen = { keep: 0, credit: 0, match: 0, give_back: 0, crashes: 0 }

    async function checkSteps(steps: { entries: Entry[]; fault: string | null }[]): Promise<void> {
      const merchant = await makeMerchant()
      await assignConnection(connectionId, merchant)
      const place = { connectionId, mode: 'live' as const }
      const [before, charges, items] = [
        await operatorBalances('live'),
        await Promise.all(
          Array.from({ length: CHARGE_COUNT }, () => openLiveCharge(merchant, AMOUNT)),
        ),
        await Promise.all(Array.from({ length: ITEM_COUNT }, () => keepStray(AMOUNT, place))),
      ]
      const itemIds = items.map(({ itemId }) => itemId)

      async function decide({ item, charge, send, ...entry }: Entry): Promise<void> {
        const decision = { itemId: itemIds[item] ?? '', reason: 'Decided', actor: ACTOR }
        if (entry.do === 'keep') return takeUnmatched(decision)
        if (entry.do === 'credit') return creditAccount(decision, merchant.id)
        if (entry.do === 'match')
          return void (await payByUnmatched(decision, charges[charge]?.id ?? ''))
        const { id } = await giveBack(decision)
        bank.setScript(removeHyphens(id), { sends: [send] })
      }

      const work = ({ entries }: { entries: Entry[] }) =>
        entries.length === 0
          ? send()
          : Promise.all(
              entries.map(entry =>
                decide(entry).catch(error => {
                  if (!isTrocoError(error)) throw error
                  expect(['already_final', 'under_way']).toContain(error.code)
                }),
              ),
            )
      for (const step of steps) {
        if (!step.fault) await work(step)
        else if (await faults.during(step.fault, () => work(step))) seen.crashes += 1
      }
      while ((await db().unmatchedReturn.count({ where: { status: 'pending' } })) > 0) await send()

      const resolved = await db().difference.findMany({ where: { id: { in: itemIds } } })
      const count = (resolution: string | null) =>
        resolved.filter(row => row.resolution === resolution).length
      const after = await operatorBalances('live')
      const moved = (ledger: string) => (after[ledger] ?? 0) - (before[ledger] ?? 0)
      expect(moved('own')).toBe(count('keep') * AMOUNT)
      expect(moved('unmatched')).toBe(count(null) * AMOUNT)
      const { available } = await readBalances(merchant.id, 'live')
      expect(available).toBe((count('credit') + count('match')) * AMOUNT)
      const paid = { accountId: merchant.id, status: 'paid' }
      expect(await db().charge.count({ where: paid })).toBe(count('match'))
      const returns = await db().unmatchedReturn.findMany({ where: { itemId: { in: itemIds } } })
      const debits = returns.map(({ id }) => bank.countDebits(removeHyphens(id)))
      expect(debits.reduce((sum, one) => sum + one, 0)).toBe(count('give_back'))
      for (const name of ['keep', 'credit', 'match', 'give_back'] as const)
        seen[name] += count(name)
      await expectBalancedLedger(merchant.id)
    }
    const steps = fc.array(step, { minLength: 2, maxLength: 10, size: 'max' })
    await fc.assert(fc.asyncProperty(steps, checkSteps), { numRuns: RUN_COUNT, endOnFailure: true })
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    if (RUN_COUNT >= 50) for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
  },
  RUN_COUNT * 5_000 + 60_000,
)
