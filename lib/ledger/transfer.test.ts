import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseDatabaseError } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { connect, type Database } from '#lib/db/client.ts'
import { bookSql, type Movement, refuseOverdraft } from '#lib/ledger/book.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

interface Row {
  accountId: string
  id: string
  amount: number
}

/** Books a movement without its charge, withdrawal or refund, so that any amount is possible. */
function move(database: Database, movement: Movement, rows: Row[]): Promise<unknown> {
  const accounts = rows.map(row => row.accountId)
  const ids = rows.map(row => row.id)
  const amounts = rows.map(row => row.amount)
  return database.$queryRaw`
    WITH source AS (
      SELECT account_id, 'test' AS mode, id, amount, NULL::timestamptz AS booked_at,
      '00000000-0000-7000-8000-000000000001'::uuid AS connection_id
      FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${amounts}::bigint[])
        AS given (account_id, id, amount)
    ), booked AS (${bookSql(movement)})
    SELECT entries FROM booked AS b (entries)`
}

async function createLedger(database: Database, available = 0): Promise<string> {
  const id = newId()
  await database.$executeRaw`INSERT INTO accounts (id, name) VALUES (${id}::uuid, 'Padaria')`
  await database.$executeRaw`SELECT troco_open_books(${id}::uuid)`
  const credit = { accountId: id, id: newId(), amount: available }
  if (available > 0) await move(database, 'charge_paid', [credit])
  return id
}

async function balancesOf(database: Database, accountId: string) {
  const rows = await database.$queryRaw<{ ledger: string; balance: bigint }[]>`
    SELECT ledger, balance FROM ledger_accounts
    WHERE account_id = ${accountId}::uuid AND mode = 'test'`
  return Object.fromEntries(rows.map(row => [row.ledger, Number(row.balance)]))
}

/**
 * Expects correct sums. Skips the checks of charges and withdrawals, which these movements do not
 * have.
 */
async function expectCorrectSums(database: Database, accountId: string): Promise<void> {
  const { findings } = await verifyLedger(database, accountId)
  const sumFindings = findings.filter(({ invariant }) => !/charge|withdrawal/.test(invariant))
  expect(sumFindings).toHaveLength(13)
  expect(sumFindings.filter(finding => finding.violation)).toEqual([])
}

function countOutcomes(outcomes: PromiseSettledResult<unknown>[], status: string): number {
  return outcomes.filter(outcome => outcome.status === status).length
}

