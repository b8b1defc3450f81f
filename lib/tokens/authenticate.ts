import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { payingConnectionSql, receivingConnectionSql } from '#lib/banks/connections.ts'
import { connectionIn } from '#lib/banks/served.ts'
import { createAddressCheck } from '#lib/core/addresses.ts'
import { parseExactJson } from '#lib/core/exact-json.ts'
import { bucketOf } from '#lib/core/ids.ts'
import { keyedHash } from '#lib/core/keys.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { type AccountRow, asJson, createSharedRead } from '#lib/db/sql.ts'
import { isActiveAccount } from '#lib/people/roles.ts'

/** Columns of a token `t` and its account `a`. */
interface CallerRow {
  tokenId: string
  mode: Mode
  permissions: string[]
  /** Member who answers for the token; null: the operator issued it. */
  issuedBy: string | null
  /** Members who issued it before another one confirmed it, and so may know its value. */
  formerIssuers: string[]
  /** Addresses and ranges from which the token may be used; empty: any. */
  allowedAddresses: string[]
  /** The same of the token that created this one, if any. */
  parentAddresses: string[] | null
  accountId: string
  name: string
  city: string
  expiresIn: number
  status: string
  /** Connections that a live token may use; null in test mode. */
  receivingConnectionId: string | null
  payingConnectionId: string | null
  /** Whether the recorded last use is more than a minute ago. */
  isStale: boolean
}

const CALLER_COLUMNS: Record<keyof CallerRow, string> = {
  tokenId: 't.id',
  mode: 't.mode',
  permissions: 't.permissions',
  issuedBy: 't.issued_by',
  formerIssuers: 't.former_issuers',
  allowedAddresses: 't.allowed_addresses',
  parentAddresses:
    '(SELECT p.allowed_addresses FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id)',
  accountId: 'a.id',
  name: 'a.name',
  city: 'a.city',
  expiresIn: 'a.expires_in',
  status: 'a.status',
  receivingConnectionId: ofLiveToken(receivingConnectionSql),
  payingConnectionId: ofLiveToken(payingConnectionSql),
  isStale: `(t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute')`,
}

function ofLiveToken(sql: string): string {
  return `CASE WHEN t.mode = 'live' THEN ${sql} END`
}

const callerColumns = Prisma.raw(
  Object.entries(CALLER_COLUMNS)
    .map(([field, sql]) => `${sql} AS "${field}"`)
    .join(', '),
)

/** What a caller must still be when money leaves, with types: columns of a request in a statement of several. */
const PROVEN = {
  allowedAddresses: 'text[]',
  parentAddresses: 'text[]',
  payingConnectionId: 'uuid',
} as const
type Proven = keyof typeof PROVEN
const provenFields = Object.keys(PROVEN) as Proven[]
export const provenColumns = Prisma.raw(
  ['"tokenId" uuid', ...provenFields.map(field => `"${field}" ${PROVEN[field]}`)].join(', '),
)

/** What a token that was looked up in the database may do, and for whom. */
export interface TokenCaller
  extends Pick<
    CallerRow,
    'tokenId' | 'mode' | 'permissions' | 'issuedBy' | 'formerIssuers' | 'isStale'
  > {
  /** Hash of the token, for counters per token. */
  key: string
  /** Returns whether the token may be used from this address. */
  isAllowedFrom: (address: string) => boolean
  /** What `tokenProof` compares. */
  proven: Pick<CallerRow, 'tokenId' | Proven>
  found: FoundRow | null
  account: {
    id: string
    name: string
    city: string
    expiresIn: number
    isActive: boolean
    receivingConnectionId: string | null
    payingConnectionId: string | null
  }
}

/**
 * Looks the token up in the database each time: a revocation applies to the next request in every process. A request
 * from an address that the token refuses does not change `last_used_at`.
 */
export async function authenticateToken(
  token: string,
  address?: string,
  along: RowAlong | null = null,
): Promise<TokenCaller | null> {
  if (!isTokenText(token)) return null
  const hash = hashToken(token)
  const find = findCallerWith(along)
  return admit((await find(hash)) ?? (await rehash(token, hash, find)), hash, address)
}

/** Looks up the token with this hash, as `authenticateToken` does, for an access token that names it. */
export async function authenticateHash(hash: string, address: string): Promise<TokenCaller | null> {
  return admit(await findCallerWith(null)(hash), hash, address)
}

function admit(
  caller: TokenCaller | null,
  hash: string,
  address: string | undefined,
): TokenCaller | null | Promise<TokenCaller> {
  if (!caller?.isStale || (address !== undefined && !caller.isAllowedFrom(address))) return caller
  return (
    recordUse(hash)
      // A token is valid even while the database accepts no writes.
      .catch(error => log().warn({ err: error }, 'recording token use failed'))
      .then(() => caller)
  )
}

/** A row of the account that is read in the same statement as the token. */
export interface RowAlong {
  row: AccountRow<unknown>
  id: string | null
}

export interface FoundRow extends RowAlong {
  /** Null if there is no such row. */
  value: unknown
}

type FindCaller = (hash: string) => Promise<TokenCaller | null>
type FindCallerWith = (keys: { hash: string; id: string | null }) => Promise<TokenCaller | null>

const findersByRow = new Map<AccountRow<unknown> | null, FindCallerWith>()

function findCallerWith(along: RowAlong | null): FindCaller {
  const row = along?.row ?? null
  const find = findersByRow.get(row) ?? createFinder(row)
  findersByRow.set(row, find)
  const id = along?.id ?? null
  return hash => find({ hash, id })
}

