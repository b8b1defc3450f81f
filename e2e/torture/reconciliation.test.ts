import { afterAll, beforeAll, expect, test } from 'vitest'
import { BankDays } from '#e2e/banks/bank-days.ts'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { matchPayments } from '#lib/charges/receive.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'
import { payFees } from '#lib/differences/differences.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { endOf, shiftDay, startOf } from '#lib/operator/reconciliation/claim-day.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

inOwnDatabase()

const DAY_COUNT = pickSize(3, 30)
const FIRST = shiftDay(dayOf(new Date()), -1 - DAY_COUNT)
const HOUR_MS = 3_600_000

let bank: BankDays
let connection: { id: string; mode: 'live' }
beforeAll(async () => {
  bank = await BankDays.open(FIRST)
  connection = { id: bank.account.id, mode: 'live' }
})
afterAll(() => bank?.close())

const noonOf = (day: string) => new Date(startOf(day).getTime() + 12 * HOUR_MS)

interface Found {
  /** Open items of the day, as `kind what`. */
  items?: string[]
  /** Movements that the reading of the day books by itself, fees excepted. */
  booked?: number
  /** What is booked on another day than the bank has it. */
  onOtherDays?: number
  check?: () => Promise<void>
}

/** Differences by hand: each happens at noon of a day, and says what must be found. */
const DIFFERENCES: Record<string, (day: string) => Promise<Found>> = {
  async 'a payment that nobody has listed'() {
    const { id } = await bank.pay(1_100)
    const read = () => db().charge.findFirstOrThrow({ where: { id } })
    expect((await read()).status).toBe('pending')
    const check = async () => expect((await read()).status).toBe('paid')
    return { booked: 1, onOtherDays: 1, check }
  },
  async 'a charge that is paid twice'() {
    await bank.receive(1_200, 2)
    return { items: ['payment_repeated'] }
  },
  async 'a fee of another amount'(day) {
    const { payments } = await bank.receive(1_300)
    const bankId = `${day} payment_fee ${payments[0]?.endToEndId}`
    const fee = { connectionId: connection.id, mode: 'live', bankId, isReturn: false } as const
    await payFees([{ ...fee, amount: 999, at: noonOf(day) }])
    return { items: ['day_different fee'] }
  },
  async 'a payout that comes back in parts'() {
    const { id } = await bank.payOut(6_000)
    const idEnvio = removeHyphens(id)
    for (const amount of [100, 100, 200])
      await bank.account.bank.run('returnPayout', { idEnvio, amount })
    const check = async () => {
      const { returnedAmount } = await db().withdrawal.findFirstOrThrow({ where: { id } })
      expect(returnedAmount).toBe(400n)
    }
    return { booked: 3, onOtherDays: 3, check }
  },
  async 'a payment that the bank gives back by itself'() {
    const { id, payments } = await bank.receive(1_450)
    await bank.account.bank.run('takeBack', { e2eid: payments[0]?.endToEndId ?? '', amount: 450 })
    const check = async () => {
      const { returnedAmount } = await db().charge.findFirstOrThrow({ where: { id } })
      expect(returnedAmount).toBe(450n)
    }
    return { booked: 1, onOtherDays: 1, check }
  },
  async 'a refund of other software'() {
    const { payments } = await bank.receive(1_400)
    await bank.refundAlone(payments[0]?.endToEndId ?? '', 300)
    return { items: ['day_missing_here refund'] }
  },
  async 'a payout of other software'() {
    await bank.account.payAlone(removeHyphens(newId()), 250)
    await bank.account.settle()
    return { items: ['day_missing_here payout'] }
  },
  async 'a payment that the bank does not have'(day) {
    await matchPayments(connection, [makePayment(1_500, { paidAt: noonOf(day) })])
    return { items: ['day_missing_there payment', 'payment_unmatched'] }
  },
}

/** Differences of the file of a day. */
const STATEMENTS: Record<
  string,
  { change: (file: string, day: string) => string; items: string[] }
> = {
  'a record is lost': {
    change: file => file.replace(/^PR;.*\n/m, ''),
    items: ['day_balance statement', 'day_missing_there payment'],
  },
  'transfers between accounts': {
    change(file, day) {
      const records = ['TFR', 'TFE'].map(
        type => `${type};1;T${type}${day};10.00;${day}T12:00:00.000Z\n`,
      )
      const count = Number(/^T;(\d+)/m.exec(file)?.[1]) + records.length
      return file.replace(/^T;\d+/m, `${records.join('')}T;${count}`)
    },
    items: ['day_missing_here transfer', 'day_missing_here transfer'],
  },
}

