import { expect, test } from 'vitest'
import { orderRetryPauseMs } from '#lib/services/gateway/order.ts'

test('the pauses between queries double from one second to five minutes', () => {
  const pauses = [1, 2, 3, 4, 9, 10, 60, 5_000].map(orderRetryPauseMs)
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 256_000, 300_000, 300_000, 300_000])
})
