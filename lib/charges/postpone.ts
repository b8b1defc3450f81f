import { DAY_MS, nextAskAt, requestedPauseMs } from '#lib/banks/pauses.ts'
import { type Claim, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'

/** Releases claimed charges and sets their next due time. Skips charges whose lease was lost. */
export async function postponeCharges(due: Claim[], dueAt: Prisma.Sql): Promise<void> {
  if (due.length === 0) return
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE charges c SET due_at = ${dueAt}, lease = NULL
      FROM ${claimedSql(due)}
      WHERE c.account_id = h.account_id AND c.id = h.id AND c.lease = h.lease`,
  )
}

export function claimedSql(due: Claim[]): Prisma.Sql {
  return Prisma.sql`
    unnest(${due.map(claim => claim.accountId)}::uuid[], ${due.map(claim => claim.id)}::uuid[],
      ${due.map(claim => claim.lease)}::uuid[]) AS h (account_id, id, lease)`
}

/** Pauses until charges are queried that the last query did not reach. */
const UNREACHED_PAUSE_MS = 1_000
const UNREACHED_PAUSE_MAX_MS = 60_000

/**
 * Releases claimed charges that a query did not reach. It counts as no attempt if it reached others;
 * else the pause doubles with each attempt. Not due before `retryAfterMs`.
 */
export async function postponeUnreached(
  due: Claim[],
  hasReachedSome: boolean,
  retryAfterMs = 0,
): Promise<void> {
  if (due.length === 0) return
  const askedMs = requestedPauseMs({ outcome: 'retryable', reason: '', retryAfterMs })
  const attempts = hasReachedSome ? Prisma.sql`c.attempts - 1` : Prisma.sql`c.attempts`
  const doublings = hasReachedSome ? Prisma.sql`0` : Prisma.sql`LEAST(c.attempts - 1, 16)`
  const pauseMs = Prisma.sql`GREATEST(${askedMs}::float8,
    LEAST(${UNREACHED_PAUSE_MAX_MS}::float8, ${UNREACHED_PAUSE_MS}::float8 * 2 ^ ${doublings}))`
  await retryOnConflict(
    () => db().$executeRaw`
      UPDATE charges c SET due_at = now() + make_interval(secs => ${pauseMs} / 1000), lease = NULL,
        attempts = ${attempts}
      FROM ${claimedSql(due)}
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

/** Pause before calling a bank again that could not report the state of a charge. */
export const RETRY_PAUSE_MS = 15_000

/**
 * Null after the last attempt, unless it did not reach the bank: then a day later. Not before
 * `pauseMs`, which the bank may ask for.
 */
export function nextRemovalAt(attempt: { pauseMs: number; isAsked: boolean }): Prisma.Sql {
  const { pauseMs, isAsked } = attempt
  const afterLast = isAsked ? Prisma.sql`NULL` : nowPlusMs(Math.max(DAY_MS, pauseMs))
  return Prisma.sql`COALESCE(${nextAskAt(Prisma.sql`c.updated_at`, pauseMs)}, ${afterLast})`
}
