import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
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
import {
  createEndpoint,
  deleteEndpoint,
  editEndpoint,
  enableEndpoint,
  pauseEndpoint,
  readEndpoint,
} from '#lib/webhooks/endpoints.ts'
import type { Owner } from '#lib/webhooks/owner.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import { hostOf } from '#lib/webhooks/target.ts'

inOwnDatabase()

let merchant: Account
let owner: Owner
let receiver: Receiver
let id: string
beforeEach(async () => {
  merchant = await makeMerchant()
  owner = { accountId: merchant.id, mode: 'test', note: async () => {} }
  receiver = await openReceiver()
  id = await createEndpoint(owner, { url: receiver.url, event_types: [...EVENT_TYPES] })
})
afterEach(async () => {
  await receiver.close()
  // Deliveries that stay due would be sent in the next test.
  await db()
    .$executeRaw`UPDATE deliveries SET status = 'stopped', due_at = NULL WHERE status = 'pending'`
})

const readStatuses = async () => (await deliveriesOf(merchant)).map(({ status }) => status)
const receivedSequences = () => receiver.calls.map(({ text }) => JSON.parse(text).sequence)
async function exhaust(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await makeRetriesDue()
    await deliverDue()
  }
}

describe('enabling an endpoint', () => {
  test('sends the waiting deliveries in the order of their events', async () => {
    await pauseEndpoint(owner, id)
    for (let index = 0; index < 5; index++) await createPaidCharge(merchant)
    await deliverDue()
    expect(receiver.calls).toEqual([])
    expect(await enableEndpoint(owner, id, true)).toBe(5)
    const due = (await deliveriesOf(merchant)).map(({ dueAt }) => dueAt?.getTime() ?? 0)
    expect(due).toEqual(due.toSorted())
    await deliverDue()
    expect(receivedSequences().toSorted()).toEqual([1, 2, 3, 4, 5])
    expect(await readStatuses()).toEqual(Array(5).fill('delivered'))
  })

  test('resends deliveries given up since the failures began, and no older ones', async () => {
    receiver.respondWith(status(500))
    await createPaidCharge(merchant)
    await exhaust()
    // A success in between: the failure before it does not belong to the current series of
    // failures.
    receiver.respondWith(status(200))
    await createPaidCharge(merchant)
    await deliverDue()
    receiver.respondWith(status(500))
    await createPaidCharge(merchant)
    await exhaust()
    receiver.respondWith(status(410))
    await createPaidCharge(merchant)
    await deliverDue()
    expect(await readStatuses()).toEqual(['exhausted', 'delivered', 'exhausted', 'stopped'])
    const endpoint = await readEndpoint(merchant.id, 'test', id)
    expect(endpoint).toMatchObject({ status: 'disabled' })
    expect(endpoint.disabled_reason).toContain('410')
    await createPaidCharge(merchant)
    receiver.respondWith(status(200))
    receiver.calls.length = 0
    expect(await enableEndpoint(owner, id, true)).toBe(3)
    await deliverDue()
    expect(receivedSequences().toSorted()).toEqual([3, 4, 5])
    expect(await readStatuses()).toEqual(['exhausted', ...Array(4).fill('delivered')])
    expect(await readEndpoint(merchant.id, 'test', id)).toMatchObject({
      status: 'enabled',
      failing_since: null,
    })
  })

  test('gives exhausted deliveries all their attempts again', async () => {
    receiver.respondWith(status(500))
    await createPaidCharge(merchant)
    await exhaust()
    await pauseEndpoint(owner, id)
    await enableEndpoint(owner, id, true)
    await deliverDue()
    expect(await readStatuses()).toEqual(['pending'])
    await exhaust()
    expect(await readStatuses()).toEqual(['exhausted'])
    expect((await deliveriesOf(merchant))[0]?.attemptLog).toHaveLength(8)
  })

  test('without its missed events stops their deliveries and sends only new events', async () => {
    await pauseEndpoint(owner, id)
    await createPaidCharge(merchant)
    expect(await enableEndpoint(owner, id, false)).toBe(1)
    await createPaidCharge(merchant)
    await deliverDue()
    expect(receivedSequences()).toEqual([2])
    expect(await readStatuses()).toEqual(['stopped', 'delivered'])
  })

  test('schedules 2,500 waiting deliveries once each, oldest first', async () => {
    await pauseEndpoint(owner, id)
    await createPaidCharge(merchant)
    await copyDeliveries(2_499)
    expect(await enableEndpoint(owner, id, true)).toBe(2_500)
    const rows = await db().$queryRaw<{ late: bigint }[]>`
      SELECT count(*) AS late FROM (
        SELECT due_at < lag(due_at) OVER (ORDER BY sequence) AS early FROM deliveries
        WHERE endpoint_id = ${id}::uuid AND due_at IS NOT NULL) t WHERE early`
    expect(Number(rows[0]?.late)).toBe(0)
  })
})

