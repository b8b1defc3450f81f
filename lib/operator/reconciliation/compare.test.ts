import { describe, expect, test } from 'vitest'
import {
  endOf,
  isDay,
  nextReadingAt,
  shiftDay,
  startOf,
} from '#lib/operator/reconciliation/claim-day.ts'
import { compareDay } from '#lib/operator/reconciliation/reconcile.ts'
import type { BankRow, DayToCompare, OwnRow, What } from '#lib/operator/reconciliation/rows.ts'
import fc from '#lib/testing/property.ts'

const DAY = '2026-11-20'
const NOON = new Date('2026-11-20T15:00:00Z')
const NIGHT = new Date('2026-11-21T06:00:00Z')
const COVERED = new Set<What>(['payment', 'refund', 'payout', 'payout_return', 'fee', 'fee_return'])

const bankRow = (what: What, key: string, amount: number, changes: Partial<BankRow> = {}) => ({
  what,
  keys: [key],
  amount,
  at: NOON,
  facts: {},
  ...changes,
})
const ownRow = (
  what: What,
  key: string,
  amount: number,
  changes: Partial<OwnRow> = {},
): OwnRow => ({
  what,
  keys: [key],
  amount,
  at: NOON,
  state: 'booked',
  facts: {},
  ...changes,
})
const compare = (changes: Partial<DayToCompare>) =>
  compareDay({
    day: DAY,
    bank: [],
    ours: [],
    elsewhere: new Set(),
    covers: COVERED,
    now: NIGHT,
    ...changes,
  })
const named = (changes: Partial<DayToCompare>) =>
  compare(changes).differences.map(({ kind, key }) => `${kind}: ${key}`)

describe('a difference is named', () => {
  const payment = bankRow('payment', 'E1', 500)
  const own = ownRow('payment', 'E1', 500)
  const payout = bankRow('payout', 'w1', -900)
  const pending = ownRow('payout', 'w1', -900, { state: 'pending', at: null })

  test.each<[string, Partial<DayToCompare>, string[]]>([
    ['nothing', { bank: [payment], ours: [own] }, []],
    ['a payment missing here', { bank: [payment] }, ['day_missing_here: 2026-11-20 payment E1']],
    ['a payment missing there', { ours: [own] }, ['day_missing_there: 2026-11-20 payment E1']],
    [
      'another amount',
      { bank: [payment], ours: [ownRow('payment', 'E1', 501)] },
      ['day_different: 2026-11-20 payment E1'],
    ],
    [
      'a payment that the bank has twice',
      { bank: [payment, payment, payment], ours: [own] },
      ['day_missing_here: 2026-11-20 payment E1', 'day_missing_here: 2026-11-20 payment E1 #2'],
    ],
    [
      'a payment that the bank has on two days',
      { bank: [payment], ours: [own], elsewhere: new Set(['payment E1']) },
      ['day_missing_here: 2026-11-20 payment E1'],
    ],
    [
      'a payout pending here',
      { bank: [payout], ours: [pending] },
      ['day_different: 2026-11-20 payout w1'],
    ],
    [
      'a payout rejected here',
      { bank: [payout], ours: [{ ...pending, state: 'rejected' }] },
      ['day_different: 2026-11-20 payout w1'],
    ],
    [
      'a transfer',
      { bank: [bankRow('transfer', 'T1', 100)] },
      ['day_missing_here: 2026-11-20 transfer T1'],
    ],
    [
      'a reversal of a payout that is booked',
      {
        bank: [payout, bankRow('reversal', 'w1', 900, { payment: 'E1' })],
        ours: [ownRow('payout', 'w1', -900)],
      },
      ['day_different: 2026-11-20 reversal w1'],
    ],
    [
      'a part of a return',
      {
        bank: [bankRow('payout_return', 'D1', 10), bankRow('payout_return', 'D2', 10)],
        ours: [ownRow('payout_return', 'D1', 10)],
      },
      ['day_missing_here: 2026-11-20 payout_return D2'],
    ],
  ])('%s', (_, day, names) => expect(named(day)).toEqual(names))
})

