import { expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import type { DisputesQuery } from '#lib/charges/disputes/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { listOwnDisputes } from '#lib/dashboard/disputes.ts'
import { db } from '#lib/db/client.ts'
import { makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

const HOUR_MS = 3_600_000

async function dispute(merchant: Account, hoursLeft: number | null = null) {
  const { id: chargeId } = await openCharge(merchant, 2_000)
  const { end_to_end_id: endToEndId } = await simulateCharge(merchant.id, chargeId, 'paid')
  const report = {
    connectionId: SIMULATOR_CONNECTION_ID,
    bankId: newId(),
    amount: 2_000,
    endToEndId: endToEndId ?? '',
    respondBy: hoursLeft === null ? null : new Date(Date.now() + hoursLeft * HOUR_MS),
  }
  const { id } = (await openDispute(report)) ?? expect.unreachable()
  return { id, chargeId, report }
}

const idsOf = async (merchant: Account, query: DisputesQuery = {}) =>
  (await listOwnDisputes(merchant.id, 'test', query)).rows.map(({ id }) => id)

test('an account sees its own disputes of the mode, with the charges that they are about', async () => {
  const [merchant, other] = [await makeMerchant(), await makeMerchant()]
  const { id, chargeId } = await dispute(merchant)
  const foreign = await dispute(other)
  expect(await idsOf(other)).toEqual([foreign.id])
  expect((await listOwnDisputes(merchant.id, 'live', {})).rows).toEqual([])
  const { rows } = await listOwnDisputes(merchant.id, 'test', {})
  expect(rows).toEqual([
    {
      id,
      mode: 'test',
      amount: 2_000,
      status: 'open',
      answer_state: null,
      respond_by: null,
      charge_id: chargeId,
      external_id: expect.any(String),
      client_name: expect.any(String),
      created_at: expect.any(String),
      evidence_count: 0,
    },
  ])
})

test('filters separate what is due soon, can be answered, was answered and has ended', async () => {
  const merchant = await makeMerchant()
  const open = async (hoursLeft: number | null) => (await dispute(merchant, hoursLeft)).id
  const [passed, soon, later, unknown] = [
    await open(-1),
    await open(47),
    await open(49),
    await open(null),
  ]
  const answered = await open(1)
  const refused = await open(1)
  const closed = await dispute(merchant, 1)
  const sent = { answer: 'Delivered', answeredBy: newId(), answeredAt: new Date() }
  const answer = (id: string, answerState: string) =>
    db().dispute.updateMany({ where: { id }, data: { ...sent, answerState } })
  await answer(answered, 'taken')
  await answer(refused, 'refused')
  await winDispute(closed.report)
  expect(await idsOf(merchant, { status: 'due' })).toEqual([passed, soon, refused])
  expect(await idsOf(merchant, { status: 'due', cursor: passed })).toEqual([soon, refused])
  expect(await idsOf(merchant, { status: 'open' })).toEqual([passed, soon, later, unknown, refused])
  expect(await idsOf(merchant, { status: 'answered' })).toEqual([answered])
  expect(await idsOf(merchant, { status: 'closed' })).toEqual([closed.id])
  expect((await idsOf(merchant))[0]).toBe(closed.id)
})
