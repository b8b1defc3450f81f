import type { ChargeState, Receipt } from '#lib/services/gateway/gateway.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'

/** A payment that a bank received. */
export function makeReceipt(amount: number, changes: Partial<Receipt> = {}): Receipt {
  return { endToEndId: newEndToEndId(), amount, paidAt: new Date(), txid: null, ...changes }
}

/** State of a charge that was paid once. */
export function paidState(amount: number, changes: Partial<Receipt> = {}) {
  const payment = makeReceipt(amount, changes)
  return { state: 'paid', payments: [payment] } satisfies ChargeState
}
