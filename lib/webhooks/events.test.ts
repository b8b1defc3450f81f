import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createCharge } from '#lib/charges/create.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { recordEvent } from '#lib/ledger/book.ts'
import { CHARGE, expectBalancedLedger, makeMerchant } from '#lib/testing/fixtures.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import { hostOf } from '#lib/webhooks/target.ts'

const HOOK_URL = 'https://shop.example.com/hook'

async function simulateOutcome(
  merchant: Account,
  outcome: 'paid' | 'failed' | 'expired',
  webhook_url?: string,
): Promise<void> {
  const { id } = await createCharge(merchant, 'test', { ...CHARGE, webhook_url }, null)
  await simulateCharge(merchant.id, id, outcome)
}

interface Endpoint {
  mode?: string
  url?: string
  eventTypes?: string[]
  disabledAt?: Date
  deletedAt?: Date
}

function addEndpoint(merchant: Account, endpoint: Endpoint = {}) {
  const url = 'https://erp.example.com/in'
  const data = { mode: 'test', url, eventTypes: ['transaction.paid'], ...endpoint }
  return db().webhookEndpoint.create({
    data: { accountId: merchant.id, id: newId(), ...data, host: hostOf(data.url) },
  })
}

function deliveriesOf(merchant: Account) {
  return db().delivery.findMany({
    where: { accountId: merchant.id },
    orderBy: [{ sequence: 'asc' }, { url: 'asc' }],
  })
}

describe('the deliveries of an event', () => {
  test('do not exist without a webhook_url or endpoint, but the event is recorded', async () => {
    const merchant = await makeMerchant()
    await simulateOutcome(merchant, 'paid')
    expect(await deliveriesOf(merchant)).toEqual([])
    expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
    await expectBalancedLedger(merchant.id)
  })

  test("include one for the charge's webhook_url, due at once", async () => {
    const merchant = await makeMerchant()
    await simulateOutcome(merchant, 'paid', HOOK_URL)
    const event = await db().event.findFirstOrThrow({ where: { accountId: merchant.id } })
    const deliveries = await deliveriesOf(merchant)
    expect(deliveries).toMatchObject([
      {
        mode: 'test',
        eventId: event.id,
        subjectId: event.subjectId,
        sequence: 1n,
        endpointId: null,
        url: HOOK_URL,
        status: 'pending',
        attempts: 0,
      },
    ])
    expect(deliveries[0]?.dueAt).not.toBeNull()
    await expectBalancedLedger(merchant.id)
  })

  test('include one for each subscribed endpoint and one for the webhook_url', async () => {
    const merchant = await makeMerchant()
    const [first, second] = [await addEndpoint(merchant), await addEndpoint(merchant)]
    await simulateOutcome(merchant, 'paid', HOOK_URL)
    const deliveries = await deliveriesOf(merchant)
    expect(deliveries.map(delivery => delivery.endpointId).toSorted()).toEqual(
      [first.id, null, second.id].toSorted(),
    )
    expect(new Set(deliveries.map(delivery => delivery.id)).size).toBe(3)
    await expectBalancedLedger(merchant.id)
  })

  test.each(EVENT_TYPES)(
    'of %s include one for the webhook_url only if the specification names the type',
    async type => {
      const named = ['transaction.paid', 'transaction.expired', 'transaction.failed']
      const isNamed = [...named, 'withdrawal.approved', 'withdrawal.rejected'].includes(type)
      const merchant = await makeMerchant()
      const endpoint = await addEndpoint(merchant, { eventTypes: [type] })
      const source = Prisma.sql`SELECT ${merchant.id}::uuid AS account_id, 'test' AS mode,
        ${newId()}::uuid AS event_id, ${newId()}::uuid AS subject_id, ${HOOK_URL} AS webhook_url,
        ${hostOf(HOOK_URL)} AS webhook_host, '{}'::json AS resource, NULL AS trace`
      const names = ['account_id', 'mode', 'event_id', 'subject_id', 'resource', 'trace'] as const
      const columns = columnsOf('m', [...names, 'webhook_url', 'webhook_host'])
      const statement = recordEvent({
        ctes: { made: source },
        source: { from: Prisma.sql`made m`, columns },
        event: type,
        returning: Prisma.sql`json_build_object('id', m.event_id)`,
      })
      expect(await queryRows(statement)).toHaveLength(1)
      const places = (await deliveriesOf(merchant)).map(({ endpointId }) => endpointId)
      expect(new Set(places)).toEqual(new Set([endpoint.id, ...(isNamed ? [null] : [])]))
      expect(await db().event.count({ where: { accountId: merchant.id, type } })).toBe(1)
    },
  )

  test('leave out endpoints that are deleted or of another event type, mode or merchant', async () => {
    const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
    await addEndpoint(merchant, { eventTypes: ['transaction.failed', 'withdrawal.approved'] })
    await addEndpoint(merchant, { eventTypes: [] })
    await addEndpoint(merchant, { mode: 'live' })
    await addEndpoint(merchant, { disabledAt: new Date(), deletedAt: new Date() })
    await addEndpoint(other)
    await simulateOutcome(merchant, 'paid')
    expect(await deliveriesOf(merchant)).toEqual([])
    expect(await deliveriesOf(other)).toEqual([])
    await simulateOutcome(merchant, 'failed')
    expect(await deliveriesOf(merchant)).toMatchObject([{ sequence: 2n }])
    await expectBalancedLedger(merchant.id)
  })
})

test('a delivery to a disabled endpoint waits without a due time', async () => {
  const merchant = await makeMerchant()
  await addEndpoint(merchant, { disabledAt: new Date() })
  await simulateOutcome(merchant, 'paid')
  expect(await deliveriesOf(merchant)).toMatchObject([{ status: 'pending', dueAt: null }])
})

test('each account and mode numbers its events from 1 in order', async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  for (const outcome of ['paid', 'failed', 'expired', 'paid'] as const)
    await simulateOutcome(merchant, outcome)
  await simulateOutcome(other, 'expired')
  const events = await db().event.findMany({
    where: { accountId: merchant.id },
    orderBy: { sequence: 'asc' },
  })
  expect(events.map(event => `${event.sequence} ${event.type}`)).toEqual([
    '1 transaction.paid',
    '2 transaction.failed',
    '3 transaction.expired',
    '4 transaction.paid',
  ])
  const times = events.map(event => event.createdAt.getTime())
  expect(times).toEqual(times.toSorted((one, later) => one - later))
  const [first] = await db().event.findMany({ where: { accountId: other.id } })
  expect(first?.sequence).toBe(1n)
  const sequences = await db().eventSequence.findMany({
    where: { accountId: merchant.id },
    orderBy: { mode: 'asc' },
  })
  expect(sequences.map(({ mode, last }) => `${mode} ${last}`)).toEqual(['live 0', 'test 4'])
  await expectBalancedLedger(merchant.id)
})
