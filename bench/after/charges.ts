import type pg from 'pg'
import { buildSimulatedCode } from '#lib/banks/simulator.ts'
import { CHARGE } from '../world.ts'

interface ChargePlan {
  accountIds: string[]
  total: number
  /** Webhook URLs, used in turn; none by default. */
  urls?: string[]
  /** Whether the charges have expired, so that a worker claims them at once. */
  isDue?: boolean
}

export interface WrittenCharge {
  accountId: string
  id: string
}

const ROWS_PER_STATEMENT = 50_000

/** Inserts charges directly into the table, with creation times one day in the past. */
export async function writeCharges(pool: pg.Pool, plan: ChargePlan): Promise<WrittenCharge[]> {
  const { accountIds, total, urls = [null], isDue = false } = plan
  const placeholderTxid = 'f'.repeat(32)
  const terms = { amount: CHARGE.amount, merchantName: 'Loja', merchantCity: 'BRASILIA' }
  const [before = '', after = ''] = buildSimulatedCode({ ...terms, txid: placeholderTxid }).split(
    placeholderTxid,
  )
  const written: WrittenCharge[] = []
  for (let from = 0; from < total; from += ROWS_PER_STATEMENT) {
    const to = Math.min(total, from + ROWS_PER_STATEMENT) - 1
    const values = [accountIds, from, to, urls, isDue, before, after, CHARGE.amount]
    written.push(...(await pool.query<WrittenCharge>(INSERT_CHARGES, values)).rows)
  }
  return written
}

/** The BR codes have the right length and a wrong checksum: nothing parses them here. */
const INSERT_CHARGES = `
  INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
    client_name, client_email, client_doc, webhook_url, webhook_host, ip, metadata,
    expires_at, due_at, created_at, updated_at)
  SELECT account_id, hex::uuid, 'test', 'pending', $8::bigint, hex, hex, $6 || hex || $7,
    'Ana Beatriz Rocha', 'ana' || n % 5000 || '@example.com', '52998224725', url,
    substring(url FROM '//([^:/]+)'), '203.0.113.7',
    json_build_object('order', n::text, 'channel', 'shop'),
    now() + CASE WHEN $5 THEN interval '-1 minute' ELSE interval '1 day' END,
    now() + CASE WHEN $5 THEN interval '0' ELSE interval '1 day' END, at, at
  FROM (
    SELECT n, at, ($1::uuid[])[1 + n % cardinality($1::uuid[])] AS account_id,
      ($4::text[])[1 + n % cardinality($4::text[])] AS url,
      lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' ||
        lpad(to_hex(n % 4096), 3, '0') || '8' || substr(md5(random()::text || n), 1, 15) AS hex
    FROM (
      SELECT n, now() - interval '1 day' + n * interval '1 millisecond' AS at
      FROM generate_series($2::int, $3::int) AS n) numbered) made
  RETURNING account_id AS "accountId", id`
