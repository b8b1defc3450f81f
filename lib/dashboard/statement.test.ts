import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { loseDispute, openDispute } from '#lib/charges/disputes/dispute.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'
import { listStatement, statementSpan, walkStatement } from '#lib/dashboard/statement.ts'
import { db } from '#lib/db/client.ts'
import { findStatementRange, totalStatement } from '#lib/ledger/statement.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { expectBalancedLedger, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'
import { pickSize } from '#lib/testing/size.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const HISTORY_COUNT = pickSize(15, 200)

type Action = { action: 'pay' | 'withdraw' | 'approve' | 'reject' | 'refund'; amount: number }

/** Makes a merchant and performs the actions; those that the ledger refuses are skipped. */
async function makeHistory(actions: Action[]): Promise<Account> {
  const merchant = await makeMerchant()
  const paid: string[] = []
  const pending: string[] = []
  const dictKey = 'hold@example.com'
  const key = { pixKeyType: 'email', pixKey: dictKey, dictKey } as const
  const refused = (error: { code?: string }) => {
    if (error.code !== 'insufficient_balance' && error.code !== 'refund_exceeds_remainder')
      throw error
    return null
  }
  for (const { action, amount } of actions) {
    const accountId = merchant.id
    if (action === 'pay') {
      const { id } = await openCharge(merchant, amount)
      await simulateCharge(accountId, id, 'paid')
      paid.push(id)
    } else if (action === 'withdraw') {
      const withdrawal = await createWithdrawal(accountId, 'test', { ...key, amount }).catch(
        refused,
      )
      if (withdrawal) pending.push(withdrawal.id)
    } else if (action === 'refund') {
      const chargeId = paid.at(-1)
      if (chargeId) await createRefund(accountId, 'test', chargeId, { amount: 100 }).catch(refused)
    } else {
      const withdrawalId = pending.shift() ?? ''
      if (!withdrawalId) continue
      const settlement = { accountId, withdrawalId }
      if (action === 'approve')
        await approveWithdrawal({
          ...settlement,
          endToEndId: `E${withdrawalId.replaceAll('-', '').slice(1)}`,
        })
      else await rejectWithdrawal({ ...settlement, reason: REFUSAL })
    }
  }
  return merchant
}

async function readAll(merchant: Account, period: { from?: Date; to?: Date } = {}) {
  const range = await findStatementRange(merchant.id, 'test', period)
  const rows: StatementRow[] = []
  for await (const page of walkStatement(merchant.id, 'test', range)) rows.push(...page)
  return { range, rows, totals: await totalStatement(merchant.id, 'test', range) }
}

const actions = fc.array(
  fc.record({
    action: fc.constantFrom('pay', 'pay', 'withdraw', 'approve', 'reject', 'refund'),
    amount: fc.integer({ min: 1_000, max: 9_000 }),
  }),
  { minLength: 1, maxLength: 14 },
) as fc.Arbitrary<Action[]>

test('statements add up for any history and any division into periods', async () => {
  const property = fc.asyncProperty(
    actions,
    fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
    async (history, cuts) => {
      const merchant = await makeHistory([{ action: 'pay', amount: 5_000 }, ...history])
      const whole = await readAll(merchant)
      const { available } = await readBalances(merchant.id, 'test')
      expect(whole.range).toMatchObject({ opening: 0, closing: available })
      const times = whole.rows.map(({ created_at }) => Date.parse(created_at))
      const [start, end] = [Math.min(...times) - 1, Math.max(...times) + 1]
      const moments = cuts
        .map(cut => new Date(start + Math.round(cut * (end - start))))
        .sort((one, other) => one.getTime() - other.getTime())
      const bounds = [undefined, ...moments, undefined]
      const versions: number[] = []
      let balance = 0
      for (let index = 0; index + 1 < bounds.length; index++) {
        const [from, to] = [bounds[index], bounds[index + 1]]
        const { range, rows, totals } = await readAll(merchant, { from, to })
        // Computed from the rows, independently of `totalStatement`.
        const sum = (side: 1 | -1) =>
          rows
            .filter(row => Math.sign(row.amount) === side)
            .reduce((total, row) => total + side * row.amount, 0)
        expect(range.opening).toBe(balance)
        expect(totals).toEqual({ in: sum(1), out: sum(-1) })
        expect(range.opening + totals.in - totals.out).toBe(range.closing)
        for (const row of rows) {
          balance += row.amount
          expect(row.balance_after).toBe(balance)
          const time = new Date(row.created_at)
          if (from) expect(time.getTime()).toBeGreaterThanOrEqual(from.getTime())
          if (to) expect(time.getTime()).toBeLessThan(to.getTime())
        }
        expect(range.closing).toBe(balance)
        versions.push(...rows.map(({ version }) => version))
      }
      expect(versions).toEqual(whole.rows.map(({ version }) => version))
      await expectBalancedLedger(merchant.id)
    },
  )
  await fc.assert(property, { numRuns: HISTORY_COUNT })
}, 120_000)

