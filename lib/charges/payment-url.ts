import { type Cipheriv, createCipheriv, type KeyObject } from 'node:crypto'
import { env } from '#lib/env.ts'
import { bareId } from '#lib/ids.ts'
import { keyFor } from '#lib/keys.ts'

/**
 * The payer's page of a charge. Its name is the charge's id, one AES block long, enciphered under a
 * key of ours: nobody can guess one, and none has to be kept.
 */
export function paymentUrl(chargeId: string): string {
  const block = cipher().update(Buffer.from(bareId(chargeId), 'hex'))
  return `${env().PUBLIC_URL}/pay/${block.toString('base64url')}`
}

let made: { cipher: Cipheriv; key: KeyObject } | undefined

/** One for all: each block stands for itself. */
function cipher(): Cipheriv {
  const key = keyFor('payment-pages')
  if (made?.key !== key) {
    made = { key, cipher: createCipheriv('aes-256-ecb', key, null).setAutoPadding(false) }
  }
  return made.cipher
}
