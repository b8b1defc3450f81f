import { createCipheriv } from 'node:crypto'
import { env } from '#lib/env.ts'
import { bareId } from '#lib/ids.ts'
import { keyFor } from '#lib/keys.ts'

/**
 * The payer's page of a charge. Its name is the charge's id, one AES block long, enciphered under a
 * key of ours: nobody can guess one, and none has to be kept.
 */
export function paymentUrl(chargeId: string): string {
  const cipher = createCipheriv('aes-256-ecb', keyFor('payment-pages'), null).setAutoPadding(false)
  const block = cipher.update(Buffer.from(bareId(chargeId), 'hex'))
  return `${env().PUBLIC_URL}/pay/${block.toString('base64url')}`
}
