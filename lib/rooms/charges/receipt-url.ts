import type { ChargeRow } from '#lib/rooms/charges/schema.ts'
import { isEndToEndId } from '#lib/services/payment-receipts/format.ts'
import { createReceiptUrl } from '#lib/services/payment-receipts/sign.ts'

type Payment = Pick<ChargeRow, 'id' | 'mode' | 'status' | 'amount' | 'paid_at' | 'end_to_end_id'>

/** Returns the URL on which the receipt of a payment proves itself; null before the payment. */
export async function createChargeReceiptUrl(charge: Payment): Promise<string | null> {
  const { id, mode, status, amount, paid_at: at, end_to_end_id: endToEndId } = charge
  if (status !== 'paid' || at === null || !isEndToEndId(endToEndId)) return null
  return createReceiptUrl({ kind: 'transaction', id, mode, amount, at, endToEndId })
}