/** The inner OFFSET 0 keeps the planner from searching the active tokens for the hash while there are few. */
function createFinder(row: AccountRow<unknown> | null): FindCallerWith {
  const [account, mode, id] = [Prisma.raw('t.account_id'), Prisma.raw('t.mode'), Prisma.raw('k.id')]
  const found = row ? Prisma.sql`, (${row.rowSql(account, mode, id)}) AS found` : Prisma.empty
  return createSharedRead<{ hash: string; id: string | null }, TokenCaller>({
    types: { hash: 'text', id: 'uuid' },
    rowSql: Prisma.sql`
    SELECT ${asJson(callerColumns)} AS json${found}
    FROM (SELECT * FROM tokens WHERE hash = decode(k.hash, 'hex') OFFSET 0) t
    JOIN accounts a ON a.id = t.account_id
    WHERE ${activeTokenCondition}`,
    columns: row ? ['json', 'found'] : ['json'],
    readRow: ([json, found], { hash, id }) => {
      const value = typeof found === 'string' ? parseExactJson(found) : null
      return { ...readCaller(json ?? '', hash), found: row && { row, id, value } }
    },
  })
}

type KnownCaller = Omit<TokenCaller, 'found'>

/** Maximum of tokens in `known`; the next one empties it. */
const KNOWN_MAX = 1_000

/** By the hash of a token: the text of its last row, and the caller parsed from it. An equal text is not parsed again. */
const known = processWide(
  'token-callers',
  () => new Map<string, { text: string; caller: KnownCaller }>(),
)

function readCaller(text: string, hash: string): KnownCaller {
  const last = known.get(hash)
  if (last?.text === text) return last.caller
  if (!last && known.size >= KNOWN_MAX) known.clear()
  const caller = toCaller(JSON.parse(text), hash)
  known.set(hash, { text, caller })
  return caller
}

/** Rehashes a token of the previous server key with the current one. Returns its row, if it exists. */
async function rehash(token: string, hash: string, find: FindCaller): Promise<TokenCaller | null> {
  const previousSecret = env().TROCO_SECRET_BEFORE
  if (!previousSecret) return null
  await db().$executeRaw`
    UPDATE tokens SET hash = decode(${hash}, 'hex')
    WHERE hash = decode(${hashToken(token, previousSecret)}, 'hex')`
  // Also if it changed nothing: a concurrent request may have replaced the hash just before.
  return find(hash)
}

/** Records use at most once a minute, so that a busy token does not become a hot row. */
async function recordUse(hash: string): Promise<void> {
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE tokens SET last_used_at = now() WHERE hash = decode(${hash}, 'hex')
        AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
  )
}

function toCaller(row: CallerRow, hash: string): KnownCaller {
  const { mode, permissions, issuedBy, formerIssuers, tokenId, name, city, expiresIn } = row
  const checks = [row.allowedAddresses, row.parentAddresses ?? []].map(createAddressCheck)
  return {
    key: hash,
    tokenId,
    mode,
    permissions,
    issuedBy,
    formerIssuers,
    isAllowedFrom: address => checks.every(isAllowed => isAllowed(address)),
    proven: {
      tokenId,
      allowedAddresses: row.allowedAddresses,
      parentAddresses: row.parentAddresses,
      payingConnectionId: row.payingConnectionId,
    },
    isStale: row.isStale,
    account: {
      id: row.accountId,
      name,
      city,
      expiresIn,
      isActive: isActiveAccount(row.status),
      receivingConnectionId: connectionIn(mode, row.receivingConnectionId),
      payingConnectionId: connectionIn(mode, row.payingConnectionId),
    },
  }
}

/** Selects the account of an active token whose `value` of each field is still the same. */
function provenAccountSql(
  accountId: Prisma.Sql,
  value: (field: 'tokenId' | Proven) => Prisma.Sql,
): Prisma.Sql {
  const isUnchanged = provenFields.map(
    field => Prisma.sql`${Prisma.raw(CALLER_COLUMNS[field])} IS NOT DISTINCT FROM ${value(field)}`,
  )
  return Prisma.sql`
    SELECT t.account_id FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.account_id = ${accountId} AND t.id = ${value('tokenId')}
      AND ${activeTokenCondition} AND a.status = 'active' AND ${Prisma.join(isUnchanged, ' AND ')}`
}

/**
 * SQL that yields the id of the token's account, or fails the statement with TR401 if the token or the account is no longer
 * active, or its addresses or paying connection are others (prisma/functions/troco_refuse_caller.sql). For statements that
 * move money out.
 */
export function tokenProof({ account, proven }: TokenCaller): Prisma.Sql {
  const found = provenAccountSql(Prisma.sql`${account.id}::uuid`, field => {
    const type = field === 'tokenId' ? 'uuid' : PROVEN[field]
    return Prisma.sql`${proven[field]}::${Prisma.raw(type)}`
  })
  return Prisma.sql`(SELECT COALESCE((${found}), troco_refuse_caller()))`
}

/** The same as a condition on a request `s` with `provenColumns`. One without a token is no caller's. */
export function isProvenSql(): Prisma.Sql {
  const account = provenAccountSql(Prisma.raw('s.account_id'), field => Prisma.raw(`s."${field}"`))
  return Prisma.sql`(s."tokenId" IS NULL OR EXISTS (${account}))`
}

/** The error of a request for which `isProvenSql` is false, as `tokenProof` fails its statement. */
export function callerChanged(): Error {
  const error = new Error('the caller has changed since the look-up')
  return Object.assign(error, { code: 'TR401' })
}

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
