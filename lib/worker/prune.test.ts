import { beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'
import { giveBack } from '#lib/operator/differences/differences.ts'
import { openSession } from '#lib/people/sessions.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { addEndpoint, createPaidCharge, deliverDue, deliveriesOf } from '#lib/testing/deliveries.ts'
import { keepStray } from '#lib/testing/differences.ts'
import { seedDueDeliveries, withClient } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { changeOrder, makeOrdersDue, orderOf, sendDueReturns } from '#lib/testing/orders.ts'
import { openReceiver } from '#lib/testing/receiver.ts'
import { hasDelivered } from '#lib/webhooks/endpoints.ts'
import { readEventRange } from '#lib/webhooks/events.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import {
  pruneAttemptBodies,
  pruneEvents,
  pruneGatewayCalls,
  pruneIdempotencyKeys,
  pruneSessions,
} from '#lib/worker/prune.ts'

inOwnDatabase()

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})

const DAY_MS = 86_400_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)

test('after 60 days an attempt loses its request and response bodies, but not its status', async () => {
  const receiver = await openReceiver()
  await createPaidCharge(merchant, receiver.url)
  await createPaidCharge(merchant, receiver.url)
  await deliverDue()
  const [old] = await deliveriesOf(merchant)
  await db().deliveryAttempt.updateMany({
    where: { deliveryId: old?.id ?? '' },
    data: { createdAt: daysAgo(61) },
  })
  expect(await pruneAttemptBodies()).toBe(1)
  expect(await pruneAttemptBodies()).toBe(0)
  const [pruned, young] = (await deliveriesOf(merchant)).map(({ attemptLog }) => attemptLog[0])
  expect(pruned).toMatchObject({ requestBody: null, responseBody: null, responseStatus: 200 })
  expect(young).toMatchObject({ requestBody: expect.any(String), responseBody: 'ok' })
  await receiver.close()
})

test('after 90 days events are deleted with their deliveries, oldest first and without gaps', async () => {
  const otherMerchant = await makeMerchant()
  await addEndpoint(otherMerchant, 'http://127.0.0.1:9/none')
  for (let count = 0; count < 4; count++) await createPaidCharge(otherMerchant)
  await runAsOwner(
    `UPDATE events SET created_at = '${daysAgo(91).toISOString()}'
     WHERE account_id = '${otherMerchant.id}' AND sequence IN (1, 2)`,
  )
  expect(await pruneEvents()).toBe(2)
  expect(await pruneEvents()).toBe(0)
  expect(await readEventRange(otherMerchant.id, 'test', 0, undefined)).toMatchObject({
    oldest: 3,
    last: 4,
  })
  expect((await deliveriesOf(otherMerchant)).map(({ sequence }) => Number(sequence))).toEqual([
    3, 4,
  ])
  await expectBalancedLedger(otherMerchant.id)
})

test('one run deletes 500 events, also of one account', async () => {
  const otherMerchant = await makeMerchant()
  await seedDueDeliveries({ accountId: otherMerchant.id, count: 510 })
  await runAsOwner(
    `UPDATE events SET created_at = '${daysAgo(91).toISOString()}'
     WHERE account_id = '${otherMerchant.id}' AND sequence <= 505`,
  )
  expect(await pruneEvents()).toBe(500)
  expect(await pruneEvents()).toBe(5)
  expect((await readEventRange(otherMerchant.id, 'test', 0, undefined)).oldest).toBe(506)
})

test('a delivered webhook stays a done step after its delivery was deleted', async () => {
  const receiver = await openReceiver()
  const otherMerchant = await makeMerchant()
  await addEndpoint(otherMerchant, receiver.url)
  await createPaidCharge(otherMerchant)
  await deliverDue()
  await runAsOwner(
    `UPDATE events SET created_at = '${daysAgo(91).toISOString()}'
     WHERE account_id = '${otherMerchant.id}'`,
  )
  expect(await pruneEvents()).toBe(1)
  expect(await deliveriesOf(otherMerchant)).toEqual([])
  expect(await hasDelivered(otherMerchant.id, 'test')).toBe(true)
  expect(await hasDelivered(otherMerchant.id, 'live')).toBe(false)
  await receiver.close()
})

test('the time of the first delivered webhook is set by one that was delivered, and stays', async () => {
  const [receiver, otherMerchant] = [await openReceiver(), await makeMerchant()]
  const readFirst = async () => {
    const where = { accountId: otherMerchant.id, mode: 'test' }
    return (await db().eventSequence.findFirstOrThrow({ where })).firstDeliveredAt
  }
  const pruneAll = async () => {
    await runAsOwner(
      `UPDATE events SET created_at = '${daysAgo(91).toISOString()}'
       WHERE account_id = '${otherMerchant.id}'`,
    )
    await pruneEvents()
    expect(await deliveriesOf(otherMerchant)).toEqual([])
  }
  await addEndpoint(otherMerchant, receiver.url)
  await createPaidCharge(otherMerchant)
  await db().delivery.updateMany({
    where: { accountId: otherMerchant.id },
    data: { status: 'exhausted', dueAt: null },
  })
  await pruneAll()
  expect(await readFirst()).toBeNull()
  await createPaidCharge(otherMerchant)
  await deliverDue()
  await pruneAll()
  const first = await readFirst()
  expect(first).not.toBeNull()
  await createPaidCharge(otherMerchant)
  await deliverDue()
  await pruneAll()
  expect(await readFirst()).toEqual(first)
  await receiver.close()
})

