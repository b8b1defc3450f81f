import { sign, verify } from 'node:crypto'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { formatFacts, parseReceipt, type ReceiptFacts, signedBytes } from '#lib/receipts/format.ts'
import { findLostKey, importPublicKey, publishKey, readCurrentKey } from '#lib/receipts/keys.ts'

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
 * withdrawn proves nothing: others may have the key. A key whose row a restore lost is published again.
 */
export async function verifyReceipt(text: string): Promise<ReceiptVerdict> {
  const receipt = parseReceipt(text)
  if (!receipt) return { state: 'forged' }
  const { signed, signature, facts, keyId } = receipt
  const row = await db().receiptKey.findUnique({ where: { id: keyId } })
  const lost = row ? null : await findLostKey(keyId)
  const publicKey = (row ?? lost)?.publicKey
  const isValid =
    publicKey !== undefined &&
    verify(null, signedBytes(signed), importPublicKey(publicKey), signature)
  if (!isValid) return { state: 'forged' }
  if (lost) await publishKey(db(), lost)
  return row?.withdrawnAt ? { state: 'withdrawn' } : { state: 'signed', facts, keyId }
}
