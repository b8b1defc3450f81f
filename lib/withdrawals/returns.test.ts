import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import { matchPayments, receivePayments } from '#lib/charges/receive.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { listStatement } from '#lib/dashboard/statement.ts'
import { readWithdrawalTimeline } from '#lib/dashboard/timeline.ts'
import { db } from '#lib/db/client.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { lockBooks, openDisputeLedgers } from '#lib/ledger/owed.ts'
import { findStatementRange } from '#lib/ledger/statement.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { withOwner } from '#lib/testing/database.ts'
import { Faults } from '#lib/testing/faults.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import {
  approveWithdrawal,
  endAsReported,
  keepUnmatchedReturn,
  rejectWithdrawal,
  returnPayout,
} from '#lib/withdrawals/outcome.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'

inOwnDatabase()
const faults = new Faults(['payout_returns'])

const AMOUNT = 5_000
const ORDER = { amount: AMOUNT, pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
  await fundMerchant(merchant, 20 * AMOUNT)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

const makeReturn = (amount: number) => ({ id: `D${newId()}`, amount, returnedAt: new Date() })

async function withdraw(amount = AMOUNT) {
  const { id: withdrawalId } = await createWithdrawal(merchant.id, 'test', { ...ORDER, amount })
  return { accountId: merchant.id, withdrawalId }
}

async function send() {
  const withdrawal = await withdraw()
  await approveWithdrawal({ ...withdrawal, endToEndId: newEndToEndId() })
  return withdrawal
}

const readRow = (id: string) => findWithdrawal(merchant.id, 'test', id)
const available = async () => (await readBalances(merchant.id, 'test')).available
const itemsAbout = async (id: string) =>
  (await listOpenItems()).filter(({ facts }) => facts.end_to_end_id === id)
const eventsOf = async (subjectId: string) =>
  (await db().event.findMany({ where: { subjectId }, orderBy: { sequence: 'asc' } })).map(
    ({ type, resource }) => [type, (resource as { returned_amount: number }).returned_amount],
  )

test('what comes back is credited once per id, in parts, and the withdrawal stays approved', async () => {
  const withdrawal = await send()
  const before = await available()
  const [first, second] = [makeReturn(2_000), makeReturn(3_000)]
  for (const part of [first, first, second, first, second])
    await returnPayout(withdrawal, { ...part, returnedAt: new Date() })
  expect(await available()).toBe(before + AMOUNT)
  expect(await readRow(withdrawal.withdrawalId)).toMatchObject({
    status: 'approved',
    returned_amount: AMOUNT,
  })
  expect(await eventsOf(withdrawal.withdrawalId)).toEqual([
    ['withdrawal.approved', 0],
    ['withdrawal.returned', 2_000],
    ['withdrawal.returned', AMOUNT],
  ])
  expect(await itemsAbout(first.id)).toEqual([])
})

test('a return above the amount sent moves to `unmatched` as a whole', async () => {
  const withdrawal = await send()
  const [part, excess] = [makeReturn(4_000), makeReturn(1_001)]
  await returnPayout(withdrawal, part)
  const before = await available()
  for (let time = 0; time < 2; time++) expect(await returnPayout(withdrawal, excess)).toBeNull()
  expect(await available()).toBe(before)
  expect(await readRow(withdrawal.withdrawalId)).toMatchObject({ returned_amount: 4_000 })
  expect(await itemsAbout(excess.id)).toMatchObject([
    {
      kind: 'return_above_payout',
      facts: {
        withdrawal_id: withdrawal.withdrawalId,
        account_id: merchant.id,
        amount: 1_001,
        sent_amount: AMOUNT,
        returned_amount: 4_000,
      },
    },
  ])
})

test('a return of a rejected withdrawal, or of none, moves to `unmatched`', async () => {
  const rejected = await withdraw()
  await rejectWithdrawal({ ...rejected, reason: { code: 'unspecified', params: {} } })
  const [ofRejected, ofNone] = [makeReturn(10), makeReturn(20)]
  const before = await available()
  await returnPayout(rejected, ofRejected)
  const connection = { connectionId: SIMULATOR_CONNECTION_ID, mode: 'test' } as const
  for (let time = 0; time < 2; time++) await keepUnmatchedReturn(connection, ofNone)
  expect(await available()).toBe(before)
  expect(await itemsAbout(ofRejected.id)).toMatchObject([
    { kind: 'return_above_payout', facts: { sent_amount: 0 } },
  ])
  expect(await itemsAbout(ofNone.id)).toMatchObject([
    { kind: 'return_unmatched', facts: { amount: 20, mode: 'test' } },
  ])
})

test('a return that a list of payments contains first is left to its withdrawal', async () => {
  const withdrawal = await send()
  const before = await available()
  const payoutReturn = { ...makeReturn(400), id: newEndToEndId().replace('E', 'D') }
  const listed = makePayment(400, { endToEndId: payoutReturn.id })
  const list = () => matchPayments({ id: SIMULATOR_CONNECTION_ID, mode: 'test' }, [listed])
  expect(await list()).toEqual([listed])
  await returnPayout(withdrawal, payoutReturn)
  expect(await list()).toEqual([])
  expect(await available()).toBe(before + 400)
  expect(await itemsAbout(payoutReturn.id)).toEqual([])
})

describe('returns that the bank reports with the end of the payout', () => {
  const report = (returns: ReturnType<typeof makeReturn>[]) =>
    ({ state: 'done', endToEndId: newEndToEndId(), returns }) as const

  test('are credited with the approval', async () => {
    const withdrawal = await withdraw()
    const before = await available()
    const done = report([makeReturn(1_000), makeReturn(500)])
    await endAsReported(merchant.id, withdrawal.withdrawalId, done)
    await endAsReported(merchant.id, withdrawal.withdrawalId, done)
    expect(await available()).toBe(before + 1_500)
    expect(await readRow(withdrawal.withdrawalId)).toMatchObject({
      status: 'approved',
      returned_amount: 1_500,
    })
  })

  test('leave the withdrawal pending if they cannot be stored, so that the bank is asked again', async () => {
    const { withdrawalId } = await withdraw()
    const done = report([makeReturn(1_000)])
    const settle = () => endAsReported(merchant.id, withdrawalId, done)
    expect(await faults.during('payout_returns', settle)).toBe(true)
    expect(await readRow(withdrawalId)).toMatchObject({ status: 'pending', returned_amount: 0 })
    await settle()
    expect(await readRow(withdrawalId)).toMatchObject({ returned_amount: 1_000 })
  })
})

test('a return of a pending withdrawal books nothing until the withdrawal is settled', async () => {
  const withdrawal = await withdraw()
  const payoutReturn = makeReturn(100)
  expect(await returnPayout(withdrawal, payoutReturn)).toBeNull()
  expect(await itemsAbout(payoutReturn.id)).toEqual([])
  await approveWithdrawal({ ...withdrawal, endToEndId: newEndToEndId() })
  expect(await returnPayout(withdrawal, payoutReturn)).toMatchObject({ returned_amount: 100 })
})

test('the statement and the history of the withdrawal show what came back', async () => {
  const withdrawal = await send()
  await returnPayout(withdrawal, makeReturn(700))
  const range = await findStatementRange(merchant.id, 'test', {})
  const [row] = (await listStatement(merchant.id, 'test', range)).rows
  expect(row).toMatchObject({
    kind: 'payout_returned',
    amount: 700,
    pix_key_type: 'email',
    charge_id: null,
    withdrawal_id: withdrawal.withdrawalId,
  })
  const { steps } = await readWithdrawalTimeline(
    merchant.id,
    'test',
    withdrawal.withdrawalId,
    newId(),
  )
  expect(steps.map(({ what }) => what)).toEqual(['requested', 'held', 'approved', 'sent_back'])
  expect(steps.at(-1)).toMatchObject({ amount: 700, balance_after: await available() })
})

test('the database refuses more back than was sent, and anything of a withdrawal that was not', async () => {
  const sent = await send()
  const pending = await withdraw()
  for (const [{ withdrawalId: id }, returnedAmount] of [
    [sent, AMOUNT + 1],
    [pending, 1],
  ] as const) {
    const changed = db().withdrawal.updateMany({ where: { id }, data: { returnedAmount } })
    await expect(changed).rejects.toThrow('withdrawals_returned_within_sent')
  }
})

/** Runs `work` while another transaction holds the lock of the books. */
const whileLocked = (work: () => Promise<void>) =>
  db().$transaction(
    async tx => {
      await lockBooks(tx, merchant.id, 'test')
      await work()
    },
    { timeout: 60_000 },
  )

test('an approval with returns waits for the books before it locks a ledger', async () => {
  const { withdrawalId } = await withdraw()
  const before = await available()
  const end = { endToEndId: newEndToEndId(), returns: [makeReturn(300)] }
  let settled: Promise<unknown> = Promise.resolve()
  await whileLocked(async () => {
    settled = endAsReported(merchant.id, withdrawalId, { state: 'done', ...end })
    await untilLocked(1)
    await withOwner(
      owner => owner.$queryRaw`
        SELECT FROM ledger_accounts WHERE account_id = ${merchant.id}::uuid AND mode = 'test'
        FOR UPDATE NOWAIT`,
    )
  })
  await settled
  expect(await available()).toBe(before + 300)
})

test('a return that waits while the account begins to owe repays that', async () => {
  const withdrawal = await send()
  const { available: rest } = await readBalances(merchant.id, 'test')
  const { id: chargeId } = await openCharge(merchant, 2 * AMOUNT)
  const payment = makePayment(2 * AMOUNT)
  await receivePayments([{ accountId: merchant.id, chargeId, payments: [payment] }])
  await approveWithdrawal({ ...(await withdraw(rest + AMOUNT)), endToEndId: newEndToEndId() })
  const dispute = { connectionId: SIMULATOR_CONNECTION_ID, bankId: newId(), amount: 2 * AMOUNT }
  await openDisputeLedgers(merchant.id, 'test')
  let works: Promise<unknown>[] = []
  await whileLocked(async () => {
    works = [openDispute({ ...dispute, endToEndId: payment.endToEndId })]
    await untilLocked(1)
    works.push(returnPayout(withdrawal, makeReturn(3_000)))
    await untilLocked(2)
  })
  await Promise.all(works)
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: merchant.id, mode: 'test' },
  })
  const balances = Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, Number(balance)]))
  expect(balances).toMatchObject({ available: 0, disputed: 2 * AMOUNT, owed: 3_000 - AMOUNT })
  await winDispute({ ...dispute, endToEndId: payment.endToEndId })
})
