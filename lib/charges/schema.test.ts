import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { expectBalancedLedger, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

const STATES = ['opening', 'pending', 'paid', 'expired', 'failed'] as const
const TRANSITIONS = [
  'opening>pending',
  'opening>failed',
  'pending>paid',
  'pending>expired',
  'pending>failed',
  'expired>paid',
  'failed>paid',
]

let client: Client
let merchant: Account
let id: string
beforeAll(async () => {
  client = new Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  merchant = await makeMerchant()
  id = (await openCharge(merchant, 1_000)).id
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await client.end()
})

/** Applies changes one by one and rolls them back; returns the violated constraint. */
async function findBrokenConstraint(...changes: string[]): Promise<string | undefined> {
  await client.query('BEGIN')
  try {
    for (const change of changes) {
      const sql = `UPDATE charges SET ${change} WHERE account_id = $1 AND id = $2`
      await client.query(sql, [merchant.id, id])
    }
    return undefined
  } catch (error) {
    return (error as DatabaseError).constraint
  } finally {
    await client.query('ROLLBACK')
  }
}

const inState = (state: string) =>
  `status = '${state}', paid_at = ${state === 'paid' ? 'now()' : 'NULL'}`

async function findConstraintBrokenByInsert(
  columns: Record<string, string>,
): Promise<string | undefined> {
  const row: Record<string, string> = {
    account_id: `'${merchant.id}'`,
    id: `'${newId()}'`,
    mode: `'test'`,
    status: `'pending'`,
    amount: '1000',
    external_id: `'${newId()}'`,
    txid: `'${newId()}'`,
    br_code: `'-'`,
    client_name: `'-'`,
    client_email: `'-'`,
    client_doc: `'-'`,
    expires_at: 'now()',
    ...columns,
  }
  const sql = `INSERT INTO charges (${Object.keys(row)}) VALUES (${Object.values(row)})`
  await client.query('BEGIN')
  try {
    await client.query(sql)
    return undefined
  } catch (error) {
    return (error as DatabaseError).constraint
  } finally {
    await client.query('ROLLBACK')
  }
}

describe('the database allows only the defined state changes of a charge, even by hand', () => {
  const pairs = STATES.flatMap(from => STATES.map(to => ({ from, to })))
  const moves = pairs.filter(({ from, to }) => from !== to)
  test.each(moves)('$from to $to', async ({ from, to }) => {
    const sql = `INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid,
        br_code, client_name, client_email, client_doc, expires_at, paid_at)
      VALUES ($1, $2, 'test', $3, 1000, $4, $4, '-', '-', '-', '-', now(),
        CASE WHEN $3 = 'paid' THEN now() END)`
    const chargeId = newId()
    await client.query('BEGIN')
    await client.query(sql, [merchant.id, chargeId, from, chargeId])
    const result = await client
      .query(`UPDATE charges SET ${inState(to)} WHERE account_id = $1 AND id = $2`, [
        merchant.id,
        chargeId,
      ])
      .then(() => 'moved')
      .catch(error => error.constraint)
    await client.query('ROLLBACK')
    expect(result).toBe(TRANSITIONS.includes(`${from}>${to}`) ? 'moved' : 'charges_state_moves')
  })
})

test('amount, mode, connection, account and id never change', async () => {
  for (const change of [
    'amount = 1001',
    `mode = 'live'`,
    `connection_id = '${newId()}'`,
    `id = '${newId()}'`,
    `account_id = '${newId()}'`,
  ]) {
    expect(await findBrokenConstraint(change)).toBe('charges_terms_fixed')
    expect(await findBrokenConstraint(inState('paid'), change)).toBe('charges_terms_fixed')
  }
})

test('a paid charge must have a time of payment, and no other charge may have one', async () => {
  expect(await findBrokenConstraint(`status = 'paid'`)).toBe('charges_paid_has_time')
  expect(await findBrokenConstraint('paid_at = now()')).toBe('charges_paid_has_time')
  expect(await findBrokenConstraint(inState('paid'))).toBeUndefined()
})

test('refunds never exceed the paid amount, and an unpaid charge has none', async () => {
  const rule = 'charges_refunds_within_paid'
  const paid = inState('paid')
  expect(await findBrokenConstraint(paid, 'refunded_amount = 1000')).toBeUndefined()
  expect(
    await findBrokenConstraint(paid, 'refunded_amount = 400, refund_held_amount = 600'),
  ).toBeUndefined()
  expect(await findBrokenConstraint(paid, 'refunded_amount = 1001')).toBe(rule)
  expect(await findBrokenConstraint(paid, 'refunded_amount = 400, refund_held_amount = 601')).toBe(
    rule,
  )
  expect(await findBrokenConstraint(paid, 'refund_held_amount = -1')).toBe(rule)
  expect(await findBrokenConstraint(paid, 'refunded_amount = -1')).toBe(rule)
  expect(await findBrokenConstraint('refund_held_amount = 1')).toBe(rule)
})

test('a charge with an invalid amount, mode or state, or payable without a code, is refused', async () => {
  expect(await findConstraintBrokenByInsert({})).toBeUndefined()
  expect(await findConstraintBrokenByInsert({ amount: '499' })).toBe('charges_amount_range')
  expect(await findConstraintBrokenByInsert({ amount: '1000000000000' })).toBe(
    'charges_amount_range',
  )
  expect(await findConstraintBrokenByInsert({ mode: `'demo'` })).toBe('charges_mode_known')
  expect(await findConstraintBrokenByInsert({ mode: `'live'` })).toBe('charges_simulator_in_test')
  const connection_id = `'${newId()}'`
  expect(await findConstraintBrokenByInsert({ connection_id })).toBe('charges_simulator_in_test')
  expect(await findConstraintBrokenByInsert({ mode: `'live'`, connection_id })).toBe(
    'charges_connection_id_fkey',
  )
  expect(await findConstraintBrokenByInsert({ status: `'lost'` })).toBe('charges_status_known')
  expect(await findConstraintBrokenByInsert({ br_code: 'NULL' })).toBe('charges_code_known')
  expect(
    await findConstraintBrokenByInsert({ br_code: 'NULL', status: `'opening'` }),
  ).toBeUndefined()
  expect(await findConstraintBrokenByInsert({ external_id: `''` })).toBe(
    'charges_external_id_length',
  )
  expect(await findConstraintBrokenByInsert({ account_id: `'${newId()}'` })).toBe(
    'charges_account_id_fkey',
  )
})

test('an end-to-end id belongs to one charge', async () => {
  const rows = ['x1', 'x2'].map(
    name => `('${merchant.id}', '${newId()}', 'test', 'paid', 1000, '${name}', '${newId()}', '-',
      '-', '-', '-', now(), now(), 'E00000000202611210127abcdefghijk')`,
  )
  const error = await client
    .query(
      `INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
        client_name, client_email, client_doc, expires_at, paid_at, end_to_end_id)
       VALUES ${rows}`,
    )
    .catch(reason => reason)
  expect(error.constraint).toBe('charges_end_to_end_id_key')
})
