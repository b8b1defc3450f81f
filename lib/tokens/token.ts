import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { bucketOf } from '#lib/core/ids.ts'
import { keyedHash } from '#lib/core/keys.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'

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

/** In hexadecimal digits. */
export function hashToken(token: string, secret?: string): string {
  return keyedHash('api-tokens', token, secret)
}

/** As the column of a token has it. */
export function tokenHashBytes(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(hashToken(token), 'hex'))
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

/**
 * Condition that a token is not revoked, and not expired by the database's clock. Written as the index
 * `tokens_working_idx`, by which statements about many tokens find those that work.
 */
const livingCondition = (row: 't' | 'p') =>
  Prisma.raw(`(${row}.revoked_at IS NULL AND COALESCE(${row}.expires_at, 'infinity') > now())`)

/**
 * Condition that the parent of a token `t` is active. The role of its issuer is not read here: a
 * change of the role decides about the parent, and so about its children.
 */
const parentCondition = Prisma.sql`EXISTS (
  SELECT 1 FROM tokens p
  WHERE p.account_id = t.account_id AND p.id = t.parent_id AND ${livingCondition('p')})`

/** Condition that a token `t` is active if its parent is, or if it has none. */
export const rootCondition = livingCondition('t')

/** Condition that a token `t` is active. */
export const activeTokenCondition = Prisma.sql`
  (${rootCondition} AND (t.parent_id IS NULL OR ${parentCondition}))`

/** Condition that a row is a token, expired or not, or an active one that it created. */
export function withChildren(id: string): Prisma.Sql {
  return Prisma.sql`(t.id = ${id}::uuid OR t.parent_id = ${id}::uuid AND ${rootCondition})`
}

/** TokenStatus of a row `t`. `isActiveToken` must agree with `activeTokenCondition`. */
export const tokenStatusSql = Prisma.sql`
  (CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN NOT ${activeTokenCondition} THEN 'expired'
    WHEN t.replaced_by IS NOT NULL THEN 'replaced'
    WHEN t.expires_at < now() + interval '7 days' THEN 'expiring' ELSE 'active' END)`