describe('pages of a statement', () => {
  test('contain every row once, newest first, even if money moves meanwhile', async () => {
    const pays = Array.from({ length: 60 }, () => ({ action: 'pay' as const, amount: 1_000 }))
    const merchant = await makeHistory(pays)
    const range = await findStatementRange(merchant.id, 'test', {})
    const first = await listStatement(merchant.id, 'test', range)
    expect(first.rows.map(({ version }) => version)).toEqual(
      Array.from({ length: 50 }, (_, index) => 60 - index),
    )
    const { id } = await openCharge(merchant, 1_000)
    await simulateCharge(merchant.id, id, 'paid')
    const second = await listStatement(merchant.id, 'test', range, Number(first.nextCursor))
    expect(second.rows.map(({ version }) => version)).toEqual(
      Array.from({ length: 10 }, (_, index) => 10 - index),
    )
    expect(second.nextCursor).toBeNull()
    for (const cursor of [0, -5, 10_000]) {
      const { rows } = await listStatement(merchant.id, 'test', range, cursor)
      expect(rows.length).toBe(cursor > 0 ? 50 : 0)
    }
  })

  test('describe the subject of each row', async () => {
    const merchant = await makeHistory([
      { action: 'pay', amount: 9_000 },
      { action: 'withdraw', amount: 2_000 },
      { action: 'reject', amount: 0 },
      { action: 'refund', amount: 0 },
    ])
    const { rows } = await readAll(merchant)
    const charge = await db().charge.findFirstOrThrow({ where: { accountId: merchant.id } })
    const withdrawal = await db().withdrawal.findFirstOrThrow({ where: { accountId: merchant.id } })
    const payer = { client_name: charge.clientName, external_id: charge.externalId }
    const key = { pix_key_type: 'email', dict_key: 'hold@example.com', charge_id: null }
    expect(rows).toMatchObject([
      { kind: 'charge_paid', subject_id: charge.id, charge_id: charge.id, amount: 9_000, ...payer },
      { kind: 'withdrawal_held', subject_id: withdrawal.id, amount: -2_000, ...key },
      { kind: 'withdrawal_returned', subject_id: withdrawal.id, amount: 2_000, ...key },
      { kind: 'refund_held', charge_id: charge.id, amount: -100, dict_key: null, ...payer },
    ])
  })
})

test('what a dispute holds and releases is on the statement, as rows of its charge', async () => {
  const merchant = await makeMerchant()
  const { id: chargeId } = await openCharge(merchant, 3_000)
  const { end_to_end_id: endToEndId } = await simulateCharge(merchant.id, chargeId, 'paid')
  const report = {
    connectionId: SIMULATOR_CONNECTION_ID,
    bankId: newId(),
    amount: 3_000,
    endToEndId: endToEndId ?? '',
  }
  await openDispute(report)
  await loseDispute({ ...report, amount: 1_000 })
  const { rows } = await readAll(merchant)
  expect(rows).toMatchObject([
    { kind: 'charge_paid', charge_id: chargeId, amount: 3_000, balance_after: 3_000 },
    { kind: 'dispute_held', charge_id: chargeId, amount: -3_000, balance_after: 0 },
    { kind: 'dispute_won', charge_id: chargeId, amount: 2_000, balance_after: 2_000 },
  ])
  await expectBalancedLedger(merchant.id)
})

test('a statement contains nothing of another mode or merchant', async () => {
  const merchant = await makeHistory([{ action: 'pay', amount: 5_000 }])
  const emptyRange = { first: 1, end: 1, opening: 0, closing: 0 }
  expect(await findStatementRange(merchant.id, 'live', {})).toEqual(emptyRange)
  const otherMerchant = await makeMerchant()
  expect(await findStatementRange(otherMerchant.id, 'test', {})).toEqual(emptyRange)
})

test('a period that ends before it begins is empty and still adds up', async () => {
  const merchant = await makeHistory([{ action: 'pay', amount: 5_000 }])
  const future = new Date(Date.now() + 3_600_000)
  const { range, rows } = await readAll(merchant, { from: future, to: new Date(0) })
  expect(rows).toEqual([])
  expect(range).toMatchObject({ opening: 5_000, closing: 5_000 })
})

test('without a period the last 30 days are shown; all time must be requested', () => {
  const zone = 'America/Sao_Paulo'
  expect(statementSpan({}, zone)).toEqual(statementSpan({ period: '30d' }, zone))
  expect(statementSpan({ period: 'all' }, zone)).toEqual({})
})
