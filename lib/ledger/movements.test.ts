import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import {
  CORRECTION_SIDES,
  MERCHANT_MOVEMENTS,
  MOVEMENTS,
  OPERATOR_MOVEMENTS,
} from '#lib/ledger/book.ts'
import { openDisputeLedgers } from '#lib/ledger/owed.ts'
import { readBalances } from '#lib/testing/balances.ts'
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
  await openDisputeLedgers(merchant.id, 'test')
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

test('ledger accounts cannot be deleted, truncated or given to another account or mode', async () => {
  const rule = /^ledger_(accounts|entries)_append_only$/
  for (const change of ['DELETE FROM ledger_accounts', `UPDATE ledger_accounts SET mode = 'live'`])
    expect(await findBrokenConstraint(change)).toBe('ledger_accounts_append_only')
  expect(await findBrokenConstraint('TRUNCATE ledger_accounts CASCADE')).toMatch(rule)
})

describe('the database refuses a balance with the wrong sign', () => {
  test.each([
    ['available', -1, 'ledger_accounts_available_not_negative'],
    ['outbound', -1, 'ledger_accounts_outbound_not_negative'],
    ['disputed', -1, 'ledger_accounts_disputed_not_negative'],
    ['owed', 1, 'ledger_accounts_owed_not_positive'],
  ])('%s at %i', async (ledger, balance, rule) => {
    const sql = `UPDATE ledger_accounts SET balance = $1
      WHERE account_id = $2 AND mode = 'test' AND ledger = $3`
    expect(await findBrokenConstraint(sql, [balance, merchant.id, ledger])).toBe(rule)
    expect(await findBrokenConstraint(sql, [0, merchant.id, ledger])).toBeUndefined()
  })
})

const TRANSFER = `INSERT INTO ledger_transfers
  (account_id, kind, subject_id, mode, debit, credit, amount) VALUES ($1, $2, $3, 'test', $4, $5, $6)`

test.each([
  ['a merchant', () => merchant.id, MERCHANT_MOVEMENTS, CORRECTION_SIDES.merchant],
  ['the operator', () => OPERATOR_ACCOUNT_ID, OPERATOR_MOVEMENTS, CORRECTION_SIDES.operator],
])(
  'the database allows %s exactly the defined movements',
  async (_, idOf, movements, corrections) => {
    const sides = Object.values(MOVEMENTS).flatMap(({ debit, credit }) => [debit, credit])
    const ledgers = [...new Set(sides)]
    const kinds = [...Object.keys(MOVEMENTS), 'gift']
    const { rows: rules } = await client.query(
      `SELECT pg_get_expr(conbin, conrelid) AS rule FROM pg_constraint
     WHERE conname = 'ledger_transfers_kind_known'`,
    )
    const { rows } = await client.query<{ kind: string; debit: string; credit: string }>(
      `SELECT kind, debit, credit FROM (SELECT $1::uuid AS account_id) account, unnest($2::text[]) AS kind,
       unnest($3::text[]) AS debit, unnest($3::text[]) AS credit WHERE ${rules[0].rule}`,
      [idOf(), kinds, ledgers],
    )
    const nameOf = ([kind, { debit, credit }]: [string, { debit: string; credit: string }]) =>
      `${kind} ${debit} ${credit}`
    const defined = [
      ...Object.entries(movements).map(nameOf),
      ...corrections.map(direction => nameOf(['corrected', direction])),
    ]
    expect(rows.map(({ kind, ...found }) => nameOf([kind, found])).sort()).toEqual(defined.sort())
  },
)

test.each([
  ['another kind', ['gift', 'external', 'available']],
  ['swapped sides', ['charge_paid', 'available', 'external']],
  ['a movement of the operator', ['fee_paid', 'own', 'external']],
])('a transfer of a merchant with %s is refused', async (_, [kind, debit, credit]) => {
  const values = [merchant.id, kind, newId(), debit, credit, 100]
  expect(await findBrokenConstraint(TRANSFER, values)).toBe('ledger_transfers_kind_known')
})

