import { type Cipheriv, createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { deriveKey } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { createReceiptUrl, isEndToEndId } from '#lib/receipts/sign.ts'

const CIPHER = 'aes-256-ecb'
/** One AES block in base64url: the last character carries only two bits. */
const PAGE_NAME = /^[\w-]{21}[AQgw]$/

const BLOCK_BYTES = 16

/** The last segment of each URL, the encrypted charge id, is unguessable and not stored. */
export function paymentUrls(chargeIds: string[]): string[] {
  // One call for all: a call costs more than what it encrypts.
  const blocks = pageCipher().update(Buffer.from(removeHyphens(chargeIds.join('')), 'hex'))
  const { PUBLIC_URL } = env()
  return chargeIds.map((_, nth) => {
    const name = blocks.toString('base64url', nth * BLOCK_BYTES, (nth + 1) * BLOCK_BYTES)
    return `${PUBLIC_URL}/pay/${name}`
  })
}

export function paymentUrl(chargeId: string): string {
  return paymentUrls([chargeId])[0] as string
}

/** Image of the QR code for programs: unlike the page, it requires a token. */
export function qrCodeUrl(chargeId: string): string {
  return `${env().PUBLIC_URL}/api/transactions/${chargeId}/qr.svg`
}

/** Returns one txid per server key. Any 22 valid characters decrypt: the charge may not exist. */
export function txidsOfPage(name: string): string[] {
  if (!PAGE_NAME.test(name)) return []
  const { TROCO_SECRET, TROCO_SECRET_BEFORE } = env()
  return [TROCO_SECRET, TROCO_SECRET_BEFORE].filter(Boolean).map(secret => {
    const key = deriveKey('payment-pages', secret)
    const decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false)
    const id = Buffer.concat([decipher.update(Buffer.from(name, 'base64url')), decipher.final()])
    return id.toString('hex')
  })
}

let cached: { cipher: Cipheriv; key: KeyObject } | undefined

/** Returns one cipher for all calls, because ECB blocks are independent. */
function pageCipher(): Cipheriv {
  const key = deriveKey('payment-pages')
  if (cached?.key !== key) {
    cached = { key, cipher: createCipheriv(CIPHER, key, null).setAutoPadding(false) }
  }
  return cached.cipher
}

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
