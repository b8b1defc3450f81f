import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { withOwner } from '#lib/testing/database.ts'
import {
  createPaidCharge,
  deliverDue,
  deliveriesOf,
  makeRetriesDue,
} from '#lib/testing/deliveries.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { openReceiver, type Receiver, status } from '#lib/testing/receiver.ts'
import { resendDelivery, resendFailed } from '#lib/webhooks/deliveries.ts'
import { createEndpoint } from '#lib/webhooks/endpoints.ts'
import { readResourceSecret, rotateSecret } from '#lib/webhooks/secrets.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'

inOwnDatabase()

let merchant: Account
let receiver: Receiver
beforeEach(async () => {
  merchant = await makeMerchant()
  receiver = await openReceiver()
})
afterEach(() => receiver.close())

const owner = () => ({ accountId: merchant.id, mode: 'test' as const, note: async () => {} })
const readSingleDelivery = async () => {
  const [row] = await deliveriesOf(merchant)
  if (!row) throw new Error('There is no delivery')
  return row
}
const verifySignature = (secret: string, { text, headers }: Receiver['calls'][number]) =>
  new Webhook(secret).verify(text, headers as Record<string, string>)

test('a resend has the same body and id, a new signature, and counts as an attempt', async () => {
  await createPaidCharge(merchant, receiver.url)
  await deliverDue()
  const before = (await readResourceSecret(merchant.id, 'test')) ?? ''
  const { secret } = await rotateSecret(owner(), null)
  await resendDelivery(owner(), (await readSingleDelivery()).id)
  await deliverDue()
  const [first, second] = receiver.calls
  expect(second?.text).toBe(first?.text)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  if (!first || !second) throw new Error('It came less than twice')
  expect(() => verifySignature(secret, first)).toThrow()
  expect(verifySignature(before, first)).toEqual(verifySignature(before, second))
  expect(verifySignature(secret, second)).toBeTruthy()
  const row = await readSingleDelivery()
  expect([row.status, row.attempts, row.attemptLog.length]).toEqual(['delivered', 2, 2])
})

test('a resent exhausted delivery gets all its attempts again', async () => {
  receiver.respondWith(status(500))
  await createPaidCharge(merchant, receiver.url)
  const exhaust = async () => {
    for (let round = 0; round < 7; round++) {
      await makeRetriesDue()
      await deliverDue()
    }
  }
  await exhaust()
  expect((await readSingleDelivery()).status).toBe('exhausted')
  await resendDelivery(owner(), (await readSingleDelivery()).id)
  await exhaust()
  expect([(await readSingleDelivery()).status, receiver.calls.length]).toEqual(['exhausted', 14])
})

test('twenty concurrent resends send once', async () => {
  await createPaidCharge(merchant, receiver.url)
  await deliverDue()
  const { id } = await readSingleDelivery()
  await Promise.all(Array.from({ length: 20 }, () => resendDelivery(owner(), id)))
  await deliverDue()
  expect(receiver.calls).toHaveLength(2)
})

test('a resend during an attempt is refused and does not affect it', async () => {
  let refusal: unknown
  receiver.respondWith(async (_received, response) => {
    refusal = await resendDelivery(owner(), (await readSingleDelivery()).id).catch(error => error)
    response.writeHead(200).end()
  })
  await createPaidCharge(merchant, receiver.url)
  await deliverDue()
  expect(refusal).toMatchObject({ code: 'under_way' })
  expect([(await readSingleDelivery()).status, receiver.calls.length]).toEqual(['delivered', 1])
})

test('2,500 failed deliveries are resent once each, in batches', async () => {
  const event_types = [...EVENT_TYPES]
  const id = await createEndpoint(owner(), { url: receiver.url, event_types })
  await createPaidCharge(merchant)
  await withOwner(
    owner => owner.$executeRaw`
    INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status, attempts)
    SELECT account_id, gen_random_uuid(), mode, event_id, gen_random_uuid(), sequence, endpoint_id,
      url, host, CASE n % 2 WHEN 0 THEN 'exhausted' ELSE 'stopped' END, 4
    FROM deliveries, generate_series(1, 2500) n WHERE endpoint_id = ${id}::uuid`,
  )
  const from = new Date(Date.now() - 3_600_000).toISOString()
  const resent = await resendFailed(owner(), { from })
  expect(resent).toEqual({ resent: 2_500, more: false })
  const counts = await db().delivery.groupBy({
    by: ['status', 'attemptsBefore'],
    where: { endpointId: id },
    _count: true,
    orderBy: { attemptsBefore: 'asc' },
  })
  expect(counts.map(row => [row.status, row.attemptsBefore, row._count])).toEqual([
    ['pending', 0, 1],
    ['pending', 4, 2_500],
  ])
})
