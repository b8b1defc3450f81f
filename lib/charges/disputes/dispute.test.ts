import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { writeOffClaim } from '#lib/accounts/write-off.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { loseDispute, openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import type { DisputeReport } from '#lib/charges/disputes/schema.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { completeRefund, createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { assessDisputes, lockBooks } from '#lib/ledger/owed.ts'
import { withOwner } from '#lib/testing/database.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

inOwnDatabase()

const AMOUNT = 10_000
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

let merchant: Account
beforeEach(async () => {
  merchant = await makeMerchant()
})
afterEach(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

/** Pays a charge; returns a report of a dispute of the payment. */
async function pay(amount = AMOUNT): Promise<DisputeReport> {
  const { id } = await openCharge(merchant, amount)
  const payment = makePayment(amount)
  await receivePayments([{ accountId: merchant.id, chargeId: id, payments: [payment] }])
  const { endToEndId } = payment
  return { connectionId: SIMULATOR_CONNECTION_ID, bankId: newId(), endToEndId, amount }
}

async function request(amount: number) {
  const { id } = await createWithdrawal(merchant.id, 'test', { amount, ...KEY })
  return { accountId: merchant.id, withdrawalId: id }
}

async function withdraw(amount: number): Promise<void> {
  await approveWithdrawal({ ...(await request(amount)), endToEndId: newEndToEndId() })
}

const itemsAbout = async ({ bankId }: Pick<DisputeReport, 'bankId'>) =>
  (await listOpenItems()).filter(({ facts }) => facts.dispute_id === bankId)

async function readBooks() {
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: merchant.id, mode: 'test' },
  })
  const balances = Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, balance]))
  return { ...assessDisputes(balances), external: Number(balances.external) }
}

test('a disputed amount is held, and the rest stays withdrawable', async () => {
  const report = await pay()
  await pay(5_000)
  for (let time = 0; time < 2; time++)
    expect(await openDispute(report)).toMatchObject({ status: 'open', amount: BigInt(AMOUNT) })
  expect(await readBooks()).toMatchObject({ available: 5_000, disputed: AMOUNT, held: AMOUNT })
  await withdraw(5_000)
  await expect(request(1_000)).rejects.toMatchObject({ code: 'insufficient_balance' })
})

test('withdrawals are refused while less is held than disputed, and what comes in is held', async () => {
  const report = await pay()
  await withdraw(7_000)
  await openDispute(report)
  expect(await readBooks()).toMatchObject({ available: 0, disputed: AMOUNT, held: 3_000, claim: 0 })
  await expect(request(1_000)).rejects.toMatchObject({
    code: 'dispute_not_covered',
    fields: { amount: [expect.stringContaining('Less is held')] },
  })
  await pay(6_000)
  expect(await readBooks()).toMatchObject({ available: 0, held: 9_000 })
  await pay(3_500)
  expect(await readBooks()).toMatchObject({ available: 2_500, disputed: AMOUNT, held: AMOUNT })
  await withdraw(2_500)
})

test('a won dispute releases the amount', async () => {
  const report = await pay()
  await withdraw(7_000)
  await openDispute(report)
  for (let time = 0; time < 2; time++)
    expect(await winDispute(report)).toMatchObject({ status: 'won' })
  expect(await readBooks()).toMatchObject({ available: 3_000, disputed: 0, claim: 0 })
})

test('a lost dispute leaves the account, and what is missing is repaid first', async () => {
  const report = await pay()
  const held = await request(4_000)
  await withdraw(3_000)
  await openDispute(report)
  for (let time = 0; time < 2; time++)
    expect(await loseDispute(report)).toMatchObject({ status: 'lost' })
  expect(await readBooks()).toMatchObject({
    available: 0,
    disputed: 0,
    claim: 7_000,
    external: 3_000,
  })
  await expect(request(1_000)).rejects.toMatchObject({ code: 'insufficient_balance' })
  // A rejected withdrawal comes in, too.
  await rejectWithdrawal({ ...held, reason: { code: 'unspecified', params: {} } })
  expect(await readBooks()).toMatchObject({ available: 0, claim: 3_000 })
  await pay(3_400)
  expect(await readBooks()).toMatchObject({ available: 400, claim: 0 })
})

