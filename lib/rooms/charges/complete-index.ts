import { db } from '#lib/base/db/client.ts'
import { joinCharges, wordsSql } from '#lib/rooms/charges/search.ts'

/** Fewer than are indexed at once, because a changed row costs more than a new one. */
const COMPLETED_MAX = 500

/**
 * Completes rows of an earlier version, which lack the amount and the reference, newest first: by the
 * columns of the index, because PostgreSQL would sort all of them for the id alone.
 */
export function completeIndex(): Promise<number> {
  return db().$executeRaw`
    WITH due AS MATERIALIZED (
      SELECT d.* FROM charge_search_marks m CROSS JOIN LATERAL (
        SELECT s.account_id, s.id FROM charge_searches s
        WHERE s.account_id = m.account_id AND s.mode = m.mode AND s.amount IS NULL
        ORDER BY s.amount DESC, s.id DESC LIMIT ${COMPLETED_MAX}) d LIMIT ${COMPLETED_MAX}
    ), made AS MATERIALIZED (
      SELECT c.account_id, c.id, ${wordsSql('c')} AS words, c.amount FROM ${joinCharges('due')}
    )
    UPDATE charge_searches s SET words = made.words, amount = made.amount FROM made
    WHERE s.account_id = made.account_id AND s.id = made.id AND s.amount IS NULL`
}
