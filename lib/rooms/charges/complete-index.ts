import { type Backfill, runBackfill } from '#lib/base/db/backfill.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { joinCharges, wordsSql } from '#lib/rooms/charges/search.ts'

/** Fewer than are indexed at once, because a changed row costs more than a new one. */
const COMPLETED_MAX = 500

/** Completes a batch of rows of an earlier version, which lack the amount and the reference. */
export function completeIndex(): Promise<number> {
  return runBackfill(BACKFILL)
}

const BACKFILL: Backfill = { name: 'search_index', fillBatch, countLeft }

/** Newest first: by the columns of the index, because PostgreSQL would sort all of them for the id alone. */
function fillBatch(): Promise<number> {
  return db().$executeRaw`
    WITH due AS MATERIALIZED (
      SELECT d.* FROM charge_search_marks m CROSS JOIN LATERAL (
        SELECT s.account_id, s.id FROM charge_searches s
        WHERE s.account_id = m.account_id AND s.mode = m.mode AND s.amount IS NULL
        ORDER BY s.amount DESC, s.id DESC LIMIT ${COMPLETED_MAX} FOR UPDATE SKIP LOCKED) d LIMIT ${COMPLETED_MAX}
    ), made AS MATERIALIZED (
      SELECT c.account_id, c.id, ${wordsSql('c')} AS words, c.amount FROM ${joinCharges('due')}
    )
    UPDATE charge_searches s SET words = made.words, amount = made.amount FROM made
    WHERE s.account_id = made.account_id AND s.id = made.id AND s.amount IS NULL`
}

async function countLeft(): Promise<number> {
  const [left] = await queryRows<number>(Prisma.sql`
    SELECT count(*)::text AS json FROM charge_search_marks m JOIN charge_searches s
      ON s.account_id = m.account_id AND s.mode = m.mode
    WHERE s.amount IS NULL`)
  return left ?? 0
}
