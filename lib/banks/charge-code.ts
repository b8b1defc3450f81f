import type { ChargeTerms } from '#lib/banks/gateway.ts'
import { buildDynamicCode, foldText, parseBrCode } from '#lib/core/pix/br-code.ts'

const DEFAULT_MERCHANT_NAME = 'RECEBEDOR'
const DEFAULT_MERCHANT_CITY = 'BRASILIA'

type CodeOrder = Pick<ChargeTerms, 'amount' | 'merchantName' | 'merchantCity'>

/** Builds the BR Code of a charge that is served at the location: equal orders get equal codes. */
export function buildChargeCode(location: string, order: CodeOrder): string {
  return buildDynamicCode({
    location,
    amount: order.amount,
    merchantName: foldText(order.merchantName, 25) || DEFAULT_MERCHANT_NAME,
    merchantCity: foldText(order.merchantCity, 15) || DEFAULT_MERCHANT_CITY,
  })
}

/**
 * Returns why a bank's code is not that of the charge, or null. `location`: where the bank says that it
 * serves the charge. Field 62-05 is not compared: 25 characters cannot hold a txid of 26 or more.
 */
export function findCodeContradiction(
  brCode: string,
  amount: number,
  location: string | null,
): string | null {
  const reading = parseBrCode(brCode)
  if (!reading.ok) return `unreadable code: ${reading.error}`
  const { code } = reading
  if (code.kind === 'static') return 'a static code, which any amount can be paid to'
  if (code.amount !== null && code.amount !== amount) return 'a code of another amount'
  const isElsewhere = location !== null && code.location.toLowerCase() !== location.toLowerCase()
  return isElsewhere ? 'a code of another location' : null
}
