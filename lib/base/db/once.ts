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
 * CTEs for the statement that writes the row: the key is kept with it or not at all, and a twin
 * waits at the unique index until this one is over. `held`: the work goes on afterwards.
 */
export function onceCtes(once: Once | undefined, held = false): Prisma.Sql {
  if (!once) return Prisma.empty
  if (once.resumed) return held ? Prisma.empty : Prisma.sql`kept AS (${finishKey(once)}),`
  const lockedUntil = held ? heldUntil : Prisma.sql`NULL`
  return Prisma.sql`kept AS (
    INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id,
      locked_until, expires_at)
    VALUES (${once.accountId}::uuid, ${once.mode}, ${once.path}, ${once.key}, ${once.requestHash},
      ${once.id}::uuid, ${lockedUntil}, now() + make_interval(secs => ${once.keptS}::float8))
  ),`
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
