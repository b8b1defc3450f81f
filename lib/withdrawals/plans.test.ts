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

test('a session whose plans are older reads only rows that its requests depend on', async () => {
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
    const countRead = async () => {
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
    }
    const store = async (count: number) => {
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
    }
    await store(20)
    await runAsOwner('ANALYZE')
    await countRead()
    await store(2_000)
    await runAsOwner(
      `WITH made AS (
         INSERT INTO accounts (id, name) SELECT gen_random_uuid(), 'Padaria' FROM generate_series(1, 500)
         RETURNING id)
       SELECT troco_open_books(id) FROM made`,
    )
    expect(await countRead()).toBeLessThan(20)
    await runAsOwner('ANALYZE')
    expect(await countRead()).toBeLessThan(20)
  })
})
