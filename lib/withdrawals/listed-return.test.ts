import { expect, test } from 'vitest'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { matchPayments } from '#lib/charges/receive.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { endAlone } from '#lib/orders/end.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { readReturns } from '#lib/testing/bank-lists.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

inOwnDatabase()

const AMOUNT = 4_000

/** A return of this age that both lists of a bank contain, of a withdrawal that was sent. */
async function makeReturn(hours: number) {
  const bank = new StubBank()
  const merchant = await makeSilentMerchant(bank)
  const { id: accountId } = merchant
  const { id } = await withdrawInSilence(merchant, AMOUNT)
  const { connectionId } = await db().withdrawal.findFirstOrThrow({ where: { id } })
  await endAlone({ id, outcome: 'sent', reason: 'the bank, by phone' }, ORDER_RULES)
  const returnedAt = new Date(Date.now() - hours * 3_600_000)
  const back = { id: newEndToEndId().replace('E', 'D'), amount: 1_000, returnedAt }
  bank.sentPayouts.push({
    id: removeHyphens(id),
    endToEndId: newEndToEndId(),
    amount: AMOUNT,
    sentAt: new Date(),
    returns: [back],
  })
  const payment = { endToEndId: back.id, amount: 1_000, paidAt: returnedAt, txid: null }
  return {
    /** Reads the received payments. Returns how many of them are unmatched. */
    async listPayments() {
      await matchPayments({ id: connectionId, mode: 'live' }, [payment])
      return db().unmatchedPayment.count({ where: { endToEndId: back.id } })
    },
    async readReturned() {
      await expectBalancedLedger(accountId)
      const { returnedAmount } = await db().withdrawal.findFirstOrThrow({ where: { id } })
      return Number(returnedAmount)
    },
  }
}

test('a return that the list of payments contains first is credited to its withdrawal', async () => {
  const { listPayments, readReturned } = await makeReturn(19)
  expect(await listPayments()).toBe(0)
  await readReturns()
  expect(await readReturned()).toBe(1_000)
  expect(await listPayments()).toBe(0)
})

test('a return that no withdrawal has booked within 20 hours is unmatched, and credited no more', async () => {
  const { listPayments, readReturned } = await makeReturn(21)
  expect(await listPayments()).toBe(1)
  await readReturns()
  expect(await readReturned()).toBe(0)
})
