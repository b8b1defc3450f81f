import { Client } from 'pg'
import { expect } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'

interface Seed {
  accountId: string
  count: number
  /** SQL of the URL and host of delivery `n`. */
  url?: string
  host?: string
  /** SQL of the subject's number: deliveries of one subject and receiver are sent in order. */
  subject?: string
}

/** Inserts due deliveries to a `webhook_url` by SQL, in far less time than by paying charges. */
export async function seedDueDeliveries({
  accountId,
  count,
  host = `'h' || n || '.test'`,
  url = `'https://' || ${host} || '/'`,
  subject = 'n',
}: Seed): Promise<void> {
  const salt = newId()
  await withClient(async client => {
    await client.query(
      `WITH recorded AS (
         INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, created_at)
         SELECT $1, md5('${salt}' || n)::uuid, 'test',
           n + (SELECT COALESCE(max(sequence), 0) FROM events WHERE account_id = $1 AND mode = 'test'),
           'transaction.paid', md5('${salt} subject' || ${subject})::uuid, '{}', now()
         FROM generate_series(1, $2::integer) n
         RETURNING *)
       INSERT INTO deliveries (account_id, id, mode, event_id, subject_id, sequence, url, host, status, due_at)
       SELECT r.account_id, r.id, r.mode, r.id, r.subject_id, r.sequence, ${url}, ${host}, 'pending', now()
       FROM generate_series(1, $2::integer) n JOIN recorded r ON r.id = md5('${salt}' || n)::uuid`,
      [accountId, count],
    )
  }, ownerUrlOf())
}

/** Without the statement limit of requests, which a busy machine exceeds. */
export async function withClient<T>(
  work: (client: Client) => Promise<T>,
  url = env().DATABASE_URL,
): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET statement_timeout = 0')
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Disconnects and returns the deadlocks of the database, which PostgreSQL counts when sessions end. Retries hide them. */
export async function countDeadlocks(): Promise<number> {
  await disconnect()
  return withClient(async client => {
    await expect
      .poll(async () => {
        const { rows } = await client.query(
          `SELECT count(*)::int AS others FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
        )
        return rows[0].others
      })
      .toBe(0)
    const { rows } = await client.query(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    )
    return rows[0].deadlocks
  })
}