/** What every day has: payments, a refund of a part and a payout, all booked. */
async function liveDay(day: string, differences: string[]): Promise<Found> {
  return bank.at(noonOf(day), async () => {
    const { id } = await bank.receive(50_000)
    await bank.receive(700)
    await bank.refund(id, 150)
    expect((await bank.payOut(4_000)).status).toBe('approved')
    const found: Required<Found> = { items: [], booked: 0, onOtherDays: 0, check: async () => {} }
    const checks: (() => Promise<void>)[] = []
    for (const name of differences) {
      const {
        items = [],
        booked = 0,
        onOtherDays = 0,
        check,
      } = (await DIFFERENCES[name]?.(day)) ?? {}
      found.items.push(...items)
      found.booked += booked
      found.onOtherDays += onOtherDays
      if (check) checks.push(check)
    }
    return { ...found, check: async () => void (await Promise.all(checks.map(check => check()))) }
  })
}

/** A payout that is paid before midnight, and approved here after it. */
async function payOutAtMidnight(day: string): Promise<void> {
  const [before, after] = [-10_000, 60_000].map(ms => new Date(endOf(day).getTime() + ms))
  const payout = await bank.at(before as Date, () => bank.payOut(4_500), after)
  expect(payout.status).toBe('approved')
}

/** A payment while the bank's clock is 90 s behind: of this day there, of the next one here. */
async function receiveWithClockOff(day: string): Promise<void> {
  const [theirs, ours] = [-30_000, 60_000].map(ms => new Date(endOf(day).getTime() + ms))
  await bank.at(theirs as Date, () => bank.receive(1_600), ours)
}

test(
  'of each day every difference is found, named rightly, and settled the day is green',
  async () => {
    const began = Date.now()
    const seed = chooseSeed()
    let [handled, foundCount] = [0, 0]
    for (let number = 0; number < DAY_COUNT; number++) {
      const day = shiftDay(FIRST, number)
      const random = new Random(seed, number)
      // The first days have all, the third one none, as each run of `npm test` must see both.
      const pick = (names: string[]) =>
        number < 2 ? names : number === 2 ? [] : random.some(names)
      const differences = pick(Object.keys(DIFFERENCES))
      const isAtMidnight = number === 0 || random.chance(0.3)
      const isClockOff = number === 0 || random.chance(0.3)
      const files = Object.keys(STATEMENTS)
      const file = number < 2 ? files[number] : pick(files)[0]
      const found = await liveDay(day, differences)
      if (isAtMidnight) await payOutAtMidnight(day)
      if (isClockOff) await receiveWithClockOff(day)
      const onOtherDays = (found.onOtherDays ?? 0) + Number(isAtMidnight) + Number(isClockOff)
      const statement = STATEMENTS[file ?? '']
      if (statement) await bank.changeStatement(day, text => statement.change(text, day))
      await bank.reconcileAfter(day)
      const items = [...(found.items ?? []), ...(statement?.items ?? [])].toSorted()
      const judged = await bank.judge(day)
      expect(judged, `${day}: ${differences}, ${file}`).toMatchObject({
        items,
        flaw: null,
        state: items.length > 0 ? 'items' : 'green',
        counts: { waiting: 0, on_other_days: onOtherDays },
      })
      await found.check?.()
      foundCount += items.length + (found.booked ?? 0)
      if (file === 'a record is lost') await bank.repeat(day, shiftDay(day, 1))
      handled += await bank.settleItems(day)
      await bank.repeat(day, shiftDay(day, 1))
      expect(await bank.judge(day)).toMatchObject({ state: 'green', items: [], flaw: null })
    }
    // The next nights find nothing new, and what was approved after midnight is on the day before.
    const last = shiftDay(FIRST, DAY_COUNT - 1)
    const count = () => Promise.all([db().ledgerTransfer.count(), db().difference.count()])
    const before = await count()
    for (let number = 0; number < DAY_COUNT; number++) {
      const day = shiftDay(FIRST, number)
      await bank.repeat(day, shiftDay(last, 1))
      expect(await bank.judge(day), day).toMatchObject({ state: 'green', items: [] })
    }
    expect(await count()).toEqual(before)
    const { rest } = await readConnectionBalance(bank.account.id)
    expect(rest).toBe(handled)
    await expectBalancedLedger(bank.merchant.id)
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
    recordFigures('days of a bank', {
      days: DAY_COUNT,
      differences: foundCount,
      took: formatSecondsSince(began),
    })
  },
  DAY_COUNT * 60_000 + 120_000,
)
