import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { loseDispute, openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import type { DisputeReport } from '#lib/charges/disputes/schema.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { completeRefund, createRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { assessDisputes, lockBooks } from '#lib/ledger/owed.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { untilLocked } from '#lib/testing/waiting.ts'

inOwnDatabase()

const AMOUNT = 10_000
/** Covers every refund, so that only the charge limits them. */
const OTHER_MONEY = 50_000
const REASON = { code: 'unspecified', params: {}, bankText: null } as const

const problem = (text: string) => ({
  code: 'refund_exceeds_remainder',
  fields: { amount: [`amount ${text}`] },
})
const atMost = (left: number) => problem(`must be at most ${left}, the amount left to refund`)
const IS_DISPUTED = problem(
  'cannot be refunded while the payer disputes the charge: try again when the dispute has ended',
)
const IS_LOST = problem(
  'cannot be refunded: refunds and lost disputes already cover the whole charge',
)
const IS_REFUNDED = problem('cannot be refunded: refunds already cover the whole charge')

let merchant: Account
let chargeId: string
let endToEndId: string
beforeEach(async () => {
  merchant = await makeMerchant()
  await fundMerchant(merchant, OTHER_MONEY)
  chargeId = (await openCharge(merchant, AMOUNT)).id
  const payment = makePayment(AMOUNT)
  endToEndId = payment.endToEndId
  await receivePayments([{ accountId: merchant.id, chargeId, payments: [payment] }])
})
afterEach(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

const reportOf = (amount = AMOUNT): DisputeReport => ({
  connectionId: SIMULATOR_CONNECTION_ID,
  bankId: newId(),
  endToEndId,
  amount,
})

async function open(amount = AMOUNT): Promise<DisputeReport> {
  const report = reportOf(amount)
  expect(await openDispute(report)).toMatchObject({ status: 'open' })
  return report
}

const refund = (amount?: number) => createRefund(merchant.id, 'test', chargeId, { amount })
const settlementOf = (refundId: string) => ({ accountId: merchant.id, refundId })
const complete = (id: string) => completeRefund({ ...settlementOf(id), returnId: newId() })

async function readBooks() {
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: merchant.id, mode: 'test' },
  })
  const balances = Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, balance]))
  return { ...assessDisputes(balances), outbound: Number(balances.outbound) }
}

/** Starts the works in turn, each once the one before waits for the balance or the charge. */
async function queue(
  ...starts: (() => Promise<unknown>)[]
): Promise<PromiseSettledResult<unknown>[]> {
  const works: Promise<PromiseSettledResult<unknown>[]>[] = []
  await db().$transaction(
    async tx => {
      await lockBooks(tx, merchant.id, 'test')
      for (const start of starts) {
        works.push(Promise.allSettled([start()]))
        await untilLocked(works.length)
      }
    },
    { timeout: 60_000 },
  )
  return (await Promise.all(works)).flat()
}

describe('what is disputed cannot be refunded', () => {
  test('in full, until the dispute is won', async () => {
    const report = await open()
    for (const amount of [undefined, 1, AMOUNT])
      await expect(refund(amount)).rejects.toMatchObject(IS_DISPUTED)
    await winDispute(report)
    expect(await refund()).toMatchObject({ amount: AMOUNT })
  })

  test('in part, and the rest of the charge can', async () => {
    const report = await open(4_000)
    await expect(refund(6_001)).rejects.toMatchObject(atMost(6_000))
    expect(await refund(1_000)).toMatchObject({ amount: 1_000 })
    await expect(refund(5_001)).rejects.toMatchObject(atMost(5_000))
    expect(await refund()).toMatchObject({ amount: 5_000 })
    for (const amount of [undefined, 1])
      await expect(refund(amount)).rejects.toMatchObject(IS_DISPUTED)
    await winDispute(report)
    expect(await refund()).toMatchObject({ amount: 4_000 })
    await expect(refund()).rejects.toMatchObject(IS_REFUNDED)
  })

  test('by several disputes, each for its own amount', async () => {
    const reports = [await open(4_000), await open(3_000)]
    await expect(refund(3_001)).rejects.toMatchObject(atMost(3_000))
    await winDispute(reports[0] as DisputeReport)
    await loseDispute(reports[1] as DisputeReport)
    await expect(refund(7_001)).rejects.toMatchObject(atMost(7_000))
    expect(await refund()).toMatchObject({ amount: 7_000 })
    await expect(refund()).rejects.toMatchObject(IS_LOST)
  })

  test('while a dispute of another charge limits nothing', async () => {
    await open()
    const { id } = await openCharge(merchant, AMOUNT)
    await receivePayments([
      { accountId: merchant.id, chargeId: id, payments: [makePayment(AMOUNT)] },
    ])
    const row = await createRefund(merchant.id, 'test', id, {})
    expect(row).toMatchObject({ amount: AMOUNT })
  })
})

