import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { newId, removeHyphens } from '#lib/base/ids.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { noteForeignRefund } from '#lib/rooms/charges/refunds/foreign.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'
import { readBalances } from '#lib/services/ledger/accounts.ts'
import { expectBalancedLedger, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import { makeReceipt } from '#lib/testing/receipts.ts'

async function pay() {
  const merchant = await makeMerchant()
  const { id: chargeId } = await openCharge(merchant, 5_000)
  const payment = makeReceipt(5_000)
  await receivePayments([{ accountId: merchant.id, chargeId, payments: [payment] }])
  const report = (id: string) => ({
    ...{
      connectionId: SIMULATOR_CONNECTION_ID,
      endToEndId: payment.endToEndId,
      id,
    },
    ...{ amount: 700, at: new Date() },
  })
  return { merchant, chargeId, report }
}

const itemsAbout = (endToEndId: string) =>
  db().inboxItem.findMany({ where: { key: { startsWith: endToEndId } } })

test('a refund that was made at the bank goes to the inbox, once, and moves nothing', async () => {
  const { merchant, chargeId, report } = await pay()
  const refund = report(removeHyphens(newId()))
  for (let time = 0; time < 3; time++) expect(await noteForeignRefund(refund)).toBe(false)
  expect(await itemsAbout(refund.endToEndId)).toMatchObject([
    {
      kind: 'refund_unknown',
      facts: { amount: 700, account_id: merchant.id, transaction_id: chargeId },
    },
  ])
  expect(await readBalances(merchant.id, 'test')).toEqual({
    available: 5_000,
    outbound: 0,
  })
  await expectBalancedLedger(merchant.id)
})

test('a refund of a payment that is not known goes to the inbox, too', async () => {
  const refund = {
    ...(await pay()).report('abc'),
    endToEndId: newEndToEndId(),
  }
  expect(await noteForeignRefund(refund)).toBe(false)
  expect(await itemsAbout(refund.endToEndId)).toMatchObject([{ kind: 'refund_unknown' }])
})

test('a refund that Troco requested does not', async () => {
  const { merchant, chargeId, report } = await pay()
  const { id } = await createRefund(merchant.id, 'test', chargeId, {
    amount: 700,
  })
  const refund = report(removeHyphens(id))
  expect(await noteForeignRefund(refund)).toBe(true)
  expect(await itemsAbout(refund.endToEndId)).toEqual([])
})
