import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { createCharge } from '#lib/charges/create.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { completeRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import { bucketOf, newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'

import { db } from '#lib/db/client.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  makeIdempotentRequest,
  makeMerchant,
  makeToken,
  openCharge,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import { returnPayout } from '#lib/withdrawals/outcome.ts'

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

async function post(path: string, body: object, key?: string, caller = token) {
  const options = { token: caller, key, body }
  const { status, text, body: response } = await call(api.url, 'POST', path, options)
  expect(status, text).toBe(200)
  return response.data
}

const PAYOUT = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
const settlement = (refundId: string) => ({ accountId: merchant.id, refundId })

/** Brings charges, refunds and withdrawals to every final state. */
async function driveEveryVerb(makeKey: () => string | undefined): Promise<void> {
  const openCharge = async (payer = CHARGE.client_email) => {
    const request = { ...CHARGE, amount: 5_000, client_email: payer }
    return (await post('/transactions', request, makeKey())).transaction_id
  }
  // The gateway opens a charge of this payer in a second step.
  await openCharge('fail@example.com')
  for (const outcome of ['expired', 'failed']) {
    await post(`/sandbox/transactions/${await openCharge()}`, { outcome }, makeKey())
  }
  const paid = await openCharge()
  await post(`/sandbox/transactions/${paid}`, { outcome: 'paid' }, makeKey())
  const refund = async () =>
    (await post(`/transactions/${paid}/refunds`, { amount: 100 }, makeKey())).id
  await completeRefund({ ...settlement(await refund()), returnId: newId() })
  await rejectRefund({ ...settlement(await refund()), reason: REFUSAL })
  const dispute = await post(`/sandbox/transactions/${paid}/disputes`, {}, makeKey())
  await post(`/sandbox/disputes/${dispute.id}`, { outcome: 'won' }, makeKey())
  for (const outcome of ['approved', 'rejected']) {
    const { id } = await post('/withdrawals', PAYOUT, makeKey())
    await post(`/sandbox/withdrawals/${id}`, { outcome }, makeKey())
    if (outcome === 'rejected') continue
    const payoutReturn = { id: newId(), amount: 100, returnedAt: new Date() }
    await returnPayout({ accountId: merchant.id, withdrawalId: id }, payoutReturn)
  }
  await receivePaymentsOfCharge(await openCharge(), makePayment(1))
  const { endToEndId } = await db().charge.findFirstOrThrow({ where: { id: paid } })
  const given = {
    id: newEndToEndId().replace('E', 'D'),
    orderId: null,
    amount: 100,
    nature: 'ORIGINAL',
    returnedAt: new Date(),
  }
  await bookReturns(SIMULATOR_CONNECTION_ID, [{ endToEndId: endToEndId ?? '', returns: [given] }])
}

const receivePaymentsOfCharge = (chargeId: string, payment: ReceivedPayment) =>
  receivePayments([{ accountId: merchant.id, chargeId, payments: [payment] }])

test.each([
  ['without', () => undefined],
  ['with', newId],
])('every id carries the bucket of its account, %s idempotency keys', async (_, makeKey) => {
  await driveEveryVerb(makeKey)
  const rows = await db().$queryRaw<{ kind: string; ids: string[] }[]>`
    SELECT kind, array_agg(id::text) AS ids FROM (
      SELECT account_id, 'charge' AS kind, id FROM charges
      UNION ALL SELECT account_id, 'txid', txid::uuid FROM charges
      UNION ALL SELECT account_id, 'refund', id FROM refunds
      UNION ALL SELECT account_id, 'withdrawal', id FROM withdrawals
      UNION ALL SELECT account_id, 'return', id FROM payout_returns
      UNION ALL SELECT account_id, type, id FROM events) made
    WHERE account_id = ${merchant.id}::uuid GROUP BY kind`
  const kinds = ['charge', 'txid', 'refund', 'withdrawal', 'return', ...EVENT_TYPES]
  expect(rows.map(({ kind }) => kind).sort()).toEqual(kinds.sort())
  const bucket = merchant.id.slice(-3)
  for (const { kind, ids } of rows) {
    expect(
      ids.filter(id => !id.endsWith(bucket)),
      kind,
    ).toEqual([])
  }
})

test("the id of a payment carries the bucket of the operator's account, which has its money", async () => {
  const { id: chargeId } = await openCharge(merchant)
  const payments = [makePayment(1)]
  await receivePayments([{ accountId: merchant.id, chargeId, payments }])
  const payment = await db().unmatchedPayment.findFirstOrThrow({ where: { chargeId } })
  expect(payment.accountId).toBe(OPERATOR_ACCOUNT_ID)
  expect(bucketOf(payment.id)).toBe(bucketOf(OPERATOR_ACCOUNT_ID))
})

test('an issued token begins with the bucket of its account', () => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const start = token.slice('troco_test_'.length).slice(0, 3)
  const number = [...start].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
  expect(Math.floor(number / 58)).toBe(bucketOf(merchant.id))
})

test('a charge with an id outside its account’s bucket is paid and refunded', async () => {
  const older = await makeMerchant()
  const caller = await makeToken(older.id)
  const once = { ...makeIdempotentRequest(older.id), id: newId() }
  const { id } = await createCharge(older, 'test', CHARGE, null, once)
  expect(id).toBe(once.id)
  await post(`/sandbox/transactions/${id}`, { outcome: 'paid' }, undefined, caller)
  const refund = await post(`/transactions/${id}/refunds`, { amount: 100 }, undefined, caller)
  expect(bucketOf(refund.id)).toBe(bucketOf(older.id))
  await expectBalancedLedger(older.id)
})
