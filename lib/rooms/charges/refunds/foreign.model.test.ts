import { expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import { newId, removeHyphens } from '#lib/base/ids.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { noteForeignRefund } from '#lib/rooms/charges/refunds/foreign.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { readBalances } from '#lib/services/ledger/accounts.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { makeReceipt } from '#lib/testing/receipts.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 5)
const PAID = 5_000
const REFUNDED = 700

inOwnDatabase()
const TABLES = ['inbox_items'] as const
const faults = new Faults(TABLES)

/** Refunds 0 and 1 are made by Troco, 2 and 3 at the bank. */
const report = fc.record({ which: fc.nat(3), isCrash: fc.boolean() })

test(
  'each refund made at the bank is in the inbox once, in any order of reports and after any crash',
  async () => {
    let crashes = 0

    async function checkReports(reports: { which: number; isCrash: boolean }[]): Promise<void> {
      const merchant = await makeMerchant()
      const { id: chargeId } = await openCharge(merchant, PAID)
      const payment = makeReceipt(PAID)
      await receivePayments([{ accountId: merchant.id, chargeId, payments: [payment] }])
      const request = () => createRefund(merchant.id, 'test', chargeId, { amount: REFUNDED })
      const own = [(await request()).id, (await request()).id]
      const ids = [...own, newId(), newId()].map(removeHyphens)
      const reportOne = (which: number) =>
        noteForeignRefund({
          ...{ connectionId: SIMULATOR_CONNECTION_ID, endToEndId: payment.endToEndId },
          ...{ id: ids[which] ?? '', cause: 'request', amount: REFUNDED, at: new Date() },
        })
      for (const { which, isCrash } of reports) {
        if (isCrash) crashes += Number(await faults.during('inbox_items', () => reportOne(which)))
        else await Promise.all([reportOne(which), reportOne(which)])
      }
      const isOwn = await Promise.all(ids.map((_, which) => reportOne(which)))
      expect(isOwn).toEqual([true, true, false, false])
      const where = { key: { startsWith: payment.endToEndId } }
      const items = await db().inboxItem.findMany({ where })
      const expected = ids.slice(2).map(id => `${payment.endToEndId} ${id}`)
      expect(items.map(({ key }) => key).toSorted()).toEqual(expected.toSorted())
      const held = 2 * REFUNDED
      expect(await readBalances(merchant.id, 'test')).toEqual({
        ...{ available: PAID - held, outbound: held },
      })
      await expectBalancedLedger(merchant.id)
    }
    const reports = fc.array(report, { minLength: 1, maxLength: 6, size: 'max' })
    await fc.assert(fc.asyncProperty(reports, checkReports), { numRuns: RUN_COUNT })
    if (RUN_COUNT >= 50) expect(crashes).toBeGreaterThan(0)
  },
  RUN_COUNT * 5_000 + 60_000,
)