test('deleting events does not read the deliveries of the other events of their account', async () => {
  const otherMerchant = await makeMerchant()
  const values = [otherMerchant.id]
  await seedDueDeliveries({ accountId: otherMerchant.id, count: 2_000 })
  await runAsOwner(
    `UPDATE events SET created_at = '${daysAgo(91).toISOString()}'
     WHERE account_id = '${otherMerchant.id}' AND sequence <= 20;
     DELETE FROM deliveries WHERE account_id = '${otherMerchant.id}' AND sequence <= 20;
     ANALYZE events, deliveries`,
  )
  await withClient(async client => {
    await client.query('BEGIN')
    await client.query(
      `SELECT troco_prune_events(array_agg(account_id), array_agg(id)) FROM events
       WHERE account_id = $1 AND sequence <= 20`,
      values,
    )
    const { rows } = await client.query(
      `SELECT seq_tup_read + idx_tup_fetch AS count FROM pg_stat_xact_user_tables
       WHERE relname = 'deliveries'`,
    )
    await client.query('COMMIT')
    expect(rows).toEqual([{ count: '0' }])
  })
  expect((await readEventRange(otherMerchant.id, 'test', 0, undefined)).oldest).toBe(21)
})

test('idempotency keys are deleted when they expire, gateway calls after 90 days', async () => {
  const key = { accountId: merchant.id, mode: 'test', path: '/x', requestHash: new Uint8Array(32) }
  const rest = { ...key, resourceId: newId() }
  await db().idempotencyKey.createMany({
    data: [
      { ...rest, key: 'old', expiresAt: daysAgo(0) },
      { ...rest, key: 'young', expiresAt: daysAgo(-1) },
    ],
  })
  expect(await pruneIdempotencyKeys()).toBe(1)
  expect(await db().idempotencyKey.findMany()).toMatchObject([{ key: 'young' }])
  const call = { accountId: merchant.id, mode: 'test', gateway: 'bank', operation: 'sendPayout' }
  await db().gatewayCall.createMany({
    data: [91, 89].map(days => ({
      ...call,
      id: newId(),
      subjectId: newId(),
      request: {},
      createdAt: daysAgo(days),
    })),
  })
  const ownCall = { id: newId(), gateway: 'bank', operation: 'getBalance', request: {} }
  await db().gatewayCall.create({ data: { ...ownCall, createdAt: daysAgo(91) } })
  expect(await pruneGatewayCalls()).toBe(2)
  expect(await db().gatewayCall.count()).toBe(1)
})

test('the calls of a withdrawal or refund that has not ended are kept', async () => {
  const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
  await fundMerchant(merchant, 1_000)
  const withdrawal = await createWithdrawal(merchant.id, 'test', { amount: 1_000, ...key })
  const chargeId = await createPaidCharge(merchant)
  const refund = await createRefund(merchant.id, 'test', chargeId, { amount: 1_000 })
  const call = { accountId: merchant.id, mode: 'test', gateway: 'bank', operation: 'sendPayout' }
  const data = [withdrawal, refund].map(({ id: subjectId }) => ({
    ...call,
    id: newId(),
    subjectId,
    request: {},
    createdAt: daysAgo(91),
  }))
  await db().gatewayCall.createMany({ data })
  expect(await pruneGatewayCalls()).toBe(0)
  await changeOrder(withdrawal.id, { state: 'refused', dueAt: null })
  expect(await pruneGatewayCalls()).toBe(1)
  await changeOrder(refund.id, { state: 'refused', dueAt: null })
  expect(await pruneGatewayCalls()).toBe(1)
})

test('the calls of a return that has not ended are kept', async () => {
  const bank = Object.assign(new StubBank(), { isQuick: true })
  const connectionId = await addConnection(bank)
  const { itemId } = await keepStray(5_000, { connectionId, mode: 'live' })
  const actor = { type: 'user', id: newId() } as const
  const { id: subjectId } = await giveBack({ itemId, reason: 'Paid by mistake', actor })
  const call = { accountId: OPERATOR_ACCOUNT_ID, mode: 'live', gateway: 'bank', request: {} }
  const rest = { id: newId(), operation: 'refundCharge', subjectId, createdAt: daysAgo(91) }
  await db().gatewayCall.create({ data: { ...call, ...rest } })
  expect(await pruneGatewayCalls()).toBe(0)
  while ((await orderOf(subjectId)).dueAt) {
    await makeOrdersDue({ slots: true })
    await sendDueReturns()
  }
  expect(await pruneGatewayCalls()).toBe(1)
})

test('sessions are deleted once they have expired', async () => {
  const id = newId()
  await db().user.create({ data: { id, email: `${id}@troco.example`, name: 'Ana' } })
  const secrets = [1, 2].map(() => openSession(id, { ip: null, userAgent: null }))
  const [old = '', young = ''] = await Promise.all(secrets)
  const where = { secretHash: hashSecret(old) }
  await db().userSession.update({ where, data: { expiresAt: daysAgo(0) } })
  expect(await pruneSessions()).toBe(1)
  expect(await pruneSessions()).toBe(0)
  expect(await db().userSession.findMany({ where: { userId: id } })).toMatchObject([
    { secretHash: hashSecret(young) },
  ])
})