test('a transfer of zero or a negative amount is refused', async () => {
  for (const amount of [0, -1]) {
    const values = [merchant.id, 'charge_paid', newId(), 'external', 'available', amount]
    expect(await findBrokenConstraint(TRANSFER, values)).toBe('ledger_transfers_amount_positive')
  }
})

const CONNECTION = '00000000-0000-7000-8000-000000000001'
const OTHER_CONNECTION = '00000000-0000-7000-8000-0000000000ff'

test.each([
  ['on external without its connection', 'charge_paid', null, true],
  ['on external', 'charge_paid', OTHER_CONNECTION, false],
  ['inside an account with a connection', 'withdrawal_held', OTHER_CONNECTION, true],
  ['inside an account', 'withdrawal_held', null, false],
  ['inside an account, of an older version', 'withdrawal_held', CONNECTION, false],
] as const)('a transfer %s is refused: %s, %s, %s', async (_, kind, connection, isRefused) => {
  const { debit, credit } = MOVEMENTS[kind]
  const sql = `INSERT INTO ledger_transfers
    (account_id, kind, subject_id, mode, debit, credit, amount, connection_id)
    VALUES ($1, $2, $3, 'test', $4, $5, $6, $7)`
  const values = [merchant.id, kind, newId(), debit, credit, 100, connection]
  expect(await findBrokenConstraint(sql, values)).toBe(
    isRefused ? 'ledger_transfers_connection_of_external' : undefined,
  )
})

test('a movement is booked once per subject', async () => {
  const subject = newId()
  const values = [merchant.id, 'charge_paid', subject, 'external', 'available', 100]
  const twice = `WITH once AS (${TRANSFER} RETURNING 1) ${TRANSFER}`
  expect(await findBrokenConstraint(TRANSFER, values)).toBeUndefined()
  expect(await findBrokenConstraint(twice, values)).toBe('ledger_transfers_pkey')
})

describe('an entry is a side of its transfer', () => {
  const ENTRY = `INSERT INTO ledger_entries
      (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
    VALUES ($1, $2, $3, 99, $4, $5, $6, 100)`

  test.each([
    ['without a transfer', { kind: 'withdrawal_sent' }],
    ['of another mode', { mode: 'live' }],
    ['of another amount', { amount: 99 }],
    ['with the wrong sign', { amount: -100 }],
    ['in a third ledger', { ledger: 'outbound' }],
  ])('one %s is refused', async (_, changes) => {
    const subject = newId()
    const insert = async (entry: {
      mode: string
      ledger: string
      kind: string
      amount: number
    }) => {
      await client.query('BEGIN')
      await client.query(TRANSFER, [
        merchant.id,
        'charge_paid',
        subject,
        'external',
        'available',
        100,
      ])
      const { mode, ledger, kind, amount } = entry
      const broken = await client
        .query(ENTRY, [merchant.id, mode, ledger, kind, subject, amount])
        .then(
          () => undefined,
          (error: DatabaseError) => error.constraint,
        )
      await client.query('ROLLBACK')
      return broken
    }
    const right = { mode: 'test', ledger: 'available', kind: 'charge_paid', amount: 100 }
    expect(await insert(right)).toBeUndefined()
    expect(await insert({ ...right, ...changes })).toBe('ledger_entries_match_transfers')
  })

  test('one in a ledger that the account lacks is refused', async () => {
    const other = await makeMerchant()
    const subject = newId()
    const both = `WITH held AS (${TRANSFER})
      INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
      VALUES ($1, 'test', $5, 1, $2, $3, $6, 100)`
    const values = (account: Account) => [
      account.id,
      'dispute_held',
      subject,
      'available',
      'disputed',
      100,
    ]
    expect(await findBrokenConstraint(both, values(merchant))).toBeUndefined()
    expect(await findBrokenConstraint(both, values(other))).toBe('ledger_entries_match_transfers')
  })

  test('each side has one', async () => {
    const { rows } = await client.query(
      'SELECT subject_id FROM ledger_transfers WHERE account_id = $1',
      [merchant.id],
    )
    const values = [merchant.id, 'test', 'available', 'charge_paid', rows[0].subject_id, 5_000]
    expect(await findBrokenConstraint(ENTRY, values)).toBe(
      'ledger_entries_account_id_kind_subject_id_ledger_key',
    )
  })
})
