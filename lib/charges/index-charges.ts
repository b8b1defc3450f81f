import { docSql, wordsSql } from '#lib/charges/search.ts'
import { idLowerBoundAt, smallestIdAt } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'

/** Minimum age of a charge to index: by then its INSERT has committed or was abandoned. */
const COMMITTED_AFTER_MS = 10_000
/** Backlog above which the worker does not rest: searches scan charges not indexed yet. */
const BACKLOG_MAX_MS = 60_000
const ACCOUNTS_MAX = 20
const ROWS_MAX = 2_000

const indexColumns = Prisma.sql`c.account_id, c.id, c.mode, ${wordsSql('c')} AS words, ${docSql('c')} AS doc, c.amount`

/**
 * Indexes new charges and advances the account's mark in one statement. Safe to run concurrently.
 * Returns 0 unless the backlog needs another run at once.
 */
export async function indexCharges(now = Date.now() - COMMITTED_AFTER_MS): Promise<number> {
  const [written] = await db().$queryRaw<{ count: number; reached: string | null }[]>`
    WITH behind AS (
      SELECT a.id AS account_id, w.mode, m.id AS mark
      FROM accounts a CROSS JOIN (VALUES ('test'), ('live')) AS w (mode)
      LEFT JOIN charge_search_marks m ON m.account_id = a.id AND m.mode = w.mode
      WHERE EXISTS (SELECT ${unindexedSql(Prisma.sql`a.id`, Prisma.sql`w.mode`, Prisma.sql`m.id`, now)})
      ORDER BY m.id NULLS FIRST LIMIT ${ACCOUNTS_MAX}
    ), share AS (
      SELECT greatest(1, ${ROWS_MAX}::int / greatest(1, count(*)::int)) AS most FROM behind
    ), due AS (
      SELECT n.* FROM behind b CROSS JOIN share CROSS JOIN LATERAL (
        SELECT ${indexColumns} ${unindexedSql(Prisma.sql`b.account_id`, Prisma.sql`b.mode`, Prisma.sql`b.mark`, now)}
        ORDER BY c.id LIMIT share.most) n
    ), written AS (
      INSERT INTO charge_searches (account_id, id, mode, words, doc, amount) SELECT * FROM due
      ON CONFLICT DO NOTHING
    ), marked AS (
      INSERT INTO charge_search_marks AS m (account_id, mode, id)
      SELECT account_id, mode, max(id::text)::uuid FROM due GROUP BY account_id, mode
      ON CONFLICT (account_id, mode) DO UPDATE SET id = GREATEST(m.id, EXCLUDED.id)
    )
    SELECT count(*)::int AS count, min(id::text) AS reached FROM due`
  const { count = 0, reached } = written ?? {}
  return reached && reached < smallestIdAt(Date.now() - BACKLOG_MAX_MS) ? count : 0
}

function unindexedSql(
  account: Prisma.Sql,
  mode: Prisma.Sql,
  mark: Prisma.Sql,
  now: number,
): Prisma.Sql {
  return Prisma.sql`FROM charges c
    WHERE c.account_id = ${account} AND c.mode = ${mode} AND c.status <> 'opening'
      AND c.id > COALESCE(${mark}, ${smallestIdAt(0)}::uuid) AND c.id < ${smallestIdAt(now)}::uuid`
}

/** Indexes charges with an id behind the mark, because of a slow clock or a slow bank. */
export function indexLateCharges(): Promise<number> {
  return db().$executeRaw`
    INSERT INTO charge_searches (account_id, id, mode, words, doc, amount)
    SELECT ${indexColumns} FROM charge_search_marks m JOIN charges c
      ON c.account_id = m.account_id AND c.mode = m.mode AND c.id <= m.id
    WHERE c.status <> 'opening' AND c.id >= ${idLowerBoundAt(Date.now())}::uuid
      AND NOT EXISTS (SELECT FROM charge_searches s WHERE s.account_id = c.account_id AND s.id = c.id)
    LIMIT ${ROWS_MAX}
    ON CONFLICT DO NOTHING`
}
