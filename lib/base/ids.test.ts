import { expect, test } from 'vitest'
import { CLOCK_SKEW_MS, earliestIdAt, firstIdAt, latestIdAt, newId } from '#lib/base/ids.ts'

const AT = Date.parse('2026-11-21T03:00:00Z')

test('an id made by a clock within the allowed skew lies within the bounds of its time', () => {
  for (const skewMs of [0, 1, CLOCK_SKEW_MS - 1]) {
    expect(newId(new Date(AT - skewMs)) > earliestIdAt(AT), `${skewMs} ms slow`).toBe(true)
    expect(newId(new Date(AT + skewMs)) < latestIdAt(AT), `${skewMs} ms fast`).toBe(true)
  }
})

test('an id made by a clock outside the allowed skew lies outside the bounds', () => {
  const tooFarMs = CLOCK_SKEW_MS + 1
  expect(newId(new Date(AT - tooFarMs)) < earliestIdAt(AT)).toBe(true)
  expect(newId(new Date(AT + tooFarMs)) > latestIdAt(AT)).toBe(true)
})

test('an id sorts after the first id of its time, and no bound lies before 1970', () => {
  expect(newId(new Date(AT)) > firstIdAt(AT)).toBe(true)
  expect(earliestIdAt(0)).toBe(firstIdAt(0))
})
