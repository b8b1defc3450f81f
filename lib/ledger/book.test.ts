import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { columnsOf, queryRows } from '#lib/db/sql.ts'
import { bookMovement, recordEvent } from '#lib/ledger/book.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { withOwner } from '#lib/testing/database.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'

// Its movements have no charges, which a check of all books would report.
inOwnDatabase()

const made = Prisma.sql`SELECT NULL::uuid AS account_id, 'test' AS mode, NULL::uuid AS id,
  100::bigint AS amount, NULL::timestamptz AS booked_at, NULL::uuid AS connection_id WHERE false`
const from = Prisma.sql`made m`
const returning = Prisma.sql`json_build_object('id', m.id)`
const movedColumns = columnsOf('m', ['account_id', 'mode', 'id', 'amount', 'booked_at'])
const externalColumns = { ...movedColumns, ...columnsOf('m', ['connection_id']) }

test('a source without a column that its movement or event reads does not compile', async () => {
  const { amount: _, ...columns } = externalColumns
  const withoutAmount = bookMovement({
    ctes: { made },
    // @ts-expect-error A movement reads the amount.
    source: { from, columns },
    movement: 'charge_paid',
    returning,
  })
  const withoutConnection = bookMovement({
    ctes: { made },
    // @ts-expect-error A movement on `external` names its connection.
    source: { from, columns: movedColumns },
    movement: 'charge_paid',
    returning,
  })
  // @ts-expect-error An event reads its id, subject, URL and resource.
  const withoutEvent = bookMovement({
    ctes: { made },
    source: { from, columns: externalColumns },
    movement: 'charge_paid',
    event: 'transaction.paid',
    returning,
  })
  const eventAlone = recordEvent({
    ctes: { made },
    // @ts-expect-error Without a movement, an event reads the same columns.
    source: { from, columns: movedColumns },
    event: 'transaction.paid',
    returning,
  })
  for (const statement of [withoutAmount, withoutConnection, withoutEvent, eventAlone]) {
    await expect(db().$queryRaw(statement)).rejects.toThrow(/column .* does not exist/)
  }
})

test.each([
  ['only the movement', {}],
  ['an action of a member', { audit: { action: 'withdrawal.requested', by: newId() } as const }],
  ['an action of a token', { audit: { action: 'withdrawal.requested', by: null } as const }],
  ['an omitted part', { ctes: { made, unused: null } }],
])('a statement is valid SQL with %s', async (_what, parts) => {
  const movement = 'withdrawal_held'
  const source = { from, columns: movedColumns }
  const statement = bookMovement({ ctes: { made }, source, movement, returning, ...parts })
  expect(await db().$queryRaw(statement)).toEqual([])
})

/** Pays `count` charges of an account that do not exist. */
const pay = (accountId: string, count: number) => queryRows(paySql(accountId, count))

function paySql(accountId: string, count: number): Prisma.Sql {
  const ids = Array.from({ length: count }, () => newId())
  const paid = Prisma.sql`
    SELECT ${accountId}::uuid AS account_id, 'test' AS mode, id, 700::bigint AS amount,
      ${SIMULATOR_CONNECTION_ID}::uuid AS connection_id, id AS event_id, id AS subject_id,
      '{}'::json AS resource, NULL AS trace, 'https://receiver.test/' AS webhook_url,
      'receiver.test' AS webhook_host
    FROM unnest(${ids}::uuid[]) AS id`
  const names = ['account_id', 'mode', 'id', 'amount', 'connection_id', 'event_id'] as const
  const others = ['subject_id', 'resource', 'trace', 'webhook_url', 'webhook_host'] as const
  return bookMovement({
    ctes: { paid },
    source: { from: Prisma.sql`paid p`, columns: columnsOf('p', [...names, ...others]) },
    movement: 'charge_paid',
    event: 'transaction.paid',
    returning: Prisma.sql`json_build_object('id', p.id)`,
  })
}

async function countWrites(accountId: string) {
  const where = { accountId }
  const [transfers, entries, events, deliveries] = await Promise.all([
    db().ledgerTransfer.count({ where }),
    db().ledgerEntry.count({ where }),
    db().event.count({ where }),
    db().delivery.count({ where }),
  ])
  return { transfers, entries, events, deliveries }
}

const constraintOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    error => parseDatabaseError(error).constraint,
  )

describe('a movement', () => {
  test('books each row of its source: a transfer, two entries, an event and its delivery', async () => {
    const { id } = await makeMerchant()
    expect(await pay(id, 3)).toHaveLength(3)
    expect(await countWrites(id)).toEqual({ transfers: 3, entries: 6, events: 3, deliveries: 3 })
    expect(await pay(id, 0)).toEqual([])
    expect(await countWrites(id)).toMatchObject({ transfers: 3 })
  })

  test('without one of its ledgers, or of its sequence, is refused as a whole', async () => {
    const id = newId()
    await db().account.create({ data: { id, name: 'Padaria' } })
    await withOwner(owner =>
      owner.ledgerAccount.create({ data: { accountId: id, mode: 'test', ledger: 'available' } }),
    )
    expect(await constraintOf(pay(id, 2))).toBe('ledger_entries_complete')
    await withOwner(owner =>
      owner.ledgerAccount.create({ data: { accountId: id, mode: 'test', ledger: 'external' } }),
    )
    expect(await constraintOf(pay(id, 2))).toBe('events_complete')
    expect(await countWrites(id)).toEqual({ transfers: 0, entries: 0, events: 0, deliveries: 0 })
  })

  test('cannot be made of the parts of the function, which have no rights of their own', async () => {
    const booking = Prisma.sql`ARRAY[ROW(${newId()}::uuid, 'test', ${newId()}::uuid, 1, NULL, NULL,
      ${newId()}::uuid, ${newId()}::uuid, '{}', NULL, NULL, NULL)::troco_booking]`
    for (const part of [
      Prisma.sql`troco_book_owed('charge_paid', 'external', 'available', ${booking})`,
      Prisma.sql`troco_record_events('transaction.paid', ${booking})::text`,
    ])
      await expect(db().$queryRaw`SELECT ${part}`).rejects.toThrow('42501')
  })
})

test('a session whose plans are older than most accounts reads no row of another account', async () => {
  const { id } = await makeMerchant()
  const client = new Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  const { text, values } = paySql(id, 2)
  const sumRead = async () => {
    const { rows } = await client.query(
      `SELECT sum(idx_tup_fetch + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables
       WHERE relname IN ('ledger_accounts', 'event_sequences', 'webhook_endpoints')`,
    )
    return rows[0].read as number
  }
  const countRead = async () => {
    await client.query('BEGIN')
    const first = await sumRead()
    await client.query({ name: 'pay', text, values: [...values] })
    const last = await sumRead()
    await client.query('ROLLBACK')
    return last - first
  }
  const before = await countRead()
  await withOwner(
    owner => owner.$executeRaw`
      WITH made AS (
        INSERT INTO accounts (id, name) SELECT gen_random_uuid(), 'Padaria' FROM generate_series(1, 500)
        RETURNING id)
      SELECT troco_open_books(id) FROM made`,
  )
  expect(await countRead()).toBeLessThanOrEqual(before)
  expect(before).toBeLessThan(40)
  await client.end()
})

test('a new merchant has three empty ledgers in each mode', async () => {
  const merchant = await makeMerchant()
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: merchant.id },
    orderBy: [{ mode: 'asc' }, { ledger: 'asc' }],
  })
  expect(rows.map(row => `${row.mode} ${row.ledger} ${row.balance} ${row.version}`)).toEqual([
    'live available 0 0',
    'live external 0 0',
    'live outbound 0 0',
    'test available 0 0',
    'test external 0 0',
    'test outbound 0 0',
  ])
  await expectBalancedLedger(merchant.id)
})

test("money received in test mode changes no live balance and no other merchant's", async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  await fundMerchant(merchant, 5_000)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 5_000, outbound: 0 })
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: 0, outbound: 0 })
  expect(await readBalances(other.id, 'test')).toEqual({ available: 0, outbound: 0 })
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(other.id)
})
