import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { bucketOf } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Characters in which a random number below 58 is added to 58 times the bucket: 4,096 × 58 ≤ 62³. */
const BUCKET_LENGTH = 3
const BUCKET_SPREAD = 58
/** With the random number before them, 29 base-62 characters are 178 bits. */
const RANDOM_LENGTH = 29
const CHECKSUM_LENGTH = 6
const TOKEN_FORMAT = /^troco_(test|live)_[0-9A-Za-z]{38}$/

/**
 * Makes a token that leads to the database of its account (docs/decisions/029), with a checksum, by
 * which secret scanners recognize a leaked token offline.
 */
export function makeToken(accountId: string, mode: Mode): string {
  const start = bucketOf(accountId) * BUCKET_SPREAD + randomInt(BUCKET_SPREAD)
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(BASE62.length)])
  const body = `troco_${mode}_${toBase62(start, BUCKET_LENGTH)}${random.join('')}`
  return body + checksum(body)
}

/** Returns whether a text has the form and checksum of a token, without a database query. */
export function isTokenText(text: string): boolean {
  if (!TOKEN_FORMAT.test(text)) return false
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

function checksum(body: string): string {
  return toBase62(crc32(body), CHECKSUM_LENGTH)
}

function toBase62(number: number, length: number): string {
  let remainder = number
  let digits = ''
  for (let position = 0; position < length; position++) {
    digits = BASE62[remainder % 62] + digits
    remainder = Math.floor(remainder / 62)
  }
  return digits
}
