import { decideCharge, newEndToEndId, simulator } from '#lib/banks/simulator.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { testConformity } from '#lib/testing/gateway-conformity.ts'
import { paidState } from '#lib/testing/payments.ts'

inOwnDatabase()

/** Also a key, which belongs to itself. */
const OWNER = '52998224725'

const settleSimulated = async () => {
  await db().$executeRaw`UPDATE simulator_orders SET settles_at = now()`
}

testConformity('the simulator', async () => ({
  gateway: simulator,
  payee: { dictKey: OWNER, ownerDoc: OWNER },
  world: {
    pay: async (txid, amount) => void (await decideCharge(txid, amount, 'paid')),
    settle: settleSimulated,
    async refusePayout(id) {
      await db().$executeRaw`
        INSERT INTO simulator_orders (id, kind, amount, state, reason, reason_code, settles_at)
        VALUES (${id}, 'payout', 1000, 'refused', 'Refused', 'unspecified', now())`
    },
  },
}))

testConformity('the stub bank', async () => {
  const bank = Object.assign(new StubBank(), { isIdKnownEarly: true, ownerDoc: OWNER })
  return {
    gateway: bank,
    payee: { dictKey: 'ana@example.com', ownerDoc: OWNER },
    world: {
      async pay(txid, amount) {
        bank.charges.set(txid, paidState(amount, { txid }))
      },
      settle: async () => bank.settle(),
      refusePayout: async id => bank.setScript(id, { end: 'refused' }),
      hang: () => bank.hang(),
      async receive(amount, paidAt) {
        const endToEndId = newEndToEndId(paidAt)
        bank.payments.push({ endToEndId, amount, paidAt, txid: null })
        return endToEndId
      },
      async payOut(amount, sentAt) {
        const endToEndId = newEndToEndId(sentAt)
        bank.sentPayouts.push({ id: null, endToEndId, amount, sentAt, returns: [] })
        return endToEndId
      },
    },
  }
})
