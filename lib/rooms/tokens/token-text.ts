import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Mode } from '#lib/base/mode.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Random part: 32 base-62 characters are 190 bits. */
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const TOKEN_FORMAT = /^troco_(test|live)_[0-9A-Za-z]{38}$/

/** Makes a token with a checksum, by which secret scanners recognize a leaked token offline. */
export function makeToken(mode: Mode): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(BASE62.length)])
  const body = `troco_${mode}_${random.join('')}`
  return body + checksum(body)
}

/** Returns whether a text has the form and checksum of a token, without a database query. */
export function isTokenText(text: string): boolean {
  if (!TOKEN_FORMAT.test(text)) return false
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

function checksum(body: string): string {
  let remainder = crc32(body)
  let digits = ''
  for (let position = 0; position < CHECKSUM_LENGTH; position++) {
    digits = BASE62[remainder % 62] + digits
    remainder = Math.floor(remainder / 62)
  }
  return digits
}