describe('what was lost cannot be refunded', () => {
  test('in full', async () => {
    await loseDispute(await open())
    for (const amount of [undefined, 1]) await expect(refund(amount)).rejects.toMatchObject(IS_LOST)
  })

  test('in part, and what was released can', async () => {
    await loseDispute({ ...(await open()), amount: 2_500 })
    await expect(refund(7_501)).rejects.toMatchObject(atMost(7_500))
    expect(await refund()).toMatchObject({ amount: 7_500 })
    await expect(refund()).rejects.toMatchObject(IS_LOST)
  })
})

describe('a dispute of a charge with a refund', () => {
  test('takes its whole amount while the bank has not completed the refund', async () => {
    const { id } = await refund(4_000)
    const report = await open()
    expect(await readBooks()).toMatchObject({
      available: OTHER_MONEY - 4_000,
      outbound: 4_000,
      disputed: AMOUNT,
      held: AMOUNT,
    })
    await expect(refund(1)).rejects.toMatchObject(IS_DISPUTED)
    await rejectRefund({ ...settlementOf(id), reason: REASON })
    await expect(refund(1)).rejects.toMatchObject(IS_DISPUTED)
    await winDispute(report)
    expect(await refund()).toMatchObject({ amount: AMOUNT })
  })

  test('says that refunds cover the charge where its end would leave nothing', async () => {
    await refund()
    await open()
    await expect(refund()).rejects.toMatchObject(IS_REFUNDED)
  })

  test('takes what a completed refund leaves', async () => {
    await complete((await refund(4_000)).id)
    expect(await openDispute(reportOf())).toMatchObject({ status: 'open', amount: 6_000n })
    await expect(refund(1)).rejects.toMatchObject(IS_DISPUTED)
  })
})

describe('at the same time', () => {
  test('a refund that waits for the charge sees the dispute that was opened meanwhile', async () => {
    const [dispute, refused] = await queue(
      () => openDispute(reportOf(4_000)),
      () => refund(6_001),
    )
    expect(dispute).toMatchObject({ value: { status: 'open' } })
    expect(refused).toMatchObject({ reason: atMost(6_000) })
    expect(await refund()).toMatchObject({ amount: 6_000 })
  })

  test('a refund that waits for the charge sees the dispute that was won meanwhile', async () => {
    const report = await open()
    const [, made] = await queue(
      () => winDispute(report),
      () => refund(),
    )
    expect(made).toMatchObject({ value: { amount: AMOUNT } })
  })

  test('a dispute that waits for a refund is held beside it', async () => {
    const [made, dispute] = await queue(
      () => refund(4_000),
      () => openDispute(reportOf()),
    )
    expect(made).toMatchObject({ value: { amount: 4_000 } })
    expect(dispute).toMatchObject({ value: { status: 'open' } })
    expect(await readBooks()).toMatchObject({
      available: OTHER_MONEY - 4_000,
      outbound: 4_000,
      disputed: AMOUNT,
      held: AMOUNT,
    })
  })
})
