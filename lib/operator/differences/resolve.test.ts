import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { payByUnmatched } from '#lib/charges/receive.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { readChargeTimeline } from '#lib/dashboard/timeline.ts'
import { db } from '#lib/db/client.ts'
import { type DifferenceKind, noteItem } from '#lib/differences/differences.ts'
import {
  acknowledgeItem,
  creditAccount,
  takeUnmatched,
} from '#lib/operator/differences/differences.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, openLiveCharge } from '#lib/testing/connection.ts'
import { keepOfCharge, keepStray, operatorBalances } from '#lib/testing/differences.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { sendDueRefunds } from '#lib/testing/orders.ts'

inOwnDatabase()

const ACTOR = { type: 'user', id: newId() } as const
const AMOUNT = 5_000

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

const decide = (itemId: string) => ({ itemId, reason: 'Agreed with the payer', actor: ACTOR })
const available = async () => (await readBalances(merchant.id, 'test')).available
const findItem = (id: string) => db().difference.findUniqueOrThrow({ where: { id } })

async function noteOf(kind: DifferenceKind): Promise<string> {
  const key = newId()
  await noteItem(db(), { connectionId: SIMULATOR_CONNECTION_ID, kind, key, facts: {} })
  return (await db().difference.findFirstOrThrow({ where: { key } })).id
}

test('kept money becomes the own money of the operator, once, with who decided it and why', async () => {
  const { itemId } = await keepStray(AMOUNT)
  const before = await operatorBalances()
  await takeUnmatched(decide(itemId))
  await expect(takeUnmatched(decide(itemId))).rejects.toMatchObject({ code: 'already_final' })
  const after = await operatorBalances()
  expect(after.own).toBe((before.own ?? 0) + AMOUNT)
  expect(after.unmatched).toBe((before.unmatched ?? 0) - AMOUNT)
  expect(await findItem(itemId)).toMatchObject({
    resolution: 'keep',
    resolvedBy: ACTOR.id,
    reason: 'Agreed with the payer',
    resolvedAt: expect.any(Date),
  })
  const [record] = await db().auditRecord.findMany({ where: { target: itemId } })
  expect(record).toMatchObject({
    action: 'difference.resolved',
    actorId: ACTOR.id,
    reason: 'Agreed with the payer',
    after: { entry: 'keep', mode: 'test', amount: AMOUNT },
  })
})

test('the page of a charge shows a payment of another amount, and what was decided about it', async () => {
  const { id: chargeId } = await openCharge(merchant, AMOUNT)
  const charge = { accountId: merchant.id, chargeId }
  const decisions = [
    ['credited', (itemId: string) => creditAccount(decide(itemId), merchant.id)],
    ['kept', (itemId: string) => takeUnmatched(decide(itemId))],
    ['open', async () => {}],
  ] as const
  for (const [, work] of decisions) await work((await keepOfCharge(charge, AMOUNT - 1)).itemId)
  const { steps } = await readChargeTimeline(merchant.id, 'test', chargeId)
  const shown = steps.filter(({ what }) => what === 'mismatch')
  expect(shown).toMatchObject(decisions.map(([state]) => ({ amount: AMOUNT - 1, state })))
  for (const { at } of shown) expect(at).toMatch(/^\d{4}-.*Z$/)
})

test('credited money is available to the account and leaves the operator', async () => {
  const { itemId } = await keepStray(AMOUNT)
  const [before, operator] = [await available(), await operatorBalances()]
  await creditAccount(decide(itemId), merchant.id)
  expect(await available()).toBe(before + AMOUNT)
  const after = await operatorBalances()
  expect(after.unmatched).toBe((operator.unmatched ?? 0) - AMOUNT)
  expect(after.external).toBe((operator.external ?? 0) + AMOUNT)
})

test('an unknown account gets nothing, and the item stays open', async () => {
  const { itemId } = await keepStray(AMOUNT)
  const crediting = creditAccount(decide(itemId), newId())
  await expect(crediting).rejects.toMatchObject({
    fields: { account_id: [expect.any(String)] },
  })
  expect((await findItem(itemId)).resolvedAt).toBeNull()
})