test('of a dispute that is lost in part, that part leaves the account and the rest is released', async () => {
  const report = await pay()
  await withdraw(7_000)
  await openDispute(report)
  for (let time = 0; time < 2; time++)
    expect(await loseDispute({ ...report, amount: 4_000 })).toMatchObject({
      status: 'lost',
      amount: BigInt(AMOUNT),
      lostAmount: 4_000n,
    })
  expect(await readBooks()).toMatchObject({ available: 0, disputed: 0, claim: 1_000 })
  expect(await openDispute(report)).toMatchObject({ status: 'lost' })
  await pay(3_000)
  expect(await readBooks()).toMatchObject({ available: 2_000, claim: 0 })
  expect(await itemsAbout(report)).toEqual([])
})

test('a dispute that is lost with more than was disputed takes what was disputed', async () => {
  const report = await pay()
  await openDispute({ ...report, amount: 4_000 })
  for (let time = 0; time < 2; time++)
    expect(await loseDispute(report)).toMatchObject({ status: 'lost', lostAmount: 4_000n })
  expect(await readBooks()).toMatchObject({ available: 6_000, disputed: 0, claim: 0 })
  const facts = { amount: AMOUNT, stored_amount: 4_000, stored_status: 'lost' }
  expect(await itemsAbout(report)).toMatchObject([{ kind: 'dispute_contradicted', facts }])
})

describe('the disputes and refunds of a charge take no more than was paid', () => {
  test('when it was refunded', async () => {
    const report = await pay()
    await pay(5_000)
    const { id: chargeId } = await db().charge.findFirstOrThrow({
      where: { endToEndId: report.endToEndId },
    })
    const { id: refundId } = await createRefund(merchant.id, 'test', chargeId, { amount: 3_000 })
    await completeRefund({ accountId: merchant.id, refundId, returnId: newId() })
    for (let time = 0; time < 2; time++)
      expect(await openDispute(report)).toMatchObject({ status: 'open', amount: 7_000n })
    expect(await readBooks()).toMatchObject({ available: 5_000, disputed: 7_000, held: 7_000 })
    for (let time = 0; time < 2; time++)
      expect(await loseDispute(report)).toMatchObject({ status: 'lost', lostAmount: 7_000n })
    expect(await readBooks()).toMatchObject({ available: 5_000, disputed: 0, claim: 0 })
    // Banks name the whole payment, whatever was refunded of it.
    expect(await itemsAbout(report)).toEqual([])
  })

  test('when it was refunded, and less or more is reported than what is left', async () => {
    const report = await pay()
    const { id: chargeId } = await db().charge.findFirstOrThrow({
      where: { endToEndId: report.endToEndId },
    })
    const { id: refundId } = await createRefund(merchant.id, 'test', chargeId, { amount: 3_000 })
    await completeRefund({ accountId: merchant.id, refundId, returnId: newId() })
    expect(await openDispute({ ...report, amount: 5_000 })).toMatchObject({ amount: 5_000n })
    for (const amount of [4_999, 8_000]) await openDispute({ ...report, amount })
    const items = await itemsAbout(report)
    expect(items.map(({ kind, facts }) => [kind, facts.amount, facts.stored_amount])).toEqual(
      [4_999, 8_000].map(amount => ['dispute_contradicted', amount, 5_000]),
    )
  })

  test('when all of it was refunded', async () => {
    const report = await pay()
    const { id: chargeId } = await db().charge.findFirstOrThrow({
      where: { endToEndId: report.endToEndId },
    })
    const { id: refundId } = await createRefund(merchant.id, 'test', chargeId, {})
    await completeRefund({ accountId: merchant.id, refundId, returnId: newId() })
    for (const operation of [openDispute, loseDispute]) expect(await operation(report)).toBeNull()
    expect(await readBooks()).toMatchObject({ available: 0, disputed: 0, claim: 0 })
    expect((await itemsAbout(report)).map(({ kind, facts }) => [kind, facts.status])).toEqual(
      ['open', 'lost'].map(status => ['dispute_unmatched', status]),
    )
  })

  test('when several are reported at once', async () => {
    const report = await pay()
    await pay(5_000)
    const reports = [1, 2, 3].map(() => ({ ...report, bankId: newId(), amount: 4_000 }))
    const disputes = await Promise.all(reports.map(report => openDispute(report)))
    const amounts = disputes.map(dispute => Number(dispute?.amount))
    expect(amounts.toSorted((one, other) => one - other)).toEqual([2_000, 4_000, 4_000])
    expect(await readBooks()).toMatchObject({ available: 5_000, disputed: AMOUNT })
    const open = reports[amounts.indexOf(4_000)]
    await winDispute(open as DisputeReport)
    expect(
      (await Promise.all(reports.map(report => loseDispute(report))))
        .map(row => row?.status)
        .sort(),
    ).toEqual(['lost', 'lost', 'won'])
    expect(await readBooks()).toMatchObject({ available: 9_000, disputed: 0 })
  })
})

