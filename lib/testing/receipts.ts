import { sign } from 'node:crypto'
import {
  createReceiptUrl,
  formatFacts,
  RECEIPT_PATH,
  type ReceiptFacts,
  type SigningKey,
  signedBytes,
} from '#lib/receipts/sign.ts'

export const RECEIPT_FACTS: ReceiptFacts = {
  mode: 'live',
  kind: 'transaction',
  id: '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
  amount: 123_456,
  at: '2026-11-21T01:28:12.004211Z',
  endToEndId: 'E00000000202611210128a1b2c3d4e5f',
}

/** Returns the text of a receipt: the last part of its URL. */
export async function issueReceipt(facts = RECEIPT_FACTS): Promise<string> {
  return new URL(await createReceiptUrl(facts)).pathname.slice(RECEIPT_PATH.length)
}

/** Signs what the product itself would not: the facts for any key, or any text. */
export function signWith(key: SigningKey, text = formatFacts(key.id, RECEIPT_FACTS)): string {
  return `${text}.${sign(null, signedBytes(text), key.privateKey).toString('base64url')}`
}
