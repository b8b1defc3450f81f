import { setTimeout as sleep } from 'node:timers/promises'
import { type DatabaseError, Pool } from 'pg'
import { afterAll, beforeAll, expect } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { connect, Prisma } from '#lib/db/client.ts'
import { bookSql } from '#lib/ledger/book.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const CONNECTION_COUNT = 64
/** Number of withdrawals; `npm run torture` runs 10,000. */
const WITHDRAWAL_COUNT = Number(process.env.PARALLEL_WITHDRAWALS ?? 1_000)
const AMOUNT_MIN = 1_000
const AMOUNT_MAX = 10_000
/**
 * So that eight connections compete for each balance; 64 would mostly measure PostgreSQL's lock
 * queue.
 */
const ACCOUNT_COUNT = 8
/** Opening balance of each account: enough for about seven in ten withdrawals. */
const OPENING_BALANCE = 500 * WITHDRAWAL_COUNT
const POLL_EVERY_MS = 5

let url: string
let pool: Pool
beforeAll(async () => {
  url = await makeDatabase()
  // Without Prisma, whose CPU time would exceed the time spent on locks.
  pool = new Pool({ connectionString: url, max: CONNECTION_COUNT })
})
afterAll(() => pool.end())

function run(name: string, { text, values }: Prisma.Sql) {
  return pool.query({ name, text, values })
}

async function createLedger(): Promise<string> {
  const accountId = newId()
  const id = Prisma.sql`${accountId}::uuid`
  await run('account', Prisma.sql`INSERT INTO accounts (id, name) VALUES (${id}, 'Padaria')`)
  await run('books', Prisma.sql`SELECT troco_open_books(${id})`)
  await run(
    'charge',
    Prisma.sql`WITH source AS (
        INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
          client_name, client_email, client_doc, expires_at, paid_at)
        VALUES (${id}, ${id}, 'test', 'paid', ${OPENING_BALANCE}, '-', ${accountId}, '-', '-', '-', '-',
          now(), now())
        RETURNING account_id, mode, id, amount, NULL::timestamptz AS booked_at,
      '00000000-0000-7000-8000-000000000001'::uuid AS connection_id
      ), booked AS (${bookSql('charge_paid')}) SELECT FROM booked`,
  )
  return accountId
}

/**
 * Creates a withdrawal and holds its amount in one statement, as the operation does. Returns false if
 * the balance is too small.
 */
async function tryHold(accountId: string, amount: number): Promise<boolean> {
  const statement = Prisma.sql`
    WITH source AS (
      INSERT INTO withdrawals
        (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key)
      VALUES (${accountId}::uuid, ${newId()}::uuid, 'test', 'pending', ${amount}, 'email', '-', '-')
      RETURNING account_id, mode, id, amount, NULL::timestamptz AS booked_at,
      '00000000-0000-7000-8000-000000000001'::uuid AS connection_id
    ), booked AS (${bookSql('withdrawal_held')}) SELECT FROM booked`
  try {
    await run('hold', statement)
    return true
  } catch (error) {
    const { constraint } = error as DatabaseError
    if (constraint === 'ledger_accounts_available_not_negative') return false
    throw error
  }
}

function watchBalances(accountIds: string[]) {
  const observed = { readCount: 0, lowest: Number.POSITIVE_INFINITY, sums: new Set<number>() }
  const database = connect({ url, poolMax: 1 })
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      const rows = await database.$queryRaw<{ lowest: bigint; sum: bigint }[]>`
        SELECT min(balance) FILTER (WHERE ledger <> 'external') AS lowest,
          sum(balance)::bigint AS sum
        FROM ledger_accounts WHERE account_id = ANY (${accountIds}::uuid[]) GROUP BY account_id`
      for (const { lowest, sum } of rows) {
        observed.lowest = Math.min(observed.lowest, Number(lowest))
        observed.sums.add(Number(sum))
      }
      observed.readCount += 1
      await sleep(POLL_EVERY_MS)
    }
    await database.$disconnect()
  })()
  return {
    async stop() {
      stopped = true
      await watching
      return observed
    },
  }
}

/** Returns a mulberry32 random generator: equal seeds give equal amounts. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** `npm run torture` repeats it with the others. */
const SEEDS = [20_261_121, 1, 4_294_967_295].slice(0, pickSize(1, 3))

testInTorture.each(SEEDS)(
  `${WITHDRAWAL_COUNT} withdrawals on 64 connections never overdraw or lose a cent (seed %i)`,
  async seed => {
    const accountIds = await Promise.all(Array.from({ length: ACCOUNT_COUNT }, createLedger))
    const random = randomFrom(seed)
    const withdrawals = Array.from({ length: WITHDRAWAL_COUNT }, () => ({
      accountId: accountIds[Math.floor(random() * ACCOUNT_COUNT)] ?? '',
      amount: AMOUNT_MIN + Math.floor(random() * (AMOUNT_MAX - AMOUNT_MIN)),
    }))
    const accepted: typeof withdrawals = []
    const rejected: typeof withdrawals = []
    const remaining = [...withdrawals]
    async function withdrawOneByOne() {
      for (let next = remaining.pop(); next; next = remaining.pop()) {
        const outcome = (await tryHold(next.accountId, next.amount)) ? accepted : rejected
        outcome.push(next)
      }
    }
    const watcher = watchBalances(accountIds)
    await Promise.all(Array.from({ length: CONNECTION_COUNT }, withdrawOneByOne))
    const observed = await watcher.stop()

    expect(accepted.length + rejected.length).toBe(WITHDRAWAL_COUNT)
    expect(observed.readCount).toBeGreaterThan(10)
    expect(observed.lowest).toBeGreaterThanOrEqual(0)
    expect(observed.sums).toEqual(new Set([0]))
    for (const accountId of accountIds) {
      const amountsOf = (outcome: typeof withdrawals) =>
        outcome.filter(withdrawal => withdrawal.accountId === accountId).map(one => one.amount)
      const held = amountsOf(accepted).reduce((sum, amount) => sum + amount, 0)
      const { rows } = await pool.query(
        `SELECT ledger, balance::int FROM ledger_accounts
         WHERE account_id = $1 AND mode = 'test' ORDER BY ledger`,
        [accountId],
      )
      expect(rows).toEqual([
        { ledger: 'available', balance: OPENING_BALANCE - held },
        { ledger: 'external', balance: -OPENING_BALANCE },
        { ledger: 'outbound', balance: held },
      ])
      // A refused amount exceeded the balance at that time, and the balance has only decreased
      // since.
      expect(amountsOf(rejected).length).toBeGreaterThan(0)
      expect(Math.min(...amountsOf(rejected))).toBeGreaterThan(OPENING_BALANCE - held)
    }

    const database = connect({ url, poolMax: 1 })
    const { findings } = await verifyLedger(database)
    await database.$disconnect()
    expect(findings.filter(finding => finding.violation)).toEqual([])
  },
)
