import { buildDynamicCode, foldText } from '#lib/base/pix/br-code.ts'
import type { ChargeOrder } from '#lib/services/gateway/gateway.ts'

const NAMELESS = 'RECEBEDOR'
/** Location in a simulated code, before the txid. The host does not exist. */
export const CODE_PLACE = 'pix.example.test/qr/v2/'

/** Builds a valid dynamic BR Code from the terms alone. Its location does not exist. */
export function simulatedCode(
  order: Pick<ChargeOrder, 'txid' | 'amount' | 'merchantName' | 'merchantCity'>,
): string {
  return buildDynamicCode({
    location: CODE_PLACE + order.txid,
    amount: order.amount,
    merchantName: foldText(order.merchantName, 25) || NAMELESS,
    merchantCity: foldText(order.merchantCity, 15) || 'BRASILIA',
  })
}
