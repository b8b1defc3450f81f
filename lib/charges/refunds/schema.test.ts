import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { refundRequest, refundsQuery } from '#lib/charges/refunds/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { env } from '#lib/core/settings.ts'
import { parseFields } from '#lib/http/input.ts'
import { expectBalancedLedger, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

const AMOUNT_RULE = `a whole number of cents from 1 to ${AMOUNT_MAX}, or "all"`

describe('a request', () => {
  const findProblems = (body: object) => {
    try {
      parseFields(refundRequest.test, { ...body })
      return null
    } catch (error) {
      return (error as { fields: unknown }).fields
    }
  }

  test('may be empty or say `all`: it refunds the rest of the charge', () => {
    for (const body of [{}, { amount: 'all' }])
      expect(parseFields(refundRequest.test, body)).toEqual({})
  })

  test('keeps amount and trimmed reason', () => {
    const body = { amount: 1, reason: '  Late  ' }
    expect(parseFields(refundRequest.test, body)).toEqual({ amount: 1, reason: 'Late' })
    const longest = { amount: AMOUNT_MAX, reason: 'ç'.repeat(255) }
    expect(parseFields(refundRequest.live, longest)).toEqual(longest)
  })

  test('with an unknown field is refused, and so is one without a value', () => {
    const amount = [`amount must be ${AMOUNT_RULE}`]
    expect(findProblems({ amount: null, reason: '' })).toEqual({
      amount,
      reason: ['reason must have 1 to 255 characters'],
    })
    expect(findProblems({ amount: '', reason: null })).toEqual({
      amount,
      reason: ['reason must be a string'],
    })
    expect(findProblems({ amout: 100 })).toEqual({
      amout: ['amout is unknown: the request has amount, reason'],
    })
  })

  test.each([0, -1, 1.5, AMOUNT_MAX + 1, Number.NaN, '100', 'All', 'all ', true, [100], {}])(
    'with the amount %j is refused with the allowed range',
    amount => {
      expect(findProblems({ amount })).toEqual({
        amount: [`amount must be ${AMOUNT_RULE}`],
      })
    },
  )

  test('with a reason that is not text, blank or too long is refused, together with other errors', () => {
    const lengths = ['reason must have 1 to 255 characters']
    expect(findProblems({ reason: '   ' })).toEqual({ reason: lengths })
    expect(findProblems({ reason: 'x'.repeat(256) })).toEqual({ reason: lengths })
    expect(findProblems({ reason: 7, amount: 0 })).toEqual({
      amount: [`amount must be ${AMOUNT_RULE}`],
      reason: ['reason must be a string'],
    })
  })
})

test('the list accepts filters by state and time and ignores those that refunds do not have', () => {
  const query = { status: 'rejected', limit: '5', created_from: '2026-11-21' }
  const parsed = { status: 'rejected', limit: 5, created_from: '2026-11-21' }
  expect(parseFields(refundsQuery, { ...query, external_id: 'x', q: 'y' })).toEqual(parsed)
  expect(() => parseFields(refundsQuery, { status: 'paid' })).toThrow()
})

describe('the database', () => {
  let client: Client
  let merchant: Account
  let chargeId: string
  beforeAll(async () => {
    client = new Client({ connectionString: env().DATABASE_URL })
    await client.connect()
    merchant = await makeMerchant()
    chargeId = (await openCharge(merchant, 10_000)).id
    await simulateCharge(merchant.id, chargeId, 'paid')
  })
  afterAll(async () => {
    await expectBalancedLedger(merchant.id)
    await client.end()
  })

  const STATES: Record<string, Record<string, string>> = {
    pending: { status: `'pending'` },
    completed: { status: `'completed'`, completed_at: 'now()' },
    rejected: { status: `'rejected'`, rejected_at: 'now()', rejection_reason: `'no'` },
  }
  const UNSET = { completed_at: 'NULL', rejected_at: 'NULL', rejection_reason: 'NULL' }

  /** Inserts a row, applies a change and rolls both back; returns the violated constraint. */
  async function findBrokenConstraint(
    columns: Record<string, string>,
    change: Record<string, string> = {},
  ): Promise<string | undefined> {
    const id = newId()
    const row: Record<string, string> = {
      account_id: `'${merchant.id}'`,
      id: `'${id}'`,
      charge_id: `'${chargeId}'`,
      mode: `'test'`,
      amount: '1000',
      ...UNSET,
      ...STATES.pending,
      ...columns,
    }
    const set = Object.entries(change).map(([column, value]) => `${column} = ${value}`)
    await client.query('BEGIN')
    try {
      await client.query(`INSERT INTO refunds (${Object.keys(row)}) VALUES (${Object.values(row)})`)
      if (set.length > 0) {
        const sql = `UPDATE refunds SET ${set} WHERE account_id = $1 AND id = $2`
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

  const names = Object.keys(STATES)
  const pairs = names.flatMap(from => names.map(to => ({ from, to })))
  test.each(pairs.filter(({ from, to }) => from !== to))(
    'allows only the defined state changes, even by hand: $from to $to',
    async ({ from, to }) => {
      const rule = from === 'pending' ? undefined : 'refunds_state_moves'
      expect(await findBrokenConstraint(STATES[from] ?? {}, { ...UNSET, ...STATES[to] })).toBe(rule)
    },
  )

  test('never changes amount, mode, account, id or charge', async () => {
    const changes = {
      amount: '1001',
      mode: `'live'`,
      id: `'${newId()}'`,
      account_id: `'${newId()}'`,
    }
    for (const [column, value] of Object.entries(changes)) {
      expect(await findBrokenConstraint({}, { [column]: value })).toBe('refunds_terms_fixed')
    }
    expect(await findBrokenConstraint({}, { charge_id: `'${newId()}'` })).toBe(
      'refunds_charge_fixed',
    )
    expect(await findBrokenConstraint({}, { charge_id: `'${chargeId}'` })).toBeUndefined()
  })

  test('refuses a row with an invalid amount, mode, state, charge or timestamp', async () => {
    expect(await findBrokenConstraint({})).toBeUndefined()
    expect(await findBrokenConstraint({ amount: '0' })).toBe('refunds_amount_positive')
    expect(await findBrokenConstraint({ mode: `'demo'` })).toBe('refunds_mode_known')
    expect(await findBrokenConstraint({ mode: `'live'` })).toBe('refunds_simulator_in_test')
    const connection_id = `'${newId()}'`
    expect(await findBrokenConstraint({ connection_id })).toBe('refunds_simulator_in_test')
    expect(await findBrokenConstraint({ mode: `'live'`, connection_id })).toBe(
      'refunds_connection_id_fkey',
    )
    expect(await findBrokenConstraint({ status: `'lost'` })).toBe('refunds_status_known')
    expect(await findBrokenConstraint({ charge_id: `'${newId()}'` })).toBe(
      'refunds_account_id_charge_id_fkey',
    )
    expect(await findBrokenConstraint({}, { completed_at: 'now()' })).toBe(
      'refunds_completed_has_time',
    )
    expect(await findBrokenConstraint({}, { rejection_reason: `'no'` })).toBe(
      'refunds_rejected_has_reason',
    )
  })
})
