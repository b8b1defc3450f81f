import { parseDatabaseError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { isGoneSql } from '#lib/db/wake.ts'

/** End of the lock on an idempotency key. After this time, a retry resumes the work. */
export const lockedUntilSql = Prisma.sql`now() + interval '60 seconds'`

/** A request with an idempotency key: sent again, it takes effect only once. */
export interface IdempotentRequest {
  accountId: string
  mode: Mode
  path: string
  key: string
  requestHash: Uint8Array<ArrayBuffer>
  retentionS: number
  /** Id of the created resource, the same when the work is resumed. */
  id: string
  /** Whether the key is already stored, by a process that died before it finished the work. */
  isResumed: boolean
  /** Number of this process in the key while it is locked; null if others do not see the process. */
  lockedBy: number | null
  /** End of the lock that this request took, as the database wrote it: another end is another lock. */
  lockedUntil?: string
}

/**
 * Stores the key in the statement that writes the row; a concurrent request with the key waits at
 * the unique index. `hasFollowUp`: work follows the statement, so the key stays locked.
 */
export function storeKeySql(
  once: IdempotentRequest | undefined,
  hasFollowUp = false,
): Prisma.Sql | null {
  if (!once) return null
  if (once.isResumed) return hasFollowUp ? null : unlockKeySql(once)
  const lock = hasFollowUp
    ? Prisma.sql`${lockedUntilSql}, ${once.lockedBy}::integer`
    : Prisma.sql`NULL, NULL`
  return Prisma.sql`
    INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, locked_by, expires_at)
    VALUES (${once.accountId}::uuid, ${once.mode}, ${once.path}, ${once.key}, ${once.requestHash},
      ${once.id}::uuid, ${lock}, now() + make_interval(secs => ${once.retentionS}::float8))`
}

/** The key of a request as columns of its row, for `storeKeysSql`; null: it has none. */
export function keyValues(once: IdempotentRequest | undefined) {
  if (!once) return null
  const { path, key, requestHash, retentionS, isResumed } = once
  return {
    path,
    key,
    request_hash: Buffer.from(requestHash).toString('hex'),
    retention_s: retentionS,
    is_resumed: isResumed,
  }
}
export const keyColumns = Prisma.raw(
  'path text, key text, request_hash text, retention_s float8, is_resumed boolean',
)

/** Unlocks the keys of the rows of a CTE that finish what an earlier process began: `unlockKeySql` of several. */
export function unlockKeysSql(source: string): Prisma.Sql {
  return Prisma.sql`
    UPDATE idempotency_keys k SET locked_until = NULL FROM ${Prisma.raw(source)} s
    WHERE s.is_resumed AND k.account_id = s.account_id AND k.mode = s.mode AND k.path = s.path
      AND k.key = s.key`
}

/** Stores the keys of the rows of a CTE, whose work is done with the statement. */
export function storeKeysSql(source: string): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, expires_at)
    SELECT s.account_id, s.mode, s.path, s.key, decode(s.request_hash, 'hex'), s.id,
      now() + make_interval(secs => s.retention_s)
    FROM ${Prisma.raw(source)} s WHERE s.key IS NOT NULL AND NOT s.is_resumed`
}

const KEY_CONSTRAINT = 'idempotency_keys_pkey'

/** The error of a request whose key is stored already, as the database raises it. */
export function keyIsStored(): Error {
  return Object.assign(new Error('the key is stored already'), { constraint: KEY_CONSTRAINT })
}

export function isKeyStored(error: unknown): boolean {
  return parseDatabaseError(error).constraint === KEY_CONSTRAINT
}

/** Returns SQL that unlocks a key whose work is done, so that a retry gets the same response. */
export function unlockKeySql(once: IdempotentRequest): Prisma.Sql {
  return Prisma.sql`UPDATE idempotency_keys SET locked_until = NULL WHERE ${keyCondition(once)}`
}

export function keyCondition(once: IdempotentRequest): Prisma.Sql {
  return Prisma.sql`account_id = ${once.accountId}::uuid AND mode = ${once.mode}
    AND path = ${once.path} AND key = ${once.key}`
}

/**
 * Locks the key of a request that stores its whole response when its work is done. Returns the request
 * with its lock.
 */
export async function claimKey(once: IdempotentRequest): Promise<IdempotentRequest> {
  const key = storeKeySql(once, true)
  if (!key) return once
  const [lock] = await db().$queryRaw<Lock[]>`${key} RETURNING ${LOCK}`
  return { ...once, ...lock }
}

type Lock = Pick<Required<IdempotentRequest>, 'lockedUntil'>
const LOCK = Prisma.sql`locked_until::text AS "lockedUntil"`

export async function completeKey(once: IdempotentRequest, answer: string): Promise<void> {
  await db().$executeRaw`
    UPDATE idempotency_keys SET status = 200, answer = ${answer}, locked_until = NULL
    WHERE ${ownKeyCondition(once)}`
}

/** Deletes the key of a request that failed. */
export async function releaseKey(once: IdempotentRequest): Promise<void> {
  await db().$executeRaw`
    DELETE FROM idempotency_keys WHERE ${ownKeyCondition(once)} AND answer IS NULL`
}

/** Condition: no other process, nor a later request of this one, has taken the key over. */
export function ownKeyCondition(once: IdempotentRequest): Prisma.Sql {
  const { lockedBy, lockedUntil } = once
  const isOwn = Prisma.sql`${keyCondition(once)} AND locked_by IS NOT DISTINCT FROM ${lockedBy}::integer`
  return lockedUntil === undefined
    ? isOwn
    : Prisma.sql`${isOwn} AND locked_until = ${lockedUntil}::timestamptz`
}

export interface StoredKey {
  id: string
  answer: string | null
  sameRequest: boolean
  /** `orphaned`: the process that works on it is not seen. */
  state: 'done' | 'running' | 'orphaned' | 'abandoned'
}

const IS_ORPHANED = isGoneSql(Prisma.sql`locked_by`)

export async function findStoredKey(once: IdempotentRequest): Promise<StoredKey | null> {
  const [stored] = await db().$queryRaw<(StoredKey & { expired: boolean })[]>`
    SELECT resource_id AS id, answer, request_hash = ${once.requestHash} AS "sameRequest",
      CASE WHEN locked_until IS NULL THEN 'done' WHEN locked_until <= now() THEN 'abandoned'
        WHEN ${IS_ORPHANED} THEN 'orphaned' ELSE 'running' END AS state, expires_at <= now() AS expired
    FROM idempotency_keys WHERE ${keyCondition(once)}`
  if (!stored?.expired) return stored ?? null
  await db().$executeRaw`
    DELETE FROM idempotency_keys WHERE ${keyCondition(once)} AND expires_at <= now()`
  return null
}

/** Claims a key whose process died. Of several concurrent retries, one claims the key, others get null. */
export async function reclaimKey(once: IdempotentRequest): Promise<IdempotentRequest | null> {
  const [lock] = await db().$queryRaw<Lock[]>`
    UPDATE idempotency_keys SET locked_until = ${lockedUntilSql}, locked_by = ${once.lockedBy}::integer
    WHERE ${keyCondition(once)} AND locked_until IS NOT NULL
      AND (locked_until <= now() OR ${IS_ORPHANED})
    RETURNING ${LOCK}`
  return lock ? { ...once, ...lock } : null
}
