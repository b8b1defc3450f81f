import { afterAll, beforeAll, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { createCharge } from '#lib/charges/create.ts'
import { loseDispute, openDispute } from '#lib/charges/disputes/dispute.ts'
import { recordChargeView } from '#lib/charges/list.ts'
import { completeRefund, createRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'
import { ChargeTimelineRead } from '#lib/dashboard/timeline.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { addEndpoint, deliverDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, signIn } from '#lib/testing/member.ts'
import { openReceiver, status } from '#lib/testing/receiver.ts'

inOwnDatabase()

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

test('a timeline lists payment, views, entries, webhooks and refunds, oldest first', async () => {
  const merchant = await makeMerchant()
  const receiver = await openReceiver()
  receiver.respondWith(status(204))
  await addEndpoint(merchant, receiver.url)
  const { id } = await createCharge(merchant, 'test', CHARGE, '203.0.113.7')
  await recordChargeView(merchant.id, id)
  await simulateCharge(merchant.id, id, 'paid')
  await deliverDue()
  const refund = await createRefund(merchant.id, 'test', id, { amount: 400, reason: 'broken' })
  await completeRefund({
    accountId: merchant.id,
    refundId: refund.id,
    returnId: 'D00000000202611210136f0e1d2c3b4a',
  })
  const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
  const path = `/dashboard/charges/${id}/timeline`
  const { body } = await call(api.url, 'GET', path, { headers })
  expectShape(ChargeTimelineRead, body)
  const timeline: ChargeTimelineData = body.data
  expect(timeline.steps.slice(0, 5).map(({ what }) => what)).toEqual([
    'created',
    'viewed',
    'paid',
    'entry',
    'told',
  ])
  expect(timeline.steps[0]).toMatchObject({ ip: '203.0.113.7', at: timeline.charge.created_at })
  expect(timeline.steps[3]).toMatchObject({
    kind: 'charge_paid',
    amount: 1_500,
    balance_after: 1_500,
  })
  expect(timeline.steps[4]).toMatchObject({ number: 1, response_status: 204, problem: null })
  expect(timeline.steps.filter(({ what }) => what === 'refund')).toMatchObject([
    { status: 'pending', amount: 400, reason: 'broken' },
    { status: 'completed', amount: 400 },
  ])
  expect(timeline.steps.filter(({ what }) => what === 'entry').at(-1)).toMatchObject({
    kind: 'refund_held',
    amount: -400,
    balance_after: 1_100,
  })
  expect(timeline.steps.at(-1)).toMatchObject({ what: 'next_try', number: 1 })
  expect(timeline).toMatchObject({ refundable: 1_100, refunds: [{ id: refund.id }] })
  await receiver.close()
  await expectBalancedLedger(merchant.id)
})

test('what is left of a charge is refundable for 90 days after the payment, and then named as too late', async () => {
  const merchant = await makeMerchant()
  const { id } = await createCharge(merchant, 'test', CHARGE, null)
  await simulateCharge(merchant.id, id, 'paid')
  await createRefund(merchant.id, 'test', id, { amount: 400 })
  const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
  const limitsOf = async (age: string) => {
    await db().$executeRaw`
      UPDATE charges SET paid_at = now() - ${age}::interval WHERE id = ${id}::uuid`
    const path = `/dashboard/charges/${id}/timeline`
    const { refundable, late } = (await call(api.url, 'GET', path, { headers })).body.data
    return { refundable, late }
  }
  expect(await limitsOf('89 days 23:59')).toEqual({ refundable: 1_100, late: 0 })
  expect(await limitsOf('90 days 00:00:01')).toEqual({ refundable: 0, late: 1_100 })
})

test('a timeline shows a dispute that was lost in part, what it held and released, and what can be refunded', async () => {
  const merchant = await makeMerchant()
  const { id } = await createCharge(merchant, 'test', CHARGE, null)
  const { end_to_end_id: endToEndId } = await simulateCharge(merchant.id, id, 'paid')
  const report = {
    connectionId: SIMULATOR_CONNECTION_ID,
    bankId: newId(),
    amount: 1_500,
    endToEndId: endToEndId ?? '',
  }
  const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
  const path = `/dashboard/charges/${id}/timeline`
  const respondBy = new Date(Date.now() + 86_400_000)
  await openDispute({ ...report, respondBy })
  const { body: open } = await call(api.url, 'GET', path, { headers })
  expect(open.data).toMatchObject({ refundable: 0, disputed: 1_500, lost: 0 })
  expect(open.data.disputes).toMatchObject([
    { status: 'open', amount: 1_500, lost_amount: null, answer_state: null, closed_at: null },
  ])
  expect(new Date(open.data.disputes[0].respond_by)).toEqual(respondBy)
  await loseDispute({ ...report, amount: 600 })
  const { body } = await call(api.url, 'GET', path, { headers })
  expectShape(ChargeTimelineRead, body)
  expect(body.data).toMatchObject({ refundable: 900, disputed: 0, lost: 600 })
  expect(body.data.disputes).toMatchObject([{ status: 'lost', amount: 1_500, lost_amount: 600 }])
  const steps: ChargeTimelineData['steps'] = body.data.steps
  expect(steps.filter(({ what }) => what === 'dispute')).toMatchObject([
    { status: 'open', amount: 1_500 },
    { status: 'lost', amount: 600 },
  ])
  expect(steps.filter(({ what }) => what === 'entry')).toMatchObject([
    { kind: 'charge_paid', amount: 1_500, balance_after: 1_500 },
    { kind: 'dispute_held', amount: -1_500, balance_after: 0 },
    { kind: 'dispute_won', amount: 900, balance_after: 900 },
  ])
  await expectBalancedLedger(merchant.id)
})