test('a matched payment pays the charge as if it had come with its txid, and can be refunded', async () => {
  const bank = new StubBank()
  const live = await makeMerchant()
  const connectionId = await connectBank(bank, live)
  const charge = await openLiveCharge(live, AMOUNT)
  const { itemId, payment } = await keepStray(AMOUNT, { connectionId, mode: 'live' })
  const paid = await payByUnmatched(decide(itemId), charge.id)
  expect(paid).toMatchObject({ status: 'paid', end_to_end_id: payment.endToEndId })
  expect((await readBalances(live.id, 'live')).available).toBe(AMOUNT)
  const events = { accountId: live.id, subjectId: charge.id, type: 'transaction.paid' }
  expect(await db().event.count({ where: events })).toBe(1)
  await createRefund(live.id, 'live', charge.id, {})
  await sendDueRefunds()
  expect((await readBalances(live.id, 'live')).available).toBe(0)
  await expectBalancedLedger(live.id)
})

test('a charge of another amount, of another connection or one that is paid takes no payment', async () => {
  const { itemId } = await keepStray(AMOUNT)
  const other = await openCharge(merchant, AMOUNT + 1)
  const paid = await openCharge(merchant, AMOUNT)
  await payByUnmatched(decide((await keepStray(AMOUNT)).itemId), paid.id)
  const live = await makeMerchant()
  await connectBank(new StubBank(), live)
  const elsewhere = await openLiveCharge(live, AMOUNT)
  await expect(payByUnmatched(decide(itemId), other.id)).rejects.toMatchObject({
    fields: {
      transaction_id: [`transaction_id must have the amount of the payment, ${AMOUNT}`],
    },
  })
  await expect(payByUnmatched(decide(itemId), paid.id)).rejects.toMatchObject({
    code: 'already_final',
  })
  for (const id of [elsewhere.id, newId(), 'x'])
    await expect(payByUnmatched(decide(itemId), id)).rejects.toMatchObject({
      code: 'transaction_not_found',
    })
  expect((await findItem(itemId)).resolvedAt).toBeNull()
})

test('of people who settle one item at once, one wins and the others are refused', async () => {
  const { id: chargeId } = await openCharge(merchant, AMOUNT)
  const { itemId } = await keepStray(AMOUNT)
  const before = { own: (await operatorBalances()).own ?? 0, available: await available() }
  const results = await Promise.allSettled([
    takeUnmatched(decide(itemId)),
    creditAccount(decide(itemId), merchant.id),
    payByUnmatched(decide(itemId), chargeId),
    takeUnmatched(decide(itemId)),
  ])
  const refused = results.flatMap(one => (one.status === 'rejected' ? one.reason.code : []))
  expect(refused).toEqual(['already_final', 'already_final', 'already_final'])
  const moved = (await operatorBalances()).own ?? 0
  expect(moved - before.own + ((await available()) - before.available)).toBe(AMOUNT)
})

test('of two payments that are matched to one charge at once, one pays it', async () => {
  const { id: chargeId } = await openCharge(merchant, AMOUNT)
  const items = [await keepStray(AMOUNT), await keepStray(AMOUNT)]
  const results = await Promise.allSettled(
    items.map(({ itemId }) => payByUnmatched(decide(itemId), chargeId)),
  )
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test('only entries of its kind settle an item', async () => {
  const { id: chargeId } = await openCharge(merchant, AMOUNT)
  const repeated = await keepOfCharge({ accountId: merchant.id, chargeId }, AMOUNT + 1)
  const expectRefused = (work: Promise<unknown>) =>
    expect(work).rejects.toMatchObject({ fields: { entry: [expect.any(String)] } })
  await expectRefused(acknowledgeItem(decide(repeated.itemId)))
  const noted = await noteOf('removal_unconfirmed')
  await expectRefused(takeUnmatched(decide(noted)))
  await acknowledgeItem(decide(noted))
  expect(await findItem(noted)).toMatchObject({ resolution: 'acknowledge', resolvedBy: ACTOR.id })
  await expect(acknowledgeItem(decide(noted))).rejects.toMatchObject({ code: 'already_final' })
  for (const id of [newId(), 'x'])
    await expect(acknowledgeItem(decide(id))).rejects.toMatchObject({ code: 'item_not_found' })
})
