import { type Cipheriv, createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
import { env } from '#lib/base/env.ts'
import { bareId } from '#lib/base/ids.ts'
import { keyFor } from '#lib/base/keys.ts'

const CIPHER = 'aes-256-ecb'
/** One block; of the last character only two bits count. */
const NAME = /^[\w-]{21}[AQgw]$/

/**
 * The payer's page of a charge. Its name is the charge's id, one AES block long, enciphered under a
 * key of ours: nobody can guess one, and none has to be kept.
 */
export function paymentUrl(chargeId: string): string {
  const block = cipher().update(Buffer.from(bareId(chargeId), 'hex'))
  return `${env().PUBLIC_URL}/pay/${block.toString('base64url')}`
}

/**
 * The txids that a page's name may stand for: one for each server key; none for what can be no name.
 * Any 22 characters stand for some txid: that there is no such charge, only the database tells.
 */
export function txidsOfPage(name: string): string[] {
  if (!NAME.test(name)) return []
  const { TROCO_SECRET, TROCO_SECRET_BEFORE } = env()
  return [TROCO_SECRET, TROCO_SECRET_BEFORE].filter(Boolean).map(secret => {
    const key = keyFor('payment-pages', secret)
    const decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false)
    const id = Buffer.concat([decipher.update(Buffer.from(name, 'base64url')), decipher.final()])
    return id.toString('hex')
  })
}

let made: { cipher: Cipheriv; key: KeyObject } | undefined

/** One for all: each block stands for itself. */
function cipher(): Cipheriv {
  const key = keyFor('payment-pages')
  if (made?.key !== key) {
    made = { key, cipher: createCipheriv(CIPHER, key, null).setAutoPadding(false) }
  }
  return made.cipher
}
