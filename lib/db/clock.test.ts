import { expect, test } from 'vitest'
import { assessClocks, isAloneWrong, type ProcessClock, provenOffset } from '#lib/db/clock.ts'

const clock = (machine: string, offsetS: number, serves = true): ProcessClock => ({
  host: `container of ${machine}`,
  pid: 1,
  machine,
  serves,
  offsetMs: offsetS * 1_000,
})
const worker = (machine: string, offsetS: number) => clock(machine, offsetS, false)

test.each([
  [1_000_005, 10, 1_000_000, 5],
  [1_000_000, 10, 1_000_005, 0],
  [1_600_000, 10, 1_000_000, 600_000],
  [400_000, 10, 1_000_000, -599_990],
  [1_000_000, 9_000, 1_004_500, 0],
  [1_000_000, 9_000, 1_009_000, 0],
  [1_000_000, 9_000, 1_010_000, -1_000],
])('sent at %d, a round trip of %d ms and the time %d prove an offset of %d ms', (...row) => {
  const [sentAt, roundTripMs, databaseMs, expected] = row
  expect(provenOffset(sentAt, roundTripMs, databaseMs)).toBe(expected)
})

test.each<[string, boolean, ProcessClock, ProcessClock[]]>([
  ['is right', false, clock('a', 60), [clock('b', 0)]],
  ['is the only one known', false, clock('a', 61), []],
  ['is wrong alone', true, clock('a', 61), [clock('b', 0)]],
  ['is behind alone', true, clock('a', -61), [clock('b', 60), clock('c', -60)]],
  ['is wrong as all others are', false, clock('a', 61), [clock('b', 62), clock('c', 60.5)]],
  ['is wrong with all of its machine only', true, clock('a', 99), [clock('a', 99), clock('b', 0)]],
  ['is wrong, and only a worker is right', false, clock('a', 61), [worker('b', 0)]],
  ['is wrong with its worker', true, clock('a', 61), [worker('a', 61), clock('b', 0)]],
  ['is wrong as a worker elsewhere is', false, clock('a', 61), [worker('b', 61), clock('c', 0)]],
  [
    'is wrong in two containers',
    true,
    clock('a', 61),
    [{ ...clock('a', 61), host: 'another container' }, clock('b', 0)],
  ],
  ['is wrong on one of two machines', false, clock('a', 99), [clock('b', 99), clock('c', 0)]],
])('a process that %s leaves service: %s', (_what, expected, own, others) => {
  expect(isAloneWrong(own, [...others, own])).toBe(expected)
})

test.each([
  ['clocks_agree', []],
  ['clocks_agree', [1.9, -1.9]],
  ['clock_off', [0, 2]],
  ['clock_off', [-60]],
  ['clock_single', [-61]],
  ['clock_wrong', [0, 61]],
  ['clock_wrong', [100, -100]],
  ['clock_database', [600, 601, 602]],
])('%s: processes that are %j s ahead of the database', (expected, offsets) => {
  expect(assessClocks(offsets.map((offsetS, at) => clock(`host${at}`, offsetS)))).toBe(expected)
})