describe('no difference is', () => {
  const payout = bankRow('payout', 'w1', -900, { keys: ['w1', 'E1'], payment: 'E1' })
  const reversal = bankRow('reversal', 'E1', 900, { payment: 'E1' })
  const rejected = ownRow('payout', 'w1', -900, { keys: ['w1', 'E1'], state: 'rejected', at: null })

  test('a payout that the bank undid on the same day, or on another one', () => {
    expect(named({ bank: [payout, reversal], ours: [rejected] })).toEqual([])
    expect(named({ bank: [payout, reversal] })).toEqual([])
    const later = compare({ bank: [reversal], ours: [rejected] })
    expect(later).toMatchObject({ differences: [], strays: ['reversal E1'] })
    expect(named({ bank: [payout], ours: [rejected], elsewhere: new Set(later.strays) })).toEqual(
      [],
    )
  })

  test('a payout that failed after it was done, and came back under its own id', () => {
    const ours = [
      ownRow('payout', 'w1', -900, { keys: ['w1', 'E1'] }),
      ownRow('payout_return', 'E1', 900),
    ]
    expect(compare({ bank: [payout, reversal], ours })).toMatchObject({
      matched: 2,
      differences: [],
    })
    expect(named({ bank: [reversal], ours: [ownRow('payout_return', 'E1', 800)] })).toEqual([
      'day_different: 2026-11-20 payout_return E1',
    ])
  })

  test('a payment that was booked on another day than the bank has it', () => {
    const at = new Date('2026-11-21T03:00:01Z')
    const own = ownRow('payout', 'w1', -900, { at })
    const before = compare({ bank: [payout], ours: [own] })
    expect(before).toMatchObject({ matched: 1, differences: [], strays: ['payout w1'] })
    const next = { day: '2026-11-21', ours: [own], now: new Date('2026-11-22T06:00:00Z') }
    expect(named(next)).toEqual(['day_missing_there: 2026-11-21 payout w1'])
    expect(named({ ...next, elsewhere: new Set(before.strays) })).toEqual([])
  })

  test('what is less than an hour old', () => {
    const now = new Date(NOON.getTime() + 3_500_000)
    const day = { bank: [bankRow('payment', 'E1', 5)], ours: [ownRow('payment', 'E2', 5)] }
    expect(compare({ ...day, now })).toMatchObject({ differences: [], waiting: 2 })
  })

  test('what the bank has not reported about', () => {
    expect(named({ ours: [ownRow('refund', 'r1', -5)], covers: new Set(['payment']) })).toEqual([])
  })
})

test('of days without a fault every row is matched, and each fault is one difference', () => {
  const whats = ['payment', 'refund', 'payout', 'payout_return', 'fee'] as const
  const row = fc.record({
    what: fc.constantFrom(...whats),
    amount: fc.integer({ min: 1, max: 1_000 }),
    fault: fc.option(fc.constantFrom('here', 'there', 'amount', 'twice'), { freq: 3 }),
  })
  fc.assert(
    fc.property(fc.array(row, { maxLength: 30 }), rows => {
      const bank: BankRow[] = []
      const ours: OwnRow[] = []
      const expected: string[] = []
      for (const [index, { what, amount, fault }] of rows.entries()) {
        const [there, here] = [
          bankRow(what, `k${index}`, amount),
          ownRow(what, `k${index}`, amount),
        ]
        if (fault !== 'there') bank.push(there)
        if (fault === 'twice') bank.push(there)
        if (fault !== 'here') ours.push(fault === 'amount' ? { ...here, amount: amount + 1 } : here)
        const kind = { here: 'missing_here', there: 'missing_there', amount: 'different' }
        const name = fault === 'twice' ? 'missing_here' : fault && kind[fault]
        if (name) expected.push(`day_${name}: ${DAY} ${what} k${index}`)
      }
      const { matched, waiting } = compare({ bank, ours })
      expect(named({ bank, ours }).toSorted()).toEqual(expected.toSorted())
      expect(matched).toBe(rows.filter(({ fault }) => !fault || fault === 'twice').length)
      expect(waiting).toBe(0)
    }),
  )
})

describe('the calendar', () => {
  test('a day begins at midnight of Sao Paulo', () => {
    expect([startOf(DAY), endOf(DAY)].map(at => at.toISOString())).toEqual([
      '2026-11-20T03:00:00.000Z',
      '2026-11-21T03:00:00.000Z',
    ])
    expect([shiftDay('2026-02-28', 1), shiftDay('2026-03-01', -1)]).toEqual([
      '2026-03-01',
      '2026-02-28',
    ])
  })

  test.each(['2026-02-30', '2026-13-01', '20-11-2026', '2026-1-1', '', 'ontem'])(
    '%j is no day',
    text => expect(isDay(text)).toBe(false),
  )

  test.each([
    ['2026-11-20T15:00:00Z', false, '2026-11-20T15:10:00.000Z'],
    ['2026-11-21T05:55:00Z', false, '2026-11-21T06:00:00.000Z'],
    ['2026-11-21T06:00:00Z', false, '2026-11-22T06:00:00.000Z'],
    ['2026-11-22T06:00:00Z', false, '2026-11-23T06:00:00.000Z'],
    ['2026-11-23T06:00:00Z', false, undefined],
    ['2026-11-23T06:00:00Z', true, '2026-11-24T06:00:00.000Z'],
    ['2026-12-31T06:00:00Z', true, undefined],
  ])('a day that is read at %s (open items: %s) is read again at %s', (now, hasItems, next) => {
    expect(nextReadingAt(DAY, new Date(now), hasItems)?.toISOString()).toBe(next)
  })
})
