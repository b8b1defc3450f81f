import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { retried } from '#lib/base/db/transaction.ts'

/** Gives charges back that have not ended; those whose lease has passed to somebody else stay his. */
export async function postponeCharges(due: Claim[], dueAt: Prisma.Sql): Promise<void> {
  if (due.length === 0) return
  await retried(
    () => db().$executeRaw`
      UPDATE charges c SET due_at = ${dueAt}, lease = NULL
      FROM unnest(${due.map(held => held.accountId)}::uuid[], ${due.map(held => held.id)}::uuid[],
        ${due.map(held => held.lease)}::uuid[]) AS h (account_id, id, lease)
      WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease`,
  )
}

/**
 * When the bank of an open charge named `c` is asked next; null: not before it expires. The times
 * are counted from its creation; after the last one it is asked each time that has passed.
 */
export function nextAsk(asksAfterMs: readonly number[] = []): Prisma.Sql {
  const last = Prisma.sql`${asksAfterMs.at(-1) ?? null}::float8`
  const age = Prisma.sql`extract(epoch FROM now() - c.created_at) * 1000`
  return Prisma.sql`(
    SELECT c.created_at + make_interval(secs => min(after_ms) / 1000)
    FROM unnest(${[...asksAfterMs]}::float8[] || ${last} * (floor(${age} / ${last}) + 1)) after_ms
    WHERE after_ms > ${age})`
}

/** For a bank that could not be asked. */
export function inMs(ms: number): Prisma.Sql {
  return Prisma.sql`now() + make_interval(secs => ${ms}::float8 / 1000)`
}