test('payments that are settled together repay in their order, each with its own entry', async () => {
  const report = await pay()
  await withdraw(AMOUNT)
  await openDispute(report)
  const charges = await Promise.all(
    [3_000, 4_000, 5_000, 6_000].map(amount => openCharge(merchant, amount)),
  )
  await receivePayments(
    charges.map(({ id, amount }) => ({
      accountId: merchant.id,
      chargeId: id,
      payments: [makePayment(Number(amount))],
    })),
  )
  expect(await readBooks()).toMatchObject({ available: 8_000, disputed: AMOUNT, held: AMOUNT })
  const repaid = await db().ledgerTransfer.findMany({
    where: { accountId: merchant.id, kind: 'owed_repaid' },
    orderBy: { subjectId: 'asc' },
  })
  const ids = charges.map(({ id }) => id).toSorted()
  expect(repaid.map(({ subjectId }) => subjectId)).toEqual(ids.slice(0, repaid.length))
  expect(repaid.reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(AMOUNT)
})

describe('reports in another order', () => {
  test('lost without an open dispute is held and leaves at once', async () => {
    const report = await pay()
    await withdraw(4_000)
    for (let time = 0; time < 2; time++) await loseDispute(report)
    expect(await openDispute(report)).toMatchObject({ status: 'lost' })
    expect(await readBooks()).toMatchObject({ available: 0, disputed: 0, claim: 4_000 })
  })

  test('won without an open dispute moves nothing, and opening it later neither', async () => {
    const report = await pay()
    await winDispute(report)
    expect(await openDispute(report)).toMatchObject({ status: 'won' })
    expect(await readBooks()).toMatchObject({ available: AMOUNT, disputed: 0 })
  })

  test.each([
    ['lost', loseDispute, winDispute],
    ['won', winDispute, loseDispute],
  ] as const)(
    'the contrary of %s goes to the differences and changes nothing',
    async (status, first, then) => {
      const report = await pay()
      await openDispute(report)
      await first(report)
      const before = await readBooks()
      for (let time = 0; time < 2; time++) expect(await then(report)).toMatchObject({ status })
      expect(await readBooks()).toEqual(before)
      const items = await itemsAbout(report)
      const reported = status === 'won' ? 'lost' : 'won'
      const facts = {
        status: reported,
        amount: AMOUNT,
        stored_status: status,
        stored_amount: AMOUNT,
      }
      expect(items).toMatchObject([{ kind: 'dispute_contradicted', facts }])
    },
  )
})

test('a dispute is won while another one begins, and what the account owes since then is repaid', async () => {
  const [first, second] = [await pay(), await pay()]
  await request(8_000)
  await openDispute(first)
  let works: Promise<unknown>[] = []
  await db().$transaction(
    async tx => {
      await lockBooks(tx, merchant.id, 'test')
      works = [openDispute(second)]
      await untilLocked(1)
      works.push(winDispute(first))
      await untilLocked(2)
    },
    { timeout: 60_000 },
  )
  await Promise.all(works)
  expect(await readBooks()).toMatchObject({ available: 2_000, disputed: AMOUNT, held: AMOUNT })
})

test.each([
  ['of a payment that paid no charge', { endToEndId: newEndToEndId() }],
  ['of more than the charge', { amount: AMOUNT + 1 }],
  ['of another connection', { connectionId: null }],
])('a dispute %s goes to the differences', async (_, changes) => {
  const other = newId()
  await db().connection.create({
    data: { id: other, name: other, kind: 'efi', environment: 'homologation', settings: {} },
  })
  const report = { ...(await pay()), ...changes }
  const connectionId = report.connectionId ?? other
  for (const operation of [openDispute, loseDispute, winDispute])
    expect(await operation({ ...report, connectionId })).toBeNull()
  expect(await readBooks()).toMatchObject({ available: AMOUNT, disputed: 0 })
  const items = await itemsAbout(report)
  expect(items.map(({ kind, facts }) => `${kind} ${facts.status}`)).toEqual(
    ['open', 'lost', 'won'].map(status => `dispute_unmatched ${status}`),
  )
})

describe('a claim', () => {
  const ACTOR = { type: 'command_line' } as const
  const loseAll = async () => {
    const report = await pay()
    await withdraw(AMOUNT)
    await loseDispute(report)
  }

  test('is written off in parts with a reason, audited, and paid by the operator', async () => {
    await loseAll()
    const own = async () =>
      Number(
        (
          await db().ledgerAccount.findFirstOrThrow({
            where: { accountId: OPERATOR_ACCOUNT_ID, mode: 'test', ledger: 'own' },
          })
        ).balance,
      )
    const before = await own()
    const part = { amount: 4_000, reason: 'agreed by phone' }
    expect(await writeOffClaim(merchant.id, 'test', part, ACTOR)).toBe(4_000)
    expect(await readBooks()).toMatchObject({ available: 0, claim: 6_000, external: 6_000 })
    expect(await writeOffClaim(merchant.id, 'test', { reason: 'rest' }, ACTOR)).toBe(6_000)
    expect(await readBooks()).toMatchObject({ available: 0, claim: 0, external: 0 })
    expect(await own()).toBe(before - AMOUNT)
    const records = await db().auditRecord.findMany({
      where: { accountId: merchant.id, action: 'account.claim_written_off' },
      orderBy: { id: 'asc' },
    })
    expect(records).toMatchObject([
      { reason: 'agreed by phone', after: { mode: 'test', amount: 4_000 } },
      { reason: 'rest', after: { amount: 6_000 } },
    ])
  })

  test('is not written off beyond its amount, nor what is missing for an open dispute', async () => {
    const refused = (amount?: number) =>
      writeOffClaim(merchant.id, 'test', { amount, reason: 'no' }, ACTOR)
    await expect(refused()).rejects.toMatchObject({ code: 'not_found' })
    const report = await pay()
    await withdraw(AMOUNT)
    await openDispute(report)
    await expect(refused()).rejects.toMatchObject({ code: 'not_found' })
    await loseDispute(report)
    await expect(refused(AMOUNT + 1)).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await refused()).toBe(AMOUNT)
  })
})

test("the database refuses another id of the bank, another charge, and a dispute's removal", async () => {
  const { bankId } = (await openDispute(await pay())) ?? expect.unreachable()
  const where = { bankId }
  for (const change of [
    () => db().dispute.updateMany({ where, data: { bankId: newId() } }),
    () => db().dispute.updateMany({ where, data: { chargeId: newId() } }),
    () => runAsOwner(`DELETE FROM disputes WHERE bank_id = '${bankId}'`),
  ])
    await expect(change()).rejects.toThrow('append-only')
})

test('the database refuses an available balance while something is owed', async () => {
  const report = await pay()
  await withdraw(AMOUNT)
  await openDispute(report)
  const credit = withOwner(
    owner => owner.$executeRaw`
    UPDATE ledger_accounts SET balance = 1
    WHERE account_id = ${merchant.id}::uuid AND mode = 'test' AND ledger = 'available'`,
  )
  await expect(credit).rejects.toThrow('ledger_accounts_owed_first')
})
