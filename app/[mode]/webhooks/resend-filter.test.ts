import { expect, test } from 'vitest'
import { resendFilterOf } from '#app/[mode]/webhooks/resend-filter.ts'
import { deliveriesQuery, resendRequest } from '#lib/webhooks/schema.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const filterOf = (query: object) => resendFilterOf(deliveriesQuery.parse(query), NOW)

test('without a period, the resend covers the longest period that a request may have', () => {
  expect(filterOf({})).toEqual({ from: '2026-11-07T13:00:00.000Z', status: 'exhausted' })
  expect(resendRequest.test.safeParse(resendFilterOf(deliveriesQuery.parse({}))).success).toBe(true)
})

test('the filters of the list apply to the resend, and a long period is cut to its end', () => {
  const filters = { type: 'transaction.*', endpoint_id: 'none', reference: 'a', status: 'stopped' }
  const period = { created_from: '2026-01-01', created_to: '2026-02-01' }
  expect(filterOf({ ...filters, ...period, limit: '5', cursor: undefined })).toEqual({
    ...filters,
    from: '2026-01-18T01:00:00.000Z',
    to: '2026-02-01',
  })
  const today = { created_from: '2026-11-21T03:00:00Z', created_to: '2026-11-22T03:00:00Z' }
  expect(filterOf(today)).toEqual({ from: '2026-11-21T03:00:00.000Z', status: 'exhausted' })
})

test('a list of delivered or future deliveries has nothing to resend', () => {
  expect(filterOf({ status: 'delivered' })).toBeNull()
  expect(filterOf({ created_from: '2026-11-22' })).toBeNull()
})
