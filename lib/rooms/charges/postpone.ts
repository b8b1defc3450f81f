import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { retryOnConflict } from '#lib/base/db/transaction.ts'

/** Releases claimed charges and sets their next due time. Skips charges whose lease was lost. */
export async function postponeCharges(due: Claim[], dueAt: Prisma.Sql): Promise<void> {
  if (due.length === 0) return
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE charges c SET due_at = ${dueAt}, lease = NULL
      FROM unnest(${due.map(claim => claim.accountId)}::uuid[], ${due.map(claim => claim.id)}::uuid[],
        ${due.map(claim => claim.lease)}::uuid[]) AS h (account_id, id, lease)
      WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease`,
  )
}

/** Null without ages. Ages count from the creation; queries repeat at multiples of the last. */
export function nextQueryAt(queryAgesMs: readonly number[] = []): Prisma.Sql {
  const last = Prisma.sql`${queryAgesMs.at(-1) ?? null}::float8`
  const age = Prisma.sql`extract(epoch FROM now() - c.created_at) * 1000`
  return Prisma.sql`(
    SELECT c.created_at + make_interval(secs => min(after_ms) / 1000)
    FROM unnest(${[...queryAgesMs]}::float8[] || ${last} * (floor(${age} / ${last}) + 1)) after_ms
    WHERE after_ms > ${age})`
}

export function nowPlusMs(ms: number): Prisma.Sql {
  return Prisma.sql`now() + make_interval(secs => ${ms}::float8 / 1000)`
}
