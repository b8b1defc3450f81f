import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BankDays } from '#e2e/banks/bank-days.ts'
import { openAt } from '#e2e/banks/open.ts'
import { startBank } from '#e2e/psp/start.ts'
import { matchPayments } from '#lib/charges/receive.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import {
  claimDay,
  endDay,
  listReconciledDays,
  shiftDay,
  startOf,
} from '#lib/operator/reconciliation/claim-day.ts'
import { createDayReconciler } from '#lib/operator/reconciliation/reconcile.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { runTroco, settingsBesideTest } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

inOwnDatabase()

const HOUR_MS = 3_600_000
const YESTERDAY = shiftDay(dayOf(new Date()), -1)
const DAY = shiftDay(YESTERDAY, -1)
const atHour = (day: string, hour: number) => new Date(startOf(day).getTime() + hour * HOUR_MS)

let bank: BankDays
let folder: string
beforeAll(async () => {
  folder = makeScratchFolder('troco-reconcile-')
  bank = await BankDays.open(DAY)
})
afterAll(async () => {
  await bank?.close()
  rmSync(folder, { recursive: true })
})

async function runAt(now: Date): Promise<void> {
  const reconciler = createDayReconciler(() => now)
  await reconciler.run()
  await reconciler.idle()
}
async function runAllAt(now: Date): Promise<void> {
  const reconciler = createDayReconciler(() => now)
  while ((await reconciler.run()) > 0) await reconciler.idle()
}
const readDay = async (id: string, day: string) =>
  (await listReconciledDays(id, { from: day, to: day }))[0]
const countOrders = async () =>
  (await bank.account.bank.run('readTraffic', {})).filter(
    ({ method, target }) => method === 'POST' && target.endsWith('/extrato-conciliacao'),
  ).length

describe('a day that is over', () => {
  const night = atHour(shiftDay(DAY, 1), 3.1)
  const later = (ms: number) => new Date(night.getTime() + ms)

  beforeAll(async () => {
    await bank.at(atHour(DAY, 12), async () => {
      await bank.receive(5_000)
      await bank.account.payAlone('0'.repeat(31), 300)
      await bank.account.settle()
    })
  })

  test('a statement in the making is asked for by the same id, by any process', async () => {
    const before = await countOrders()
    await bank.account.bank.run('change', { reportQuestions: 2 })
    for (const ms of [0, 30_000, 35_000]) await runAt(later(ms))
    const where = { connectionId: bank.account.id, cursor: { not: null } }
    const row = await db().reconciledDay.findFirst({ where })
    expect(row).toMatchObject({ lease: null, cursor: expect.any(String) })
    // A worker that is killed now has the day until the end of its lease.
    const killed = await claimDay(bank.account.id, later(3_600_000))
    expect(killed).toMatchObject({ day: DAY, cursor: row?.cursor })
    await runAllAt(later(3_660_000))
    expect(await countOrders()).toBe(before + 1)
    expect(await readDay(bank.account.id, DAY)).toMatchObject({ source: 'statement', flaw: null })
    const empty = { opening: null, closing: null, books: null, flaw: null, dueAt: null }
    const result = { source: 'lists' as const, counts: {}, strays: [], readAt: night, ...empty }
    expect(killed && (await endDay(db(), killed, result))).toBe(false)
    await bank.account.bank.run('change', { reportQuestions: 0 })
  })

  test('processes that read the same day book and report once', async () => {
    const count = () => Promise.all([db().bankFee.count(), db().difference.count()])
    const before = await count()
    await Promise.all([0, 1, 2].map(() => bank.repeat(DAY, shiftDay(DAY, 1))))
    expect(await count()).toEqual(before)
    expect(await bank.judge(DAY)).toMatchObject({
      state: 'items',
      items: ['day_missing_here payout'],
    })
  })

  test('its statement, if it cannot be read, leaves it unread until it can be', async () => {
    await bank.changeStatement(DAY, file => file.replace(/^T;.*\n/m, ''))
    await bank.repeat(DAY, shiftDay(DAY, 1))
    expect(await readDay(bank.account.id, DAY)).toMatchObject({
      state: 'unread',
      flaw: 'statement_cut',
    })
    await bank.repeat(DAY, shiftDay(DAY, 1))
    expect(await readDay(bank.account.id, DAY)).toMatchObject({ state: 'items', flaw: null })
  })

  test('the balance is explained by what the open items name', async () => {
    const { terms, rest } = await readConnectionBalance(bank.account.id)
    expect({ ...terms, rest }).toMatchObject({ others: -300, payouts: 0, payments: 0, rest: 0 })
    await expectBalancedLedger(bank.merchant.id)
  })
})

