import type { ChargeRow } from '#lib/charges/schema.ts'
import { isEndToEndId } from '#lib/receipts/format.ts'
import { createReceiptUrl } from '#lib/receipts/sign.ts'

type Payment = Pick<ChargeRow, 'id' | 'mode' | 'status' | 'amount' | 'paid_at' | 'end_to_end_id'>
type PaidCharge = Payment & { paid_at: string; end_to_end_id: string }

function hasReceipt(charge: Payment): charge is PaidCharge {
  return charge.status === 'paid' && charge.paid_at !== null && isEndToEndId(charge.end_to_end_id)
}

/** Returns the URL on which the receipt of a payment proves itself; null before the payment. */
export async function createChargeReceiptUrl(charge: Payment): Promise<string | null> {
  if (!hasReceipt(charge)) return null
  const { id, mode, amount, paid_at: at, end_to_end_id: endToEndId } = charge
  return createReceiptUrl({ kind: 'transaction', id, mode, amount, at, endToEndId })
}
