import type pg from 'pg'

/** Receivers that accept connections and never answer. */
export const SILENT_RECEIVER_COUNT = 256
const ROWS_PER_STATEMENT = 50_000
const LARGE_CHARGE_COUNT = 100

interface Backlog {
  accountId: string
  /** Port of the receivers that never answer. */
  silentPort: number
  /** Receivers with a due delivery; nothing listens on their addresses. */
  receivers: number
  pending: number
}

/** Inserts due deliveries of many receivers, and further pending ones that are due later. */
export async function insertBacklog(pool: pg.Pool, backlog: Backlog): Promise<void> {
  const { accountId, silentPort, receivers, pending } = backlog
  for (let from = 0; from < pending; from += ROWS_PER_STATEMENT) {
    const to = Math.min(pending, from + ROWS_PER_STATEMENT) - 1
    const values = [accountId, from, to, SILENT_RECEIVER_COUNT, silentPort, receivers]
    await pool.query(INSERT_DELIVERIES, values)
    // Plans of empty tables would take minutes for the next rows.
    if (from === 0) await pool.query('ANALYZE')
  }
  await pool.query(`UPDATE event_sequences SET last = $2 WHERE account_id = $1 AND mode = 'test'`, [
    accountId,
    pending,
  ])
}

const INSERT_DELIVERIES = `
  WITH made AS (
    SELECT n, gen_random_uuid() AS id, CASE
      WHEN n < $4::int THEN '127.201.0.' || n
      ELSE '127.' || 210 + (n % $6::int) / 65536 || '.' || (n % $6::int) / 256 % 256 || '.' || (n % $6::int) % 256
    END AS host
    FROM generate_series($2::int, $3::int) AS n
  ), recorded AS (
    INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource)
    SELECT $1::uuid, id, 'test', n + 1, 'transaction.paid', id, '{}' FROM made
  )
  INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, url, host, status, due_at)
  SELECT $1::uuid, id, 'test', id, id, n + 1,
    CASE WHEN n < $4::int THEN 'http://' || host || ':' || $5::int || '/' ELSE 'http://' || host || ':9/' END,
    host, 'pending', now() + CASE WHEN n < $6::int THEN interval '0' ELSE interval '1 hour' END
  FROM made`

/** Makes a list of 100 charges as large as the API allows: 58 KB each. */
export async function insertLargeCharges(pool: pg.Pool, accountId: string): Promise<void> {
  await pool.query(
    `INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, metadata, utms, items, expires_at)
    SELECT $1::uuid, gen_random_uuid(), 'test', 'pending', 1500, 'large-' || n, md5($1::uuid::text || n), 'x',
      'Ana', 'ana@example.com', '52998224725', json_build_object('note', repeat('é', 8000)),
      json_build_object('utm_campaign', repeat('é', 8000)),
      json_build_array(json_build_object('name', repeat('ç', 13000))), now() + interval '30 days'
    FROM generate_series(1, $2::int) AS n`,
    [accountId, LARGE_CHARGE_COUNT],
  )
}
