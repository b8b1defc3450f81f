import type { ChargeState, ReceivedPayment } from '#lib/banks/gateway.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'

/** A payment that a bank received. */
export function makePayment(
  amount: number,
  changes: Partial<ReceivedPayment> = {},
): ReceivedPayment {
  return { endToEndId: newEndToEndId(), amount, paidAt: new Date(), txid: null, ...changes }
}

/** State of a charge that was paid once. */
export function paidState(amount: number, changes: Partial<ReceivedPayment> = {}) {
  const payment = makePayment(amount, changes)
  return { state: 'paid', payments: [payment] } satisfies ChargeState
}
