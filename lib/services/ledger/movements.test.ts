import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { readBalances } from '#lib/services/ledger/accounts.ts'
import { MOVEMENTS } from '#lib/services/ledger/movements.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'

// TRUNCATE locks whole tables, and would deadlock with the tests of other files.
inOwnDatabase()

let client: Client
let merchant: Account
beforeAll(async () => {
  client = new Client({ connectionString: ownerUrlOf() })
  await client.connect()
  merchant = await makeMerchant()
  await fundMerchant(merchant, 5_000)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 5_000, outbound: 0 })
  await client.end()
})

/** Runs a statement as the table owner and rolls it back; returns the violated constraint. */
async function findBrokenConstraint(sql: string, values?: unknown[]): Promise<string | undefined> {
  await client.query('BEGIN')
  try {
    await client.query(sql, values)
    return undefined
  } catch (error) {
    return (error as DatabaseError).constraint
  } finally {
    await client.query('ROLLBACK')
  }
}

test.each(['ledger_entries', 'ledger_transfers', 'audit_log'])(
  '%s cannot be updated, deleted or truncated, even if no row matches',
  async table => {
    const rule = `${table}_append_only`
    expect(await findBrokenConstraint(`UPDATE ${table} SET created_at = now()`)).toBe(rule)
    expect(await findBrokenConstraint(`UPDATE ${table} SET created_at = now() WHERE false`)).toBe(
      rule,
    )
    expect(await findBrokenConstraint(`DELETE FROM ${table}`)).toBe(rule)
    expect(await findBrokenConstraint(`TRUNCATE ${table} CASCADE`)).toBe(rule)
  },
)

test('ledger accounts cannot be deleted or truncated', async () => {
  const rule = /^ledger_(accounts|entries)_append_only$/
  expect(await findBrokenConstraint('DELETE FROM ledger_accounts')).toBe(
    'ledger_accounts_append_only',
  )
  expect(await findBrokenConstraint('TRUNCATE ledger_accounts CASCADE')).toMatch(rule)
})

describe('the database refuses a balance with the wrong sign', () => {
  test.each([
    ['available', -1, 'ledger_accounts_available_not_negative'],
    ['outbound', -1, 'ledger_accounts_outbound_not_negative'],
    ['external', 1, 'ledger_accounts_external_not_positive'],
  ])('%s at %i', async (ledger, balance, rule) => {
    const sql = `UPDATE ledger_accounts SET balance = $1
      WHERE account_id = $2 AND mode = 'test' AND ledger = $3`
    expect(await findBrokenConstraint(sql, [balance, merchant.id, ledger])).toBe(rule)
    expect(await findBrokenConstraint(sql, [0, merchant.id, ledger])).toBeUndefined()
  })
})

const TRANSFER = `INSERT INTO ledger_transfers
  (account_id, kind, subject_id, mode, debit, credit, amount) VALUES ($1, $2, $3, 'test', $4, $5, $6)`

test('the database allows exactly the defined movements with their debit and credit sides', async () => {
  const ledgers = ['available', 'outbound', 'external']
  const kinds = [...Object.keys(MOVEMENTS), 'gift']
  const allowed: Record<string, { debit: string; credit: string }> = {}
  for (const kind of kinds) {
    for (const debit of ledgers) {
      for (const credit of ledgers) {
        const values = [merchant.id, kind, newId(), debit, credit, 100]
        if (!(await findBrokenConstraint(TRANSFER, values))) allowed[kind] = { debit, credit }
      }
    }
  }
  expect(allowed).toEqual(MOVEMENTS)
})

test('a transfer of zero or a negative amount is refused', async () => {
  for (const amount of [0, -1]) {
    const values = [merchant.id, 'charge_paid', newId(), 'external', 'available', amount]
    expect(await findBrokenConstraint(TRANSFER, values)).toBe('ledger_transfers_amount_positive')
  }
})

test('a movement is booked once per subject', async () => {
  const subject = newId()
  const values = [merchant.id, 'charge_paid', subject, 'external', 'available', 100]
  const twice = `WITH once AS (${TRANSFER} RETURNING 1) ${TRANSFER}`
  expect(await findBrokenConstraint(TRANSFER, values)).toBeUndefined()
  expect(await findBrokenConstraint(twice, values)).toBe('ledger_transfers_pkey')
})

test('an entry needs an existing transfer and is unique per ledger', async () => {
  const entry = (subject: string, mode: string) => `
    INSERT INTO ledger_entries
      (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
    VALUES ('${merchant.id}', '${mode}', 'available', 99, 'charge_paid', '${subject}', 1, 1)`
  const { rows } = await client.query(
    'SELECT subject_id FROM ledger_transfers WHERE account_id = $1',
    [merchant.id],
  )
  expect(await findBrokenConstraint(entry(newId(), 'test'))).toBe(
    'ledger_entries_account_id_kind_subject_id_fkey',
  )
  expect(await findBrokenConstraint(entry(rows[0].subject_id, 'test'))).toBe(
    'ledger_entries_account_id_kind_subject_id_ledger_key',
  )
})
