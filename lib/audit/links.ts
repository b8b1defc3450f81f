import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { AuditFlaw } from '#lib/audit/flaws.ts'
import { hmac, isEqual } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { Prisma } from '#lib/db/client.ts'

/** Chain of the records that belong to no account. */
export const OPERATOR_CHAIN = '00000000-0000-0000-0000-000000000000'
/** Not a chain: its length is the sum of all others, so that no chain can be removed or cut. */
export const TOTAL_CHAIN = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const SALT_BYTES = 16
const DIGEST_BYTES = 32

/** A record as it is linked; all values as the database prints them. */
export interface LinkedRecord {
  id: string
  chain: string
  actor_type: string
  actor_id: string | null
  action: string
  request_id: string | null
  created_at: string
  target: string | null
  before: string | null
  after: string | null
  reason: string | null
  ip: string | null
}

/** May hold personal data. A link has only salted digests of them, so that it outlasts erasure. */
const PERSONAL_FIELDS = ['target', 'before', 'after', 'reason', 'ip'] as const

/** Bytes are in hexadecimal. */
export interface Link {
  position: number
  salt: string | null
  digests: string
  hash: string
  mac: string
}

/** Columns of `r`, a row of audit_log, for a LinkedRecord. */
export const linkedColumns = Prisma.sql`r.id, COALESCE(r.account_id, ${OPERATOR_CHAIN}::uuid) AS chain,
  r.actor_type, r.actor_id, r.action, r.request_id, r.target, r.reason, r.ip,
  r.before::text AS before, r.after::text AS after,
  to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at`

export function makeLink(record: LinkedRecord, position: number, previousHash: string): Link {
  const salt = randomBytes(SALT_BYTES).toString('hex')
  const digests = PERSONAL_FIELDS.map(field => digestOf(salt, field, record[field])).join('')
  const hash = hashOf(record, position, previousHash, digests)
  return { position, salt, digests, hash, mac: sign(hash) }
}

/** Returns the flaw of the record of a link, or null. */
export function findChange(
  record: LinkedRecord,
  link: Link,
  previousHash: string,
): AuditFlaw | null {
  const { id } = record
  if (!isEqual(hashOf(record, link.position, previousHash, link.digests), link.hash))
    return { code: 'record_changed', params: { record: id } }
  const { salt, digests } = link
  const field = PERSONAL_FIELDS.find((name, index) =>
    salt === null
      ? record[name] !== null
      : !isEqual(digestOf(salt, name, record[name]), digests.slice(...digestRange(index))),
  )
  return field ? { code: 'field_changed', params: { record: id, field } } : null
}

/** Text to sign for the end of a chain, so that removing its last records is noticed. */
export function headText(chain: string, length: number, hash: string): string {
  return `head ${chain} ${length} ${hash}`
}

/** Text to sign for the stored result of a check. */
export function resultText(chain: string, checkedAtMs: number, wrong: string | null): string {
  return `result ${chain} ${checkedAtMs} ${wrong ?? ''}`
}

export function sign(text: string): string {
  return hmac('audit-links', text).toString('hex')
}

/** Returns whether TROCO_SECRET or TROCO_SECRET_BEFORE signed the text; null if neither did. */
export function signatureAge(text: string, mac: string): 'current' | 'former' | null {
  const { TROCO_SECRET_BEFORE } = env()
  if (isEqual(sign(text), mac)) return 'current'
  const former = TROCO_SECRET_BEFORE && hmac('audit-links', text, TROCO_SECRET_BEFORE)
  return former && isEqual(former.toString('hex'), mac) ? 'former' : null
}

function hashOf(
  record: LinkedRecord,
  position: number,
  previousHash: string,
  digests: string,
): string {
  const { id, chain, actor_type, actor_id, action, request_id, created_at } = record
  const place = [chain, position, previousHash]
  const facts = [id, actor_type, actor_id, action, request_id, created_at, digests]
  return createHash('sha256')
    .update(JSON.stringify([...place, ...facts]))
    .digest('hex')
}

function digestOf(salt: string, field: string, value: string | null): string {
  return createHmac('sha256', Buffer.from(salt, 'hex'))
    .update(JSON.stringify([field, value]))
    .digest('hex')
}

function digestRange(index: number): [number, number] {
  const characters = DIGEST_BYTES * 2
  return [index * characters, (index + 1) * characters]
}
