import { buildDynamicCode, foldText } from '#lib/base/pix/br-code.ts'
import type { ChargeOrder } from '#lib/services/gateway/gateway.ts'

const DEFAULT_MERCHANT_NAME = 'RECEBEDOR'
/** Start of the location in a simulated code; the txid follows. The host does not exist. */
export const SIMULATED_CODE_LOCATION = 'pix.example.test/qr/v2/'

/** Builds a valid dynamic BR Code from the order alone: equal orders get equal codes. */
export function buildSimulatedCode(
  order: Pick<ChargeOrder, 'txid' | 'amount' | 'merchantName' | 'merchantCity'>,
): string {
  return buildDynamicCode({
    location: SIMULATED_CODE_LOCATION + order.txid,
    amount: order.amount,
    merchantName: foldText(order.merchantName, 25) || DEFAULT_MERCHANT_NAME,
    merchantCity: foldText(order.merchantCity, 15) || 'BRASILIA',
  })
}
