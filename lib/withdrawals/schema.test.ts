import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { expectBalancedLedger, makeMerchant } from '#lib/testing/fixtures.ts'

let client: Client
let merchant: Account
beforeAll(async () => {
  client = new Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  merchant = await makeMerchant()
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await client.end()
})

const STATES: Record<string, Record<string, string>> = {
  pending: { status: `'pending'` },
  approved: { status: `'approved'`, approved_at: 'now()' },
  rejected: { status: `'rejected'`, rejected_at: 'now()', rejection_reason: `'no'` },
}
const UNSET = { approved_at: 'NULL', rejected_at: 'NULL', rejection_reason: 'NULL' }

/** Inserts a row, applies a change and rolls both back; returns the violated constraint. */
async function findBrokenConstraint(
  columns: Record<string, string>,
  change: Record<string, string> = {},
): Promise<string | undefined> {
  const id = newId()
  const row: Record<string, string> = {
    account_id: `'${merchant.id}'`,
    id: `'${id}'`,
    mode: `'test'`,
    amount: '1000',
    pix_key_type: `'email'`,
    pix_key: `'a@b.co'`,
    dict_key: `'a@b.co'`,
    ...UNSET,
    ...STATES.pending,
    ...columns,
  }
  const set = Object.entries(change).map(([column, value]) => `${column} = ${value}`)
  await client.query('BEGIN')
  try {
    await client.query(
      `INSERT INTO withdrawals (${Object.keys(row)}) VALUES (${Object.values(row)})`,
    )
    if (set.length > 0) {
      const sql = `UPDATE withdrawals SET ${set} WHERE account_id = $1 AND id = $2`
      const { rowCount } = await client.query(sql, [merchant.id, id])
      expect(rowCount).toBe(1)
    }
    return undefined
  } catch (error) {
    const { constraint } = error as DatabaseError
    if (!constraint) throw error
    return constraint
  } finally {
    await client.query('ROLLBACK')
  }
}

describe('the database allows only the defined state changes of a withdrawal, even by hand', () => {
  const names = Object.keys(STATES)
  const pairs = names.flatMap(from => names.map(to => ({ from, to })))
  test.each(pairs.filter(({ from, to }) => from !== to))('$from to $to', async ({ from, to }) => {
    const rule = from === 'pending' ? undefined : 'withdrawals_state_moves'
    expect(await findBrokenConstraint(STATES[from] ?? {}, { ...UNSET, ...STATES[to] })).toBe(rule)
  })
})

test('amount, mode, account and id never change', async () => {
  const changes = { amount: '1001', mode: `'live'`, id: `'${newId()}'`, account_id: `'${newId()}'` }
  for (const [column, value] of Object.entries(changes)) {
    const change = { [column]: value }
    expect(await findBrokenConstraint({}, change)).toBe('withdrawals_terms_fixed')
    expect(await findBrokenConstraint(STATES.approved ?? {}, change)).toBe(
      'withdrawals_terms_fixed',
    )
  }
})

test('a settled withdrawal must have its time and reason, and no other may have them', async () => {
  expect(await findBrokenConstraint({}, { status: `'approved'` })).toBe(
    'withdrawals_approved_has_time',
  )
  expect(await findBrokenConstraint({}, { approved_at: 'now()' })).toBe(
    'withdrawals_approved_has_time',
  )
  expect(await findBrokenConstraint({}, { rejected_at: 'now()' })).toBe(
    'withdrawals_rejected_has_time',
  )
  expect(await findBrokenConstraint({}, { rejection_reason: `'no'` })).toBe(
    'withdrawals_rejected_has_reason',
  )
  expect(await findBrokenConstraint({}, { status: `'rejected'`, rejected_at: 'now()' })).toBe(
    'withdrawals_rejected_has_reason',
  )
})

test('a withdrawal with an invalid amount, mode, state, key type or account is refused', async () => {
  expect(await findBrokenConstraint({})).toBeUndefined()
  expect(await findBrokenConstraint({ amount: '999' })).toBe('withdrawals_amount_range')
  expect(await findBrokenConstraint({ amount: '1000000000000' })).toBe('withdrawals_amount_range')
  expect(await findBrokenConstraint({ mode: `'demo'` })).toBe('withdrawals_mode_known')
  expect(await findBrokenConstraint({ mode: `'live'` })).toBe('withdrawals_simulator_in_test')
  const connection_id = `'${newId()}'`
  expect(await findBrokenConstraint({ connection_id })).toBe('withdrawals_simulator_in_test')
  expect(await findBrokenConstraint({ mode: `'live'`, connection_id })).toBe(
    'withdrawals_connection_id_fkey',
  )
  expect(await findBrokenConstraint({ status: `'lost'` })).toBe('withdrawals_status_known')
  expect(await findBrokenConstraint({ pix_key_type: `'iban'` })).toBe(
    'withdrawals_pix_key_type_known',
  )
  expect(await findBrokenConstraint({ account_id: `'${newId()}'` })).toBe(
    'withdrawals_account_id_fkey',
  )
})
