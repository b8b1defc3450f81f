import { describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { newId, removeHyphens } from '#lib/base/ids.ts'
import { loseDispute, winDispute } from '#lib/rooms/charges/disputes/close.ts'
import { chargeColumns } from '#lib/rooms/charges/queries.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { noteForeignRefund } from '#lib/rooms/charges/refunds/foreign.ts'
import { rejectRefund } from '#lib/rooms/charges/refunds/settle.ts'
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
    ...{ cause: 'request' as const, amount: 700, at: new Date() },
  })
  return { merchant, chargeId, report }
}

const itemsAbout = (endToEndId: string) =>
  db().inboxItem.findMany({ where: { key: { startsWith: endToEndId } }, orderBy: { id: 'asc' } })

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

test.each([
  ['that the books rejected', 'rejected', 700],
  ['of another amount', 'pending', 701],
] as const)(
  'a refund %s goes to the inbox, although Troco requested it',
  async (_, status, amount) => {
    const { merchant, chargeId, report } = await pay()
    const { id } = await createRefund(merchant.id, 'test', chargeId, { amount: 700 })
    const reason = { code: 'unspecified' as const, params: {}, bankText: null }
    const settlement = { accountId: merchant.id, refundId: id, chargeColumns, reason }
    if (status === 'rejected') await rejectRefund(settlement)
    const refund = { ...report(removeHyphens(id)), amount }
    for (let time = 0; time < 2; time++) expect(await noteForeignRefund(refund)).toBe(false)
    expect(await itemsAbout(refund.endToEndId)).toMatchObject([
      { kind: 'refund_unknown', facts: { amount, stored_status: status, stored_amount: 700 } },
    ])
  },
)

describe('what the bank returned itself for a dispute', () => {
  const makeCase = async () => {
    const { report } = await pay()
    const refund = { ...report('med'), cause: 'dispute' as const }
    const { connectionId, endToEndId, amount } = refund
    return { refund, dispute: { connectionId, endToEndId, amount, bankId: newId() } }
  }

  test('is known if the dispute was lost, also in parts', async () => {
    const { refund, dispute } = await makeCase()
    await loseDispute(dispute)
    for (const amount of [700, 300])
      expect(await noteForeignRefund({ ...refund, amount })).toBe(true)
    expect(await itemsAbout(refund.endToEndId)).toEqual([])
  })

  test('goes to the inbox if it is more than was lost, or none was', async () => {
    const { refund, dispute } = await makeCase()
    expect(await noteForeignRefund(refund)).toBe(false)
    await loseDispute(dispute)
    expect(await noteForeignRefund({ ...refund, id: 'more', amount: 701 })).toBe(false)
    expect(await itemsAbout(refund.endToEndId)).toMatchObject(
      [700, 701].map(amount => ({ kind: 'refund_unknown', facts: { cause: 'dispute', amount } })),
    )
  })

  test('goes to the inbox if the dispute was won', async () => {
    const { refund, dispute } = await makeCase()
    await winDispute(dispute)
    expect(await noteForeignRefund(refund)).toBe(false)
  })
})