describe('movements without charges and withdrawals, in a database of their own', () => {
  let database: Database
  beforeAll(async () => {
    database = connect({ url: await makeDatabase(), poolMax: 64, connectTimeoutMs: 30_000 })
  })
  afterAll(() => database.$disconnect())

  test('of 200 concurrent debits of 7 on a balance of 100, 14 succeed and 2 remain', async () => {
    const accountId = await createLedger(database, 100)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 200 }, () =>
        move(database, 'withdrawal_held', [{ accountId, id: newId(), amount: 7 }]),
      ),
    )
    expect(countOutcomes(outcomes, 'fulfilled')).toBe(14)
    const refusals = outcomes.flatMap(outcome =>
      outcome.status === 'rejected' ? [outcome.reason] : [],
    )
    const constraints = new Set(refusals.map(reason => parseDatabaseError(reason).constraint))
    expect(constraints).toEqual(new Set(['ledger_accounts_available_not_negative']))
    expect(await balancesOf(database, accountId)).toEqual({
      available: 2,
      outbound: 98,
      external: -100,
    })
    await expectCorrectSums(database, accountId)
  })

  test('a credit repeated concurrently and later is booked once', async () => {
    const accountId = await createLedger(database)
    const credit = { accountId, id: newId(), amount: 900 }
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => move(database, 'charge_paid', [credit])),
    )
    expect(countOutcomes(outcomes, 'fulfilled')).toBe(1)
    await expect(move(database, 'charge_paid', [credit])).rejects.toThrow()
    await expect(
      move(database, 'charge_paid', [{ ...credit, id: newId() }, credit]),
    ).rejects.toThrow()
    expect(await balancesOf(database, accountId)).toMatchObject({ available: 900, external: -900 })
    await expectCorrectSums(database, accountId)
  })

  test('a subject that occurs twice in a statement is refused, and nothing moves', async () => {
    const accountId = await createLedger(database, 500)
    const row = { accountId, id: newId(), amount: 100 }
    const error = await move(database, 'withdrawal_held', [row, row]).catch(reason => reason)
    expect(parseDatabaseError(error).code).toBe('23505')
    expect(await balancesOf(database, accountId)).toMatchObject({ available: 500, outbound: 0 })
    await expectCorrectSums(database, accountId)
  })

  test('an overdraft of one account rolls back the whole statement', async () => {
    const [rich, poor] = await Promise.all([
      createLedger(database, 500),
      createLedger(database, 50),
    ])
    const rows = [
      { accountId: rich, id: newId(), amount: 100 },
      { accountId: poor, id: newId(), amount: 51 },
    ]
    await expect(move(database, 'withdrawal_held', rows)).rejects.toThrow()
    expect(await balancesOf(database, rich)).toEqual({
      available: 500,
      outbound: 0,
      external: -500,
    })
    expect(await balancesOf(database, poor)).toEqual({ available: 50, outbound: 0, external: -50 })
    const [transfers] = await database.$queryRaw<{ count: bigint }[]>`
      SELECT count(*) FROM ledger_transfers WHERE account_id = ANY (${[rich, poor]}::uuid[])
        AND kind = 'withdrawal_held'`
    expect(transfers?.count).toBe(0n)
    await expectCorrectSums(database, rich)
    await expectCorrectSums(database, poor)
  })

  test.each(['withdrawal_sent', 'withdrawal_returned', 'refund_sent', 'refund_returned'] as const)(
    '%s without a hold is refused',
    async movement => {
      const accountId = await createLedger(database, 500)
      const row = { accountId, id: newId(), amount: 1 }
      const error = await move(database, movement, [row]).catch(reason => reason)
      expect(parseDatabaseError(error).constraint).toBe('ledger_accounts_outbound_not_negative')
      expect(await balancesOf(database, accountId)).toMatchObject({ available: 500, outbound: 0 })
      await expectCorrectSums(database, accountId)
    },
  )

  test('an amount of zero or less is refused', async () => {
    const accountId = await createLedger(database, 500)
    for (const amount of [0, -100]) {
      const row = { accountId, id: newId(), amount }
      await expect(move(database, 'withdrawal_held', [row])).rejects.toThrow()
      await expect(move(database, 'charge_paid', [row])).rejects.toThrow()
    }
    expect(await balancesOf(database, accountId)).toMatchObject({ available: 500, outbound: 0 })
    await expectCorrectSums(database, accountId)
  })

  test('without source rows nothing moves', async () => {
    const accountId = await createLedger(database, 500)
    expect(await move(database, 'withdrawal_held', [])).toEqual([{ entries: 0 }])
    expect(await balancesOf(database, accountId)).toMatchObject({ available: 500 })
    await expectCorrectSums(database, accountId)
  })

  test('statements over many accounts in opposite orders never deadlock', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 8 }, () => createLedger(database, 10_000)),
    )
    const deadlocksBefore = await countDeadlocks(database)
    const moveAll = (index: number) => {
      const order = index % 2 ? accounts : accounts.toReversed()
      const rows = order.map(accountId => ({ accountId, id: newId(), amount: 1 + (index % 5) }))
      return move(database, index % 3 ? 'withdrawal_held' : 'charge_paid', rows)
    }
    // The last of more statements would wait for its time limit on a busy machine.
    for (let round = 0; round < 6; round++)
      await Promise.all(Array.from({ length: 20 }, (_, index) => moveAll(round * 20 + index)))
    expect(await countDeadlocks(database)).toBe(deadlocksBefore)
    for (const accountId of accounts) await expectCorrectSums(database, accountId)
  })
})

async function countDeadlocks(database: Database): Promise<bigint | undefined> {
  await database.$queryRaw`SELECT pg_stat_force_next_flush()::text`
  const [row] = await database.$queryRaw<{ deadlocks: bigint }[]>`
    SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
  return row?.deadlocks
}

test('only a negative available balance is reported as insufficient_balance', () => {
  const overdraft = { constraint: 'ledger_accounts_available_not_negative' }
  expect(() => refuseOverdraft(overdraft)).toThrow(
    expect.objectContaining({
      code: 'insufficient_balance',
      fields: { amount: ['Insufficient balance'] },
    }),
  )
  const other = Object.assign(new Error('gone'), { constraint: 'withdrawals_amount_range' })
  expect(() => refuseOverdraft(other)).toThrow(other)
})
