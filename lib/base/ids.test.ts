import { expect, test } from 'vitest'
import {
  CLOCK_SKEW_MS,
  idLowerBoundAt,
  idUpperBoundAt,
  newId,
  smallestIdAt,
} from '#lib/base/ids.ts'

const AT = Date.parse('2026-11-21T03:00:00Z')

test('an id made by a clock within the allowed skew lies within the bounds of its time', () => {
  for (const skewMs of [0, 1, CLOCK_SKEW_MS - 1]) {
    expect(newId(new Date(AT - skewMs)) > idLowerBoundAt(AT), `${skewMs} ms slow`).toBe(true)
    expect(newId(new Date(AT + skewMs)) < idUpperBoundAt(AT), `${skewMs} ms fast`).toBe(true)
  }
})

test('an id made by a clock outside the allowed skew lies outside the bounds', () => {
  const tooFarMs = CLOCK_SKEW_MS + 1
  expect(newId(new Date(AT - tooFarMs)) < idLowerBoundAt(AT)).toBe(true)
  expect(newId(new Date(AT + tooFarMs)) > idUpperBoundAt(AT)).toBe(true)
})

test('an id sorts after the first id of its time, and no bound lies before 1970', () => {
  expect(newId(new Date(AT)) > smallestIdAt(AT)).toBe(true)
  expect(idLowerBoundAt(0)).toBe(smallestIdAt(0))
})
