import { describe, expect, test } from 'vitest'
import {
  beginList,
  findNextPosition,
  narrowRefused,
  type Position,
} from '#lib/banks/api-pix/payments.ts'

const DAY_MS = 86_400_000
const SINCE = new Date('2026-11-20T12:00:00Z')
const at = (seconds: number) => SINCE.getTime() + seconds * 1_000
const days = (count: number) => new Date(SINCE.getTime() + count * DAY_MS)

interface Bank {
  /** Times of the payments. */
  payments: number[]
  pageSize: number
  windowMsMax?: number
  pagesMax?: number
  /** Reports no more pages than it shows, instead of refusing the others. */
  hidesPages?: boolean
  /** Reports no total. */
  isTerse?: boolean
}

/** Reads a list to its end as the adapter does. */
function readList(bank: Bank, until: Date) {
  const { payments, pageSize, windowMsMax = Infinity, pagesMax = Infinity } = bank
  const [found, positions]: [number[], Position[]] = [[], []]
  for (let position: Position | null = beginList(SINCE, until); position; ) {
    positions.push(position)
    const { from, to, page }: Position = position
    if (to - from > windowMsMax || page >= pagesMax) {
      const refused = narrowRefused(position)
      if (!refused) return { found, positions, isRefused: true }
      position = refused
      continue
    }
    const listed = payments.filter(time => time >= from && time <= to)
    const shown = listed.slice(page * pageSize, (page + 1) * pageSize)
    found.push(...shown)
    const pages = Math.max(1, Math.ceil(listed.length / pageSize))
    const reported = {
      pages: bank.hidesPages ? Math.min(pages, pagesMax) : pages,
      total: listed.length,
    }
    const { pages: count, total } = bank.isTerse ? { pages: null, total: null } : reported
    position = findNextPosition(position, { count: shown.length, pages: count, total }, pageSize)
  }
  return { found, positions, isRefused: false }
}

const PAYMENTS = Array.from({ length: 300 }, (_, index) => at(index ** 2))
const all = (found: number[]) => expect([...new Set(found)].sort()).toEqual(PAYMENTS)

describe('a list is read to its end', () => {
  test.each<[string, Partial<Bank>]>([
    ['of a bank without limits', {}],
    ['of a bank that reports no totals', { isTerse: true }],
    ['of a bank that refuses more than 3 hours', { windowMsMax: 3 * 3_600_000 }],
    ['of a bank that refuses more than a minute', { windowMsMax: 60_000 }],
    ['of a bank that refuses all but the first page', { pagesMax: 1 }],
    ['of a bank that reports and shows only two pages', { pagesMax: 2, hidesPages: true }],
    ['of a bank that limits both', { pagesMax: 2, windowMsMax: 7_200_000 }],
  ])('%s', (_, limits) => {
    const { found, isRefused } = readList(
      { payments: PAYMENTS, pageSize: 10, ...limits },
      days(1.5),
    )
    expect(isRefused).toBe(false)
    all(found)
  })
})

test('windows are a day at most, follow each other, and end with the list', () => {
  const { positions } = readList({ payments: [], pageSize: 10 }, days(3.5))
  expect(positions.map(({ from, to }) => [from, to].map(time => (time - at(0)) / DAY_MS))).toEqual([
    ...[
      [0, 1],
      [1, 2],
      [2, 3],
    ],
    [3, 3.5],
  ])
})

test('a refused period is not tried again; a narrow window is followed by wider ones', () => {
  const { positions: afterPeriod } = readList(
    { payments: [], pageSize: 10, windowMsMax: DAY_MS / 3 },
    days(2),
  )
  const lengths = (positions: Position[]) => positions.map(({ from, to }) => (to - from) / DAY_MS)
  expect(lengths(afterPeriod)).toEqual([1, 0.5, ...Array(8).fill(0.25)])
  const crowd = Array.from({ length: 30 }, (_, index) => at(index))
  const { positions: afterPage } = readList({ payments: crowd, pageSize: 10, pagesMax: 1 }, days(2))
  expect(Math.min(...lengths(afterPage))).toBeLessThan((1 / 86_400) * 15)
  expect(lengths(afterPage).filter(length => length > 0.1)).not.toEqual([])
  expect(afterPage.length).toBeLessThan(80)
})

test('a bank that refuses every list is asked a limited number of times', () => {
  const { positions, isRefused } = readList(
    { payments: [], pageSize: 10, windowMsMax: -1 },
    days(2),
  )
  expect(isRefused).toBe(true)
  expect(positions.length).toBeLessThan(20)
})

test('a bank that reports more than it ever shows is read to the end', () => {
  const payments = Array.from({ length: 30 }, () => at(5))
  const limits = { pageSize: 10, pagesMax: 1, hidesPages: true }
  const { found, isRefused } = readList({ payments, ...limits }, days(1))
  expect(isRefused).toBe(false)
  expect(new Set(found)).toEqual(new Set([at(5)]))
})

test('a window whose total changes is read again from its first page', () => {
  const first = beginList(SINCE, days(0.5))
  const second = findNextPosition(first, { count: 10, pages: 2, total: 15 }, 10) as Position
  expect(second).toMatchObject({ page: 1, total: 15, seen: 10 })
  const again = findNextPosition(second, { count: 6, pages: 2, total: 16 }, 10)
  expect(again).toMatchObject({ from: first.from, to: first.to, page: 0, seen: 0, restarts: 1 })
})

test('a list that would begin after its end is empty', () => {
  const { positions } = readList({ payments: [], pageSize: 10 }, days(-1))
  expect(positions).toMatchObject([{ from: days(-1).getTime(), to: days(-1).getTime() }])
})

/** Returns how many pages of a list are read of a bank that answers each with `page`. */
function countPages(page: { count: number; pages: number | null; total: number | null }) {
  let calls = 0
  for (let position: Position | null = beginList(SINCE, new Date(at(2))); position; calls++) {
    if (calls >= 5_000) return null
    position = findNextPosition(position, page, 10)
  }
  return calls
}

describe('a list without end ends', () => {
  const endless = { pages: 999_999_999, total: 999_999_999 }
  test('at once if its first page is empty', () => {
    expect(countPages({ count: 0, ...endless })).toBe(1)
  })

  test.each<[string, { count: number; pages: number | null; total: number | null }]>([
    ['reported', { count: 10, ...endless }],
    ['not reported', { count: 10, pages: null, total: null }],
  ])('after a number of pages for each second: pages %s', (_, page) => {
    expect(countPages(page)).toBeLessThanOrEqual(2_000)
  })

  test('a window is halved before its pages are read if they are too many', () => {
    const first = beginList(SINCE, days(1))
    const page = { count: 10, pages: 501, total: 5_010 }
    expect(findNextPosition(first, page, 10)).toMatchObject({
      from: first.from,
      to: days(0.5).getTime(),
    })
    const [pages, total] = [500, 5_000]
    expect(findNextPosition(first, { count: 10, pages, total }, 10)).toMatchObject({ page: 1 })
  })

  test('an empty page before the last one leads to shorter windows', () => {
    const first = beginList(SINCE, days(1))
    const second = findNextPosition(first, { count: 10, pages: 9, total: 90 }, 10) as Position
    const next = findNextPosition(second, { count: 0, pages: 9, total: 90 }, 10)
    expect(next).toMatchObject({ page: 0, to: days(0.5).getTime() })
  })
})
