import type { RunningBank } from '#e2e/psp/start.ts'
import type { ChargeTerms } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import type { BankWorld } from '#lib/testing/gateway-conformity.ts'

/** Builds the actions of the conformity tests at the test bank: payments, refusals, a hang. */
export function worldOf(bank: RunningBank): BankWorld {
  const receive = async (amount: number, paidAt: Date) => {
    const secondsAgo = (Date.now() - paidAt.getTime()) / 1_000
    const [payment] = await bank.run('pay', { key: bank.keys[0], amount, secondsAgo })
    return payment?.e2eid ?? ''
  }
  return {
    pay: async (txid, amount) => void (await bank.run('pay', { txid, amount, isForced: true })),
    settle: () => bank.run('settle').then(() => {}),
    refusePayout: async () => {},
    hang: () => void bank.run('addFault', { kind: 'hang', times: 100 }),
    receive,
  }
}

export function newOrder(changes: Partial<ChargeTerms> = {}): ChargeTerms {
  return {
    txid: removeHyphens(newId()),
    amount: 1_500,
    expiresInSeconds: 3_600,
    merchantName: 'Padaria',
    merchantCity: 'Recife',
    payerName: 'Ana',
    payerEmail: 'ana@example.com',
    payerDoc: '52998224725',
    ...changes,
  }
}
