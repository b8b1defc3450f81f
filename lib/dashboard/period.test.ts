import { expect, test } from 'vitest'
import { addDays } from '#lib/core/day.ts'
import { chartDays, dayInZone, midnight, readSpan } from '#lib/dashboard/period.ts'

const SAO_PAULO = 'America/Sao_Paulo'
const NOW = new Date('2026-11-21T01:30:00Z')

test("a day begins at midnight in the merchant's time zone", () => {
  expect(dayInZone(NOW, SAO_PAULO)).toBe('2026-11-20')
  expect(readSpan({ period: 'today' }, SAO_PAULO, NOW)).toEqual({
    from: new Date('2026-11-20T03:00:00Z'),
    to: new Date('2026-11-21T03:00:00Z'),
  })
  expect(readSpan({ period: '7d' }, SAO_PAULO, NOW).from).toEqual(new Date('2026-11-14T03:00:00Z'))
})

test.each([
  ['2018-11-04', SAO_PAULO, '2018-11-04T03:00:00Z'],
  ['2018-11-05', SAO_PAULO, '2018-11-05T02:00:00Z'],
  ['2018-02-18', SAO_PAULO, '2018-02-18T03:00:00Z'],
  ['2026-03-29', 'Europe/Lisbon', '2026-03-29T00:00:00Z'],
  ['2026-03-30', 'Europe/Lisbon', '2026-03-29T23:00:00Z'],
  ['2026-11-01', 'America/New_York', '2026-11-01T04:00:00Z'],
  ['2026-11-02', 'America/New_York', '2026-11-02T05:00:00Z'],
  ['2026-11-21', 'Asia/Kathmandu', '2026-11-20T18:15:00Z'],
  ['2026-11-21', 'UTC', '2026-11-21T00:00:00Z'],
])('%s in %s begins at %s, also when clocks change', (day, zone, moment) => {
  expect(midnight(day, zone)).toEqual(new Date(moment))
  expect(dayInZone(midnight(day, zone), zone)).toBe(day)
})

test('a custom period includes both days, and either may be missing', () => {
  const chosen = { period: 'custom', from: '2026-02-27', to: '2026-02-28' }
  expect(readSpan(chosen, SAO_PAULO, NOW)).toEqual({
    from: new Date('2026-02-27T03:00:00Z'),
    to: new Date('2026-03-01T03:00:00Z'),
  })
  expect(readSpan({ ...chosen, to: undefined }, SAO_PAULO, NOW).to).toBeUndefined()
})

test.each([
  ['this_month', '2026-11-01T03:00:00Z', '2026-12-01T03:00:00Z'],
  ['last_month', '2026-10-01T03:00:00Z', '2026-11-01T03:00:00Z'],
  ['2024-02', '2024-02-01T03:00:00Z', '2024-03-01T03:00:00Z'],
  ['2018-11', '2018-11-01T03:00:00Z', '2018-12-01T02:00:00Z'],
  ['2026-12', '2026-12-01T03:00:00Z', '2027-01-01T03:00:00Z'],
])('the month %s has whole days of the time zone, also when clocks change', (period, from, to) => {
  const span = { from: new Date(from), to: new Date(to) }
  expect(readSpan({ period, from: '2026-01-01' }, SAO_PAULO, NOW)).toEqual(span)
})

test('last month is of the year before in January, and by the time zone on the first of a month', () => {
  const newYear = new Date('2027-01-01T02:00:00Z')
  const from = (zone: string) => readSpan({ period: 'last_month' }, zone, newYear).from
  expect(from(SAO_PAULO)).toEqual(new Date('2026-11-01T03:00:00Z'))
  expect(from('UTC')).toEqual(new Date('2026-12-01T00:00:00Z'))
})

test.each(['2026-13', '2026-00', '1999-12', '2026-1', '202611', ['2026-11']])(
  'an invalid month is ignored: %j',
  period => {
    expect(readSpan({ period }, SAO_PAULO, NOW)).toEqual({})
  },
)

test.each(['2026-02-30', '20260201', 'x', '', ['2026-02-01']])(
  'an invalid day is ignored: %j',
  from => {
    expect(readSpan({ period: 'custom', from }, SAO_PAULO, NOW)).toEqual({})
  },
)

test('without a known period all time is included', () => {
  expect(readSpan({}, SAO_PAULO, NOW)).toEqual({})
  expect(readSpan({ period: 'ever' }, SAO_PAULO, NOW)).toEqual({})
  expect(addDays('2026-12-31', 1)).toBe('2027-01-01')
})

test('a chart shows whole days up to today and none in the future', () => {
  const today = '2026-11-21'
  const edges = (params: Record<string, string>) => {
    const days = chartDays(params, today)
    return [days[0], days.at(-1), days.length]
  }
  expect(edges({})).toEqual(['2026-10-23', today, 30])
  expect(edges({ period: '7d', from: '2020-01-01' })).toEqual(['2026-11-15', today, 7])
  expect(edges({ period: 'this_month' })).toEqual(['2026-11-01', today, 21])
  expect(edges({ period: 'last_month' })).toEqual(['2026-10-01', '2026-10-31', 31])
  expect(edges({ period: '2024-02' })).toEqual(['2024-02-01', '2024-02-29', 29])
  expect(edges({ period: '2027-02' })).toEqual(['2026-10-23', today, 30])
  const custom = { period: 'custom', from: '2026-11-20', to: '2027-01-01' }
  expect(edges(custom)).toEqual(['2026-11-20', today, 2])
  expect(edges({ ...custom, from: '2020-01-01' })).toEqual(['2025-11-21', today, 366])
})