test("a waiting delivery is sent to the endpoint's new URL", async () => {
  await pauseEndpoint(owner, id)
  await createPaidCharge(merchant)
  const newReceiver = await openReceiver()
  await editEndpoint(owner, id, { url: newReceiver.url })
  await enableEndpoint(owner, id, true)
  await deliverDue()
  await newReceiver.close()
  expect([receiver.calls.length, newReceiver.calls.length]).toEqual([0, 1])
})

test('a call in progress when its endpoint is deleted changes nothing afterwards', async () => {
  receiver.respondWith(async (_received, response) => {
    await deleteEndpoint(owner, id)
    response.writeHead(500).end()
  })
  await createPaidCharge(merchant)
  await deliverDue()
  const [row] = await deliveriesOf(merchant)
  expect([row?.status, row?.dueAt, row?.attemptLog.length]).toEqual(['stopped', null, 1])
})

test('in live mode a private address is refused with an error at its field', async () => {
  const liveOwner = { ...owner, mode: 'live' as const }
  for (const host of ['10.255.2.3', '169.254.169.254', '[::ffff:10.255.0.1]', '[fd00::7]']) {
    const request = { url: `https://${host}/hook`, event_types: [...EVENT_TYPES] }
    const refusal = { code: 'invalid_input', fields: { url: [expect.stringContaining('public')] } }
    await expect(createEndpoint(liveOwner, request)).rejects.toMatchObject(refusal)
  }
  const publicRequest = { url: 'https://8.8.8.8/hook', event_types: [...EVENT_TYPES] }
  expect(await createEndpoint(liveOwner, publicRequest)).toBeTruthy()
})

test('the health of an endpoint counts the attempts of the last day and their duration', async () => {
  receiver.respondWith(status(500))
  await createPaidCharge(merchant)
  await exhaust()
  receiver.respondWith(status(200))
  await createPaidCharge(merchant)
  await deliverDue()
  const { health } = await readEndpoint(merchant.id, 'test', id)
  expect(health).toMatchObject({ delivered: 1, failed: 4 })
  expect(health.p95_ms).toBeGreaterThanOrEqual(0)
})

/** Copies the event and its delivery `count` times, as if more charges had been paid. */
async function copyDeliveries(count: number): Promise<void> {
  await withOwner(
    owner => owner.$executeRaw`
    WITH one AS (SELECT * FROM events WHERE account_id = ${merchant.id}::uuid), made AS (
      INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource)
      SELECT account_id, gen_random_uuid(), mode, sequence + n, type, gen_random_uuid(), resource
      FROM one, generate_series(1, ${count}::int) n RETURNING *
    )
    INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, endpoint_id, url,
      host, status)
    SELECT m.account_id, gen_random_uuid(), m.mode, m.id, m.subject_id, m.sequence, ${id}::uuid,
      ${receiver.url}, ${hostOf(receiver.url)}, 'pending' FROM made m`,
  )
}

test('an address of this installation cannot be set for live mode in production', async () => {
  const live: Owner = { ...owner, mode: 'live' }
  const wanted = { url: 'https://51.15.0.9:8443/hook', event_types: [...EVENT_TYPES] }
  const before = env().TROCO_ENV
  try {
    supplyEnv({ TROCO_ENV: 'production', OWN_ADDRESSES: '51.15.0.0/24' })
    await expect(createEndpoint(live, wanted)).rejects.toMatchObject({
      code: 'invalid_input',
      fields: { url: ['url must not lead back to this gateway: give your own server'] },
    })
    supplyEnv({ WEBHOOK_ALLOW_CIDRS: '51.15.0.9/32' })
    expect(await createEndpoint(live, wanted)).toBeTruthy()
  } finally {
    supplyEnv({ TROCO_ENV: before, OWN_ADDRESSES: '', WEBHOOK_ALLOW_CIDRS: '' })
  }
})