describe('troco reconcile', () => {
  /** Runs the command beside this test, in the same database. */
  function reconcile(...args: string[]) {
    return runTroco(['reconcile', ...args], settingsBesideTest(folder))
  }

  const MISTAKES: [string[], string][] = [
    [['--from', DAY, 'no-bank'], 'No connection found for no-bank'],
    [['--from', '2026-02-30'], '--from must be a date such as 2026-11-20'],
    [['--from', '2999-01-01'], '--from must not be after today'],
    [['--from', DAY, '--to', shiftDay(DAY, -1)], '--to must not be before --from'],
  ]
  test.each(MISTAKES.slice(0, pickSize(2, MISTAKES.length)))(
    '%j is refused: %s',
    async (args, message) => {
      expect(await reconcile(...args)).toMatchObject({
        code: 1,
        output: expect.stringContaining(message),
      })
    },
  )

  testInTorture('prints a day with its items, and 1 until each of them is settled', async () => {
    const open = await reconcile('--from', DAY, bank.account.id)
    expect(open.output).toContain(`\t${DAY}\titems\tby statement, `)
    expect(open.output).toContain(`\tday_missing_here\t${DAY} payout ${'0'.repeat(31)}\t{`)
    expect(open.code).toBe(1)
    await bank.settleItems(DAY)
    for (const _ of ['first', 'again']) {
      const green = await reconcile('--from', DAY, '--to', DAY)
      expect(green.output).toContain(`\t${DAY}\tgreen\tby statement, `)
      expect(green.code).toBe(0)
    }
  })
})

describe('a day that is not over is read by lists', () => {
  test('an old payment that was not booked is, a new one waits, and one of ours is named', async () => {
    const standard = await startBank({})
    const { id } = await openAt(standard)
    const data = { createdAt: startOf(YESTERDAY) }
    await db().connection.update({ where: { id }, data })
    const secondsSince = (hour: number) =>
      Math.round((Date.now() - atHour(YESTERDAY, hour).getTime()) / 1_000)
    for (const hour of [12, 17.5])
      await standard.run('pay', {
        key: standard.keys[0],
        amount: 700,
        secondsAgo: secondsSince(hour),
      })
    const paidAt = atHour(YESTERDAY, 11)
    const foreign = makePayment(900, { paidAt })
    await matchPayments({ id, mode: 'live' }, [foreign])
    await bank.stamp(new Date(Date.now() - HOUR_MS), paidAt)
    await runAt(atHour(YESTERDAY, 18))
    const line = await readDay(id, YESTERDAY)
    const items = line?.items.map(({ kind, facts }) => [kind, facts.amount ?? facts.what])
    expect(items).toEqual([
      ['payment_unmatched', 900],
      ['payment_unmatched', 700],
      ['day_missing_there', 'payment'],
    ])
    expect(line).toMatchObject({ source: 'lists', counts: { matched: 1, waiting: 1, booked: 1 } })
    expect(await db().unmatchedPayment.count({ where: { connectionId: id } })).toBe(2)
    // 10 minutes later, and not before, the day is read again, with the same result.
    const [row] = await db().reconciledDay.findMany({ where: { connectionId: id } })
    expect(row?.dueAt).toEqual(new Date(atHour(YESTERDAY, 18).getTime() + 600_000))
    const count = await db().difference.count()
    await runAt(row?.dueAt as Date)
    expect(await db().difference.count()).toBe(count)
    await standard.stop()
  })
})
