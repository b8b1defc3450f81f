import { buildChargeCode } from '#lib/banks/charge-code.ts'
import type { ChargeOrder } from '#lib/banks/gateway.ts'

/** Start of the location in a simulated code; the txid follows. The host does not exist. */
export const SIMULATED_CODE_LOCATION = 'pix.example.test/qr/v2/'

/** Builds a valid dynamic BR Code from the order alone: equal orders get equal codes. */
export function buildSimulatedCode(
  order: Pick<ChargeOrder, 'txid' | 'amount' | 'merchantName' | 'merchantCity'>,
): string {
  return buildChargeCode(SIMULATED_CODE_LOCATION + order.txid, order)
}
