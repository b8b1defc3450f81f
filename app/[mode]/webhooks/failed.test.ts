import { expect, test } from 'vitest'
import { failedOf } from '#app/[mode]/webhooks/failed.ts'
import { deliveriesQuery, resendRequest } from '#lib/services/webhooks/schema.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const of = (query: object) => failedOf(deliveriesQuery.parse(query), NOW)

test('without a period it reaches as far back as one resend may', () => {
  expect(of({})).toEqual({ from: '2026-11-07T13:00:00.000Z', status: 'exhausted' })
  expect(resendRequest.test.safeParse(failedOf(deliveriesQuery.parse({}))).success).toBe(true)
})

test('it means what the list is filtered by, and of a long period the end', () => {
  const filters = { type: 'transaction.*', endpoint_id: 'none', reference: 'a', status: 'stopped' }
  const period = { created_from: '2026-01-01', created_to: '2026-02-01' }
  expect(of({ ...filters, ...period, limit: '5', cursor: undefined })).toEqual({
    ...filters,
    from: '2026-01-18T01:00:00.000Z',
    to: '2026-02-01',
  })
  const today = { created_from: '2026-11-21T03:00:00Z', created_to: '2026-11-22T03:00:00Z' }
  expect(of(today)).toEqual({ from: '2026-11-21T03:00:00.000Z', status: 'exhausted' })
})

test('a list of what did not fail, or of days to come, has nothing to send again', () => {
  expect(of({ status: 'delivered' })).toBeNull()
  expect(of({ created_from: '2026-11-22' })).toBeNull()
})
