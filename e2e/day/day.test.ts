import { expect, test } from 'vitest'
import { readOwnBook } from '#e2e/day/books.ts'
import { findLost, listFindings } from '#e2e/day/checks.ts'
import { Driver } from '#e2e/day/driver.ts'
import { DAY, makePlan } from '#e2e/day/plan.ts'
import { startProcesses } from '#e2e/day/processes.ts'
import { openStage } from '#e2e/day/stage.ts'
import { Time } from '#e2e/day/time.ts'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

const random = new Random(chooseSeed(), 0)
/** Repeats the day of one seed. */
const { DAY_SEED } = process.env
const seeds = DAY_SEED
  ? [Number(DAY_SEED)]
  : Array.from({ length: pickSize(1, 100) }, () => random.between(0, 2 ** 31 - 1))

/** Deviations of a whole hour are no faults of single requests. */
const isFaulty = ({ to, fault }: { to: string; fault: string | null }) =>
  to === 'bank' && fault !== null && fault !== 'quirk'

test.each(seeds)(
  'a day of faults and kills leaves the books of both sides equal: DAY_SEED=%i',
  async seed => {
    const plan = makePlan(seed, DAY)
    const habits = Object.entries(plan.habits).flatMap(([name, value]) => (value ? [name] : []))
    process.stdout.write(
      `DAY_SEED=${seed} repeats this day, with ${habits.join(', ') || 'no habits'}\n`,
    )
    const { accounts, payees } = plan
    const stage = await openStage({ accounts, payees, serve: startProcesses })
    const time = await Time.open()
    try {
      const began = Date.now()
      const { bank, server, connectionId, api } = stage
      const driver = new Driver(stage, time, server.restart)
      await driver.run(plan)
      const untilLast = formatSecondsSince(began)
      await driver.waitUntilQuiet()
      const { acknowledged, payments, refused } = driver.merchants
      const verifying = server.run('ledger', 'verify')
      const lost = await findLost(plan, acknowledged, await readOwnBook(connectionId))
      const found = [...lost, ...(await listFindings(stage, time))]
      expect(found).toEqual([])
      expect(await verifying).toMatchObject({ code: 0 })
      const exchanges = await bank.run('readTraffic', {})
      const { charges, payouts, refunds } = acknowledged
      recordFigures(`day ${seed}`, {
        charges: charges.size,
        payouts: payouts.size,
        refunds: refunds.size,
        payments,
        'payments refused by the bank': refused,
        kills: driver.kills,
        'faults met': exchanges.filter(isFaulty).length,
        'requests of merchants': api.requests,
        'exchanges with the bank': exchanges.length,
        'until the last request': untilLast,
        'until quiet': formatSecondsSince(began),
      })
    } finally {
      await time.close()
      await stage.close()
    }
  },
  // It ends when nothing goes on any more.
  3_600_000,
)
