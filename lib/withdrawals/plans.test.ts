import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  fundMerchant,
  inOwnDatabase,
  makeIdempotentRequest,
  makeMerchant,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'

// Plans depend on statistics, and these on what else is in the database.
inOwnDatabase()

const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

interface Session {
  /** Returns how many rows the decision about two requests reads. */
  countRead: () => Promise<number>
  /** Stores withdrawals and idempotency keys of the merchant. */
  store: (count: number) => Promise<void>
  /** Makes accounts that each have one withdrawal, as many in test as in live mode. */
  makeOthers: (count: number) => Promise<void>
}

/** Runs the work in a session of its own, whose plans are those that it makes first. */
async function inSession(work: (session: Session) => Promise<void>): Promise<void> {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 100_000)
  const { id } = await insertWithdrawal(merchant.id, 'test', { ...KEY, amount: 1_000 })
  await withClient(async client => {
    const sumRead = async () => {
      const { rows } = await client.query(
        `SELECT sum(idx_tup_fetch + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables
         WHERE relname IN ('accounts', 'ledger_accounts', 'idempotency_keys', 'withdrawals')`,
      )
      return rows[0].read as number
    }
    await work({
      async countRead() {
        const asked = [newId(), newId()].map(id => {
          const { path, key } = makeIdempotentRequest(merchant.id)
          return { id, amount: 1_000, external_id: id, path, key }
        })
        const values = [merchant.id, id, JSON.stringify(asked)]
        const judge = `SELECT * FROM troco_judge_withdrawals($1, 'test', NULL, now(), 'UTC', $2, $3, '{}')`
        await client.query('BEGIN')
        const before = await sumRead()
        expect((await client.query(judge, values)).rows).toMatchObject([
          { refusal: null },
          { refusal: null },
        ])
        const read = (await sumRead()) - before
        await client.query('ROLLBACK')
        return read
      },
      async store(count) {
        const { path } = makeIdempotentRequest(merchant.id)
        await client.query(
          `INSERT INTO idempotency_keys (account_id, mode, path, key, request_hash, resource_id, expires_at)
           SELECT $1, 'test', $2, gen_random_uuid(), '', gen_random_uuid(), now() + interval '1 day'
           FROM generate_series(1, $3::int)`,
          [merchant.id, path, count],
        )
        await client.query(
          `INSERT INTO withdrawals SELECT r.* FROM withdrawals w, generate_series(1, $3::int) n,
             jsonb_populate_record(w, jsonb_build_object('id', gen_random_uuid(), 'external_id', gen_random_uuid(), 'memo', n)) r
           WHERE w.account_id = $1 AND w.id = $2`,
          [merchant.id, id, count],
        )
      },
      async makeOthers(count) {
        await runAsOwner(
          `WITH made AS (
             INSERT INTO accounts (id, name) SELECT gen_random_uuid(), 'Padaria' FROM generate_series(1, ${count})
             RETURNING id
           ), books AS (
             SELECT troco_open_books(id) FROM made
           ), bank AS (
             INSERT INTO connections (id, name, kind, environment, settings, is_assignable)
             SELECT w.connection_id, w.connection_id, 'efi', 'production', '{}', true
             FROM (SELECT gen_random_uuid() AS connection_id) w
             RETURNING id
           ), half AS (
             SELECT 'test' AS mode, NULL::uuid AS connection_id UNION ALL SELECT 'live', id FROM bank)
           INSERT INTO withdrawals
           SELECT r.* FROM (SELECT id, (row_number() OVER ())::int % 2 AS n FROM made) m
           JOIN (SELECT *, (row_number() OVER ())::int % 2 AS n FROM half) h USING (n)
           JOIN withdrawals w ON w.account_id = '${merchant.id}' AND w.id = '${id}'
           CROSS JOIN LATERAL jsonb_populate_record(w, jsonb_build_object('account_id', m.id, 'mode', h.mode,
             'external_id', gen_random_uuid(), 'connection_id', COALESCE(h.connection_id, w.connection_id))) r
           WHERE (SELECT count(*) FROM books) > 0`,
        )
      },
    })
  })
}

test('a session whose plans are older reads only rows that its requests depend on', () =>
  inSession(async ({ countRead, store, makeOthers }) => {
    await store(20)
    await runAsOwner('ANALYZE')
    await countRead()
    await store(2_000)
    await makeOthers(500)
    expect(await countRead()).toBeLessThan(20)
    await runAsOwner('ANALYZE')
    expect(await countRead()).toBeLessThan(20)
  }))

test('so does one whose statistics know less than one withdrawal of an account and mode', () =>
  inSession(async ({ countRead, store, makeOthers }) => {
    await makeOthers(2_000)
    await runAsOwner('ANALYZE')
    await store(2_000)
    expect(await countRead()).toBeLessThan(20)
  }))
