import { sign, verify } from 'node:crypto'
import { env } from '#lib/base/env.ts'
import {
  formatFacts,
  parseReceipt,
  type ReceiptFacts,
  signedBytes,
} from '#lib/services/payment-receipts/format.ts'
import {
  findReceiptKey,
  importPublicKey,
  readCurrentKey,
} from '#lib/services/payment-receipts/keys.ts'

export type ReceiptVerdict =
  | { state: 'forged' | 'withdrawn' }
  | { state: 'signed'; facts: ReceiptFacts; keyId: string }

/** Path of the public pages, before the text of the receipt. */
export const RECEIPT_PATH = '/receipt/'

/** Returns the URL of the public page on which a receipt proves itself, the content of its QR code. */
export async function createReceiptUrl(facts: ReceiptFacts): Promise<string> {
  const key = await readCurrentKey()
  const text = formatFacts(key.id, facts)
  const signature = sign(null, signedBytes(text), key.privateKey).toString('base64url')
  return `${env().PUBLIC_URL}${RECEIPT_PATH}${text}.${signature}`
}

/**
 * Verifies the last part of such a URL, without the record of the payment. A receipt whose key was
 * withdrawn proves nothing: others may have the key.
 */
export async function verifyReceipt(text: string): Promise<ReceiptVerdict> {
  const receipt = parseReceipt(text)
  const key = receipt && (await findReceiptKey(receipt.keyId))
  if (!receipt || !key) return { state: 'forged' }
  const { signed, signature, facts, keyId } = receipt
  const isValid = verify(null, signedBytes(signed), importPublicKey(key.publicKey), signature)
  if (!isValid) return { state: 'forged' }
  return key.isWithdrawn ? { state: 'withdrawn' } : { state: 'signed', facts, keyId }
}
