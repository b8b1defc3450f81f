import { expect, test } from 'vitest'
import {
  bucketOf,
  CLOCK_SKEW_MS,
  idLowerBoundAt,
  idUpperBoundAt,
  isUuid,
  newId,
  newRoutableId,
  smallestIdAt,
} from '#lib/core/ids.ts'

const AT = Date.parse('2026-11-21T03:00:00Z')
const ACCOUNT = '01a20117-d85e-7180-af60-658821d9af0b'

const makeIdAt = (ms: number) => newRoutableId(ACCOUNT, new Date(ms))

test('an id made by a clock within the allowed skew lies within the bounds of its time', () => {
  for (const skewMs of [0, 1, CLOCK_SKEW_MS - 1]) {
    expect(makeIdAt(AT - skewMs) > idLowerBoundAt(AT), `${skewMs} ms slow`).toBe(true)
    expect(makeIdAt(AT + skewMs) < idUpperBoundAt(AT), `${skewMs} ms fast`).toBe(true)
  }
})

test('an id made by a clock outside the allowed skew lies outside the bounds', () => {
  const tooFarMs = CLOCK_SKEW_MS + 1
  expect(makeIdAt(AT - tooFarMs) < idLowerBoundAt(AT)).toBe(true)
  expect(makeIdAt(AT + tooFarMs) > idUpperBoundAt(AT)).toBe(true)
})

test('an id sorts after the first id of its time, and no bound lies before 1970', () => {
  expect(makeIdAt(AT) > smallestIdAt(AT)).toBe(true)
  expect(idLowerBoundAt(0)).toBe(smallestIdAt(0))
})

test('a routable id is a UUIDv7 that ends in the last 12 bits of its account', () => {
  for (const id of [newRoutableId(ACCOUNT), makeIdAt(AT)]) {
    expect(isUuid(id)).toBe(true)
    expect(id).toMatch(/^.{14}7.*f0b$/)
    expect([bucketOf(id), bucketOf(ACCOUNT)]).toEqual([0xf0b, 0xf0b])
  }
})

test('ids of one process ascend in the order in which they are made, whatever their buckets', () => {
  const accounts = [ACCOUNT, newId(), smallestIdAt(AT)]
  const ids = Array.from({ length: 20_000 }, (_, index) => {
    const account = accounts[index % 4]
    return account ? newRoutableId(account) : newId()
  })
  expect(ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] ?? ''))).toBe(-1)
})

test('each id has random digits of its own', () => {
  const ends = Array.from({ length: 2_000 }, () => newId().slice(-10))
  expect(new Set(ends).size).toBe(ends.length)
})
