import { beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createRefund, findRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { giveBack } from '#lib/operator/differences/differences.ts'
import { examineEnded } from '#lib/operator/health.ts'
import { listStuckJobsOfKind, readEnding } from '#lib/operator/stuck.ts'
import { confirmEnd, endAlone, proposeEnd } from '#lib/orders/end.ts'
import { askAboutEnded } from '#lib/orders/send.ts'
import type { EndOutcome } from '#lib/orders/states.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { keepStray, operatorBalances } from '#lib/testing/differences.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { readMails } from '#lib/testing/mailbox.ts'
import { changeOrder, orderOf, sendDueRefunds } from '#lib/testing/orders.ts'
import { letBeSilent } from '#lib/testing/silent-bank.ts'
import { SINCE_LONG, VERIFIED } from '#lib/testing/verified.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

// A database of its own: who else is an admin decides what the command line may do.
inOwnDatabase()

const AMOUNT = 4_000
const REASON = 'Ana of the bank, by phone at 10:00'
const UNKNOWN_NAME = 'valor_devolucao_invalido; O valor da devolução é inválido'

let merchant: Account
let bank: StubBank
let connectionId: string
let first: string
let second: string
beforeAll(async () => {
  bank = new StubBank()
  merchant = await makeMerchant()
  connectionId = await connectBank(bank, merchant)
  first = await makeAdmin()
  second = await makeAdmin()
})

async function makeAdmin(): Promise<string> {
  const email = `admin-${newId()}@troco.example`
  const data = { id: newId(), email, name: email, isAdmin: true, ...SINCE_LONG, ...VERIFIED }
  return (await db().user.create({ data })).id
}

async function openRefund() {
  const chargeId = await fundLive(merchant, 10_000)
  const { id } = await createRefund(merchant.id, 'live', chargeId, { amount: AMOUNT })
  return { id, chargeId }
}

async function openReturn() {
  const { itemId, payment } = await keepStray(AMOUNT, { connectionId, mode: 'live' })
  const actor = { type: 'user', id: first } as const
  const { id } = await giveBack({ itemId, reason: 'Paid by mistake', actor })
  return { id, itemId, payment }
}

async function endAs(id: string, outcome: EndOutcome): Promise<void> {
  await letBeSilent(id)
  await proposeEnd({ id, outcome, reason: REASON }, first)
  const proposalId = (await orderOf(id)).endId ?? ''
  await confirmEnd({ id, proposalId, by: second }, ORDER_RULES)
}

async function askAgain(id: string): Promise<void> {
  await db().bankOrder.updateMany({ where: { id: { not: id } }, data: { endAskAt: null } })
  await changeOrder(id, { endAskAt: new Date(0) })
  await askAboutEnded(ORDER_RULES)
}

describe('two admins end a refund', () => {
  test('as sent: the amount leaves and counts as refunded, with an event like that of the bank', async () => {
    const { id, chargeId } = await openRefund()
    const { available, outbound } = await readBalances(merchant.id, 'live')
    await endAs(id, 'sent')
    expect(await findRefund(merchant.id, 'live', chargeId, id)).toMatchObject({
      status: 'completed',
      return_id: null,
    })
    const balances = { available, outbound: outbound - AMOUNT }
    expect(await readBalances(merchant.id, 'live')).toEqual(balances)
    const where = { subjectId: chargeId, type: 'transaction.refunded' }
    expect(await db().event.count({ where })).toBe(1)
    const charge = await db().charge.findFirstOrThrow({ where: { id: chargeId } })
    expect(Number(charge.refundedAmount)).toBe(AMOUNT)
    await expectBalancedLedger(merchant.id)
  })

  test('as not sent: the amount is available and can be refunded again, with a reason of its own', async () => {
    const { id, chargeId } = await openRefund()
    const { available, outbound } = await readBalances(merchant.id, 'live')
    await db().mail.deleteMany()
    await endAs(id, 'not_sent')
    expect(await findRefund(merchant.id, 'live', chargeId, id)).toMatchObject({
      status: 'rejected',
      rejection_code: 'ended_unsent',
    })
    const balances = { available: available + AMOUNT, outbound: outbound - AMOUNT }
    expect(await readBalances(merchant.id, 'live')).toEqual(balances)
    expect(await createRefund(merchant.id, 'live', chargeId, {})).toMatchObject({ amount: 10_000 })
    expect((await readMails()).map(({ text }) => text).join()).toContain('uma devolução de “')
    await expectBalancedLedger(merchant.id)
  })

  test('which the bank contradicts later: nothing moves, and people are told once', async () => {
    const { id, chargeId } = await openRefund()
    const { target } = await orderOf(id)
    await bank.refundCharge({ id: removeHyphens(id), amount: AMOUNT, endToEndId: target })
    bank.settle()
    await endAs(id, 'not_sent')
    const before = await readBalances(merchant.id, 'live')
    await askAgain(id)
    await askAgain(id)
    expect(await orderOf(id)).toMatchObject({ contradiction: 'done', endAskAt: null })
    expect(await readBalances(merchant.id, 'live')).toEqual(before)
    const items = await db().difference.findMany({ where: { key: removeHyphens(id) } })
    const facts = { refund_id: id, transaction_id: chargeId, ended_as: 'not_sent', amount: AMOUNT }
    expect(items).toMatchObject([{ kind: 'order_contradicted', resolvedAt: null, facts }])
    expect(await examineEnded()).toMatchObject({
      subjects: expect.arrayContaining([{ kind: 'refund', id, name: id }]),
    })
    await expectBalancedLedger(merchant.id)
  })
})

describe('two admins end the return of an unmatched payment', () => {
  test('as sent: the money leaves, and its item is resolved in the name of who ordered it', async () => {
    const before = await operatorBalances('live')
    const { id, itemId } = await openReturn()
    await endAs(id, 'sent')
    const item = await db().difference.findUniqueOrThrow({ where: { id: itemId } })
    expect(item).toMatchObject({ resolution: 'give_back', resolvedBy: first })
    const row = await db().unmatchedReturn.findFirstOrThrow({ where: { id } })
    expect(row).toMatchObject({ status: 'completed', returnId: null })
    expect(await operatorBalances('live')).toEqual(before)
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  })

  test('as not sent: the money stays unmatched, and the item is open for another decision', async () => {
    const { id, itemId } = await openReturn()
    await endAs(id, 'not_sent')
    const item = await db().difference.findUniqueOrThrow({ where: { id: itemId } })
    expect(item.resolvedAt).toBeNull()
    const again = { itemId, reason: 'Once more', actor: { type: 'command_line' } } as const
    expect(await giveBack(again)).toMatchObject({ id: expect.any(String) })
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  })

  test('of 12 confirmations at once, one has an effect', async () => {
    const { id } = await openReturn()
    await letBeSilent(id)
    await proposeEnd({ id, outcome: 'sent', reason: REASON }, first)
    const proposalId = (await orderOf(id)).endId ?? ''
    const confirmed = await Promise.allSettled(
      Array.from({ length: 12 }, () => confirmEnd({ id, proposalId, by: second }, ORDER_RULES)),
    )
    expect(confirmed.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  })
})

test('no order is ended before an hour, by one person, or at the command line while two admins could', async () => {
  const { id } = await openRefund()
  await expect(proposeEnd({ id, outcome: 'sent', reason: REASON }, first)).rejects.toMatchObject({
    code: 'end_refused',
  })
  await letBeSilent(id)
  await proposeEnd({ id, outcome: 'sent', reason: REASON }, first)
  const proposalId = (await orderOf(id)).endId ?? ''
  const own = confirmEnd({ id, proposalId, by: first }, ORDER_RULES)
  await expect(own).rejects.toMatchObject({ code: 'end_by_other' })
  const alone = endAlone({ id, outcome: 'sent', reason: REASON }, ORDER_RULES)
  await expect(alone).rejects.toMatchObject({ code: 'end_refused' })
})

test('a refund refused under an unknown name stays pending, is asked about less and less, and shows the words of the bank', async () => {
  const { id } = await openRefund()
  const { refundCharge } = bank
  bank.refundCharge = async () => ({ outcome: 'unknown', reason: UNKNOWN_NAME })
  const pauses: number[] = []
  for (const hours of [1, 3, 6, 48]) {
    const createdAt = new Date(Date.now() - hours * 3_600_000)
    for (let step = 0; step < 3; step++) {
      const slotUntil = (await orderOf(id)).slotUntil && new Date(Date.now() - 1_000)
      await changeOrder(id, {
        createdAt,
        sentAt: createdAt,
        dueAt: new Date(0),
        slotUntil,
        lease: null,
      })
      await sendDueRefunds()
      const { state, dueAt } = await orderOf(id)
      if (state === 'waiting' && dueAt && step > 0)
        pauses.push(Math.round((dueAt.getTime() - Date.now()) / 60_000))
    }
  }
  bank.refundCharge = refundCharge
  expect(await orderOf(id)).toMatchObject({ state: expect.stringMatching(/waiting|placed/) })
  expect(pauses).toEqual(pauses.toSorted((one, other) => one - other))
  expect(pauses.at(-1)).toBe(60)
  expect(pauses[0]).toBeLessThan(pauses.at(-1) ?? 0)
  expect((await readEnding(id, first))?.bank_text).toBe(UNKNOWN_NAME)
  const stuck = await listStuckJobsOfKind('refund', 10)
  expect(stuck.find(job => job.id === id)).toMatchObject({ problem: UNKNOWN_NAME })
})
