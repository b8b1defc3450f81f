import { buildDynamicCode, foldText } from '#lib/base/pix/br-code.ts'
import type { ChargeOrder } from '#lib/services/gateway/gateway.ts'

const NAMELESS = 'RECEBEDOR'
/** Where the simulator's codes lead, before the txid; nobody has this host. */
export const CODE_PLACE = 'pix.example.test/qr/v2/'

/** A valid dynamic code whose address is nobody's, from nothing but these terms. */
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
