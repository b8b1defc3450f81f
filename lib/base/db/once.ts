import { Prisma } from '#lib/base/db/client.ts'
import type { Mode } from '#lib/base/mode.ts'

/** How long work under a key may take before somebody else may take it up. */
export const heldUntil = Prisma.sql`now() + interval '60 seconds'`

/** A request that its caller may send again, and that must act only once. */
export interface Once {
  accountId: string
  mode: Mode
  path: string
  key: string
  requestHash: Uint8Array<ArrayBuffer>
  keptS: number
  /** The id of what is made, the same whenever the work is taken up again. */
  id: string
  /** Its key stands already: the process that began this is gone. */
  resumed: boolean
}

/**
 * Returns what stores the key, as a part of the statement that writes the row: both or neither. A
 * second request with the key waits at the unique index until the first ends. `held`: the work
 * goes on afterwards. Null: there is no key to store.
 */
export function storeKey(once: Once | undefined, held = false): Prisma.Sql | null {
  if (!once) return null
  if (once.resumed) return held ? null : finishKey(once)
  const lockedUntil = held ? heldUntil : Prisma.sql`NULL`
  return Prisma.sql`
    INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, expires_at)
    VALUES (${once.accountId}::uuid, ${once.mode}, ${once.path}, ${once.key}, ${once.requestHash},
      ${once.id}::uuid, ${lockedUntil}, now() + make_interval(secs => ${once.keptS}::float8))`
}

/** The work under a key is done, and its answer may be told again. */
export function finishKey(once: Once): Prisma.Sql {
  return Prisma.sql`UPDATE idempotency_keys SET locked_until = NULL WHERE ${isKey(once)}`
}

/** The row of a key, for a WHERE. */
export function isKey(once: Once): Prisma.Sql {
  return Prisma.sql`account_id = ${once.accountId}::uuid AND mode = ${once.mode}
    AND path = ${once.path} AND key = ${once.key}`
}
