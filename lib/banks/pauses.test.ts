import { expect, test } from 'vitest'
import { doublingPauseMs, requestedPauseMs } from '#lib/banks/breaker.ts'

test('the pauses between attempts double from one second to five minutes', () => {
  const pauses = [0, 1, 2, 3, 4, 9, 10, 60, 5_000].map(n => doublingPauseMs(n, 1_000, 300_000))
  expect(pauses).toEqual([1_000, 1_000, 2_000, 4_000, 8_000, 256_000, 300_000, 300_000, 300_000])
})

test.each([
  [{ outcome: 'ok', value: null }, 0],
  [{ outcome: 'unknown', reason: 'lost' }, 0],
  [{ outcome: 'retryable', reason: 'down' }, 0],
  [{ outcome: 'retryable', reason: 'busy', retryAfterMs: 7_000 }, 7_000],
  [{ outcome: 'retryable', reason: 'closed', retryAfterMs: 86_400_000 }, 3_600_000],
  [{ outcome: 'blocked', code: 'scope', reason: 'no scope' }, 300_000],
  [{ outcome: 'blocked', code: 'scope', reason: 'no scope', retryAfterMs: 1_000 }, 300_000],
  [{ outcome: 'blocked', code: 'scope', reason: 'no scope', retryAfterMs: 600_000 }, 600_000],
] as const)('after %j the bank is not called for %i ms', (result, ms) => {
  expect(requestedPauseMs(result)).toBe(ms)
})
