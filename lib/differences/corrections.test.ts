import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import { newId, OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db, transaction } from '#lib/db/client.ts'
import {
  approveCorrection,
  type CorrectionRequest,
  correctAlone,
  proposeCorrection,
} from '#lib/differences/corrections.ts'
import { type DayItem, reportDay } from '#lib/differences/day-items.ts'
import { noteItem } from '#lib/differences/differences.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { assessDisputes } from '#lib/ledger/owed.ts'
import { acknowledgeItem } from '#lib/operator/differences/differences.ts'
import { readItem } from '#lib/operator/differences/evidence.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, connectBank, fundLive } from '#lib/testing/connection.ts'
import { keepStray, operatorBalances } from '#lib/testing/differences.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { readMails } from '#lib/testing/mailbox.ts'
import { SINCE_LONG, VERIFIED } from '#lib/testing/verified.ts'

// A database of its own: who else is an admin decides what the command line may do.
inOwnDatabase()

const DAY = '2026-11-20'
const PDF = Buffer.from('%PDF-1.7 statement of the bank')
const REASON = 'A TED from the head office, by the statement'
const FUNDS = 10_000

let merchant: Account
let bank: StubBank
let connectionId: string
let first: string
let second: string
beforeAll(async () => {
  first = await makeAdmin()
  second = await makeAdmin()
})
beforeEach(async () => {
  bank = new StubBank()
  merchant = await makeMerchant()
  connectionId = await connectBank(bank, merchant)
  await fundLive(merchant, FUNDS)
})

async function makeAdmin(): Promise<string> {
  const email = `admin-${newId()}@troco.example`
  const data = { id: newId(), email, name: email, isAdmin: true, ...SINCE_LONG, ...VERIFIED }
  return (await db().user.create({ data })).id
}

type Sides = { what: string; bank?: number; ours?: number }

/** Reports one difference of a day, as the reading of the day finds it. Returns its id. */
async function report({ what, bank: there, ours }: Sides, key = newId()): Promise<string> {
  const kind =
    ours === undefined
      ? 'day_missing_here'
      : there === undefined
        ? 'day_missing_there'
        : 'day_different'
  const facts = {
    what,
    day: DAY,
    bank: there === undefined ? null : { amount: there },
    ours: ours === undefined ? null : { amount: ours, state: 'booked' },
  }
  await reportAll([{ kind, key, facts }])
  return (await db().difference.findFirstOrThrow({ where: { connectionId, key } })).id
}
const reportAll = (items: DayItem[]) =>
  transaction(tx => reportDay(tx, { connectionId, day: DAY }, items))

const request = (itemId: string, changes: Partial<CorrectionRequest> = {}): CorrectionRequest => ({
  itemId,
  from: 'bank',
  to: 'operator',
  amount: 2_500,
  reason: REASON,
  attachment: PDF,
  ...changes,
})
async function correct(itemId: string, changes: Partial<CorrectionRequest> = {}): Promise<string> {
  const id = await proposeCorrection(request(itemId, changes), first)
  await approveCorrection(id, itemId, second)
  return id
}
const itemOf = (id: string) => db().difference.findUniqueOrThrow({ where: { id } })
const owedBy = async (accountId: string) => {
  const rows = await db().ledgerAccount.findMany({ where: { accountId, mode: 'live' } })
  const { available, claim } = assessDisputes(
    Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, balance])),
  )
  return { available, claim }
}
async function expectRightBooks(): Promise<void> {
  const { findings } = await verifyLedger(db())
  expect(findings.filter(({ violation }) => violation !== null)).toEqual([])
}
/** The balance of the connection, if the bank has this much more than the books. */
async function restWith(more: number) {
  const { terms } = await readConnectionBalance(connectionId)
  const before = terms.opening + terms.books
  return {
    terms,
    rest: FUNDS + more - before - terms.payments - terms.fees - terms.others - terms.acknowledged,
  }
}

describe('two admins settle a difference with an entry', () => {
  test('the account at the bank was funded by transfer: the operator has it, and nothing is left', async () => {
    const own = (await operatorBalances('live')).own ?? 0
    const itemId = await report({ what: 'transfer', bank: 2_500 })
    expect(await restWith(2_500)).toMatchObject({ terms: { others: 2_500 }, rest: 0 })
    await correct(itemId)
    expect(await restWith(2_500)).toMatchObject({ terms: { others: 0, acknowledged: 0 }, rest: 0 })
    expect((await operatorBalances('live')).own).toBe(own + 2_500)
    expect(await itemOf(itemId)).toMatchObject({ resolution: 'correct', resolvedBy: second })
    // The next reading of the day finds it again.
    const { key, facts, kind } = await itemOf(itemId)
    await reportAll([{ kind, key, facts } as DayItem])
    expect(await itemOf(itemId)).toMatchObject({ resolution: 'correct' })
    expect(await restWith(2_500)).toMatchObject({ rest: 0 })
    await expectRightBooks()
  })

  test('a fee is paid by the operator', async () => {
    const own = (await operatorBalances('live')).own ?? 0
    const itemId = await report({ what: 'fee', bank: -90 })
    await correct(itemId, { from: 'operator', to: 'bank', amount: 90 })
    expect((await operatorBalances('live')).own).toBe(own - 90)
    expect(await restWith(-90)).toMatchObject({ terms: { fees: 0 }, rest: 0 })
    await expectRightBooks()
  })

  test('a merchant never goes below zero: the rest is owed', async () => {
    const itemId = await report({ what: 'refund', bank: -12_000 })
    await correct(itemId, { from: merchant.id, to: 'bank', amount: 12_000 })
    expect(await owedBy(merchant.id)).toEqual({ available: 0, claim: 2_000 })
    expect(await restWith(-12_000)).toMatchObject({ terms: { others: 0 }, rest: 0 })
    await fundLive(merchant, 5_000)
    expect(await owedBy(merchant.id)).toEqual({ available: 3_000, claim: 0 })
    await expectRightBooks()
  })

  test('a merchant gets money that only the bank has, and repays first what it owes', async () => {
    const lost = await report({ what: 'refund', bank: -12_000 })
    await correct(lost, { from: merchant.id, to: 'bank', amount: 12_000 })
    const found = await report({ what: 'payment', bank: 2_500 })
    await correct(found, { to: merchant.id })
    expect(await owedBy(merchant.id)).toEqual({ available: 500, claim: 0 })
    await expectRightBooks()
  })

  test('what both have, with another amount, is settled by the amount that differs', async () => {
    const itemId = await report({ what: 'payment', bank: 900, ours: 1_000 })
    expect((await readItem(itemId))?.correction_terms).toEqual({
      from: null,
      to: 'bank',
      amount: 100,
      isWithBank: true,
    })
    await correct(itemId, { from: merchant.id, to: 'bank', amount: 100 })
    expect(await restWith(-100)).toMatchObject({ rest: 0 })
    await expectRightBooks()
  })

  test('an order that people ended and the bank contradicts, with the item of the day about it', async () => {
    const withdrawalId = newId()
    const facts = {
      bank_reports: 'done',
      ended_as: 'not_sent',
      withdrawal_id: withdrawalId,
      amount: 700,
    }
    const key = removeHyphens(withdrawalId)
    await transaction(tx => noteItem(tx, { connectionId, kind: 'order_contradicted', key, facts }))
    const { id } = await db().difference.findFirstOrThrow({ where: { connectionId, key } })
    const ofDay: DayItem = {
      kind: 'day_different',
      key: newId(),
      facts: {
        what: 'payout',
        day: DAY,
        bank: { amount: -700 },
        ours: { amount: -700, state: 'rejected', withdrawal_id: withdrawalId },
      },
    }
    await reportAll([ofDay])
    await correct(id, { from: merchant.id, to: 'bank', amount: 700 })
    expect(await restWith(-700)).toMatchObject({ terms: { others: 0 }, rest: 0 })
    await reportAll([ofDay])
    expect(await restWith(-700)).toMatchObject({ terms: { others: 0 }, rest: 0 })
    await expectRightBooks()
  })

  test.each(['withdrawal', 'return'])(
    'an item of a day about a %s that people ended, once: the contradiction is settled with it',
    async kind => {
      const orderId = newId()
      const key = removeHyphens(orderId)
      const name = kind === 'withdrawal' ? 'withdrawal_id' : 'order_id'
      const facts = { bank_reports: 'done', ended_as: 'not_sent', [name]: orderId, amount: 700 }
      const item = { connectionId, kind: 'order_contradicted', key, facts } as const
      await transaction(tx => noteItem(tx, item))
      const { id } = await db().difference.findFirstOrThrow({ where: { connectionId, key } })
      const ours = { amount: -700, state: 'rejected', withdrawal_id: orderId }
      const ofDay: DayItem = {
        kind: kind === 'withdrawal' ? 'day_different' : 'day_missing_here',
        key: newId(),
        facts: {
          what: kind === 'withdrawal' ? 'payout' : 'refund',
          day: DAY,
          bank: { amount: -700, order_id: key },
          ours: kind === 'withdrawal' ? ours : null,
        },
      }
      await reportAll([ofDay])
      const where = { connectionId, key: ofDay.key }
      const { id: ofDayId } = await db().difference.findFirstOrThrow({ where })
      const entry = { from: 'operator', to: 'bank', amount: 700 }
      await correct(kind === 'withdrawal' ? ofDayId : id, entry)
      expect(await itemOf(id)).toMatchObject({ resolvedAt: expect.any(Date) })
      expect(await itemOf(ofDayId)).toMatchObject({ resolvedAt: expect.any(Date) })
      for (const each of [id, ofDayId])
        await expect(correct(each, entry)).rejects.toMatchObject({ code: 'correction_refused' })
      await reportAll([ofDay])
      expect(await restWith(-700)).toMatchObject({ terms: { others: 0 }, rest: 0 })
      await expectRightBooks()
    },
  )

  test('unmatched money that has left the bank leaves the books', async () => {
    const before = await operatorBalances('live')
    const { itemId } = await keepStray(1_200, { connectionId, mode: 'live' })
    await correct(itemId, { from: 'operator', to: 'bank', amount: 1_200 })
    expect(await operatorBalances('live')).toEqual(before)
    await expectRightBooks()
  })

  test('unmatched money leaves the books without what the bank has given back of it', async () => {
    const before = await operatorBalances('live')
    const { itemId, payment } = await keepStray(1_200, { connectionId, mode: 'live' })
    const nature = 'ORIGINAL'
    const part = { id: newId(), orderId: null, amount: 500, nature, returnedAt: new Date() }
    await bookReturns(connectionId, [{ ...payment, returns: [part] }])
    expect((await readItem(itemId))?.correction_terms).toMatchObject({ amount: 700 })
    await correct(itemId, { from: 'operator', to: 'bank', amount: 700 })
    expect(await operatorBalances('live')).toEqual(before)
    await expectRightBooks()
  })

  test('money of a connection for homologation is of test mode', async () => {
    const environment = { environment: 'homologation', isAssignable: false }
    const place = { connectionId: await addConnection(bank, environment), mode: 'test' } as const
    const [live, trial] = [await operatorBalances('live'), await operatorBalances('test')]
    const { itemId } = await keepStray(1_200, place)
    await correct(itemId, { from: 'operator', to: 'bank', amount: 1_200 })
    expect(await operatorBalances('live')).toEqual(live)
    expect(await operatorBalances('test')).toEqual(trial)
    await expectRightBooks()
  })

  test('a dispute that fits nothing moves money between a merchant and the operator only', async () => {
    const facts = { amount: 300 }
    const key = newId()
    await transaction(tx => noteItem(tx, { connectionId, kind: 'dispute_unmatched', key, facts }))
    const { id } = await db().difference.findFirstOrThrow({ where: { connectionId, key } })
    const withBank = { from: 'operator', to: 'bank', amount: 300 }
    await expect(correct(id, withBank)).rejects.toMatchObject({ fields: { to: expect.any(Array) } })
    await correct(id, { from: merchant.id, to: 'operator', amount: 300 })
    expect(await readBalances(merchant.id, 'live')).toMatchObject({ available: FUNDS - 300 })
    expect(await restWith(0)).toMatchObject({ rest: 0 })
    await expectRightBooks()
  })
})

describe('an entry is refused', () => {
  test.each([
    ['of another amount', { amount: 2_499 }],
    ['in the other direction', { from: 'operator', to: 'bank' }],
    ['to an unknown account', { to: newId() }],
    ['with a file that is none', { attachment: Buffer.from('<html>%PDF-') }],
  ])('%s', async (_, changes) => {
    const itemId = await report({ what: 'transfer', bank: 2_500 })
    await expect(correct(itemId, changes)).rejects.toMatchObject({ code: 'invalid_input' })
    expect((await itemOf(itemId)).resolvedAt).toBeNull()
  })

  test('without a second admin, after a day, replaced, or twice', async () => {
    const itemId = await report({ what: 'transfer', bank: 2_500 })
    const id = await proposeCorrection(request(itemId), first)
    await expect(approveCorrection(id, itemId, first)).rejects.toMatchObject({
      code: 'end_by_other',
    })
    await expect(correctAlone(request(itemId))).rejects.toMatchObject({
      code: 'correction_refused',
    })
    const next = await proposeCorrection(request(itemId, { reason: 'Once more' }), second)
    const refused = { code: 'correction_refused' }
    await expect(approveCorrection(id, itemId, second)).rejects.toMatchObject(refused)
    await approveCorrection(next, itemId, first)
    await expect(approveCorrection(next, itemId, first)).rejects.toMatchObject(refused)
    await expect(correct(itemId)).rejects.toMatchObject(refused)
    await expectRightBooks()
  })

  test('of 10 approvals at once, one books', async () => {
    const itemId = await report({ what: 'transfer', bank: 2_500 })
    const id = await proposeCorrection(request(itemId), first)
    const all = Array.from({ length: 10 }, () => approveCorrection(id, itemId, second))
    const ended = await Promise.allSettled(all)
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await db().ledgerTransfer.count({ where: { subjectId: id } })).toBe(1)
  })

  test('by the database, with one person, another file, or changed terms', async () => {
    const itemId = await report({ what: 'transfer', bank: 2_500 })
    const id = await proposeCorrection(request(itemId), first)
    const change = (data: object) => db().correction.updateMany({ where: { id }, data })
    await expect(change({ bookedAt: new Date(), approvedBy: first })).rejects.toThrow()
    await expect(change({ amount: 1n })).rejects.toThrow()
    await expect(change({ attachment: new Uint8Array([1]) })).rejects.toThrow()
  })
})

test('an acknowledged difference stays in the balance for ever, and can still be settled', async () => {
  const itemId = await report({ what: 'transfer', bank: 2_500 })
  const actor = { type: 'user', id: first } as const
  await acknowledgeItem({ itemId, reason: 'Seen', actor })
  expect(await restWith(2_500)).toMatchObject({
    terms: { others: 0, acknowledged: 2_500 },
    rest: 0,
  })
  await correct(itemId)
  expect(await restWith(2_500)).toMatchObject({ terms: { acknowledged: 0 }, rest: 0 })
  await expectRightBooks()
})

test('both steps are audited with reason and people, and everybody who must know is mailed', async () => {
  const itemId = await report({ what: 'payment', bank: 2_500 })
  await db().mail.deleteMany()
  const id = await correct(itemId, { to: merchant.id })
  const records = await db().auditRecord.findMany({
    where: { target: itemId },
    orderBy: { id: 'asc' },
  })
  const after = { correction_id: id, mode: 'live', from: 'bank', to: merchant.id, amount: 2_500 }
  const shared = { accountId: merchant.id, reason: REASON, after }
  expect(records).toMatchObject([
    { action: 'difference.correction_proposed', actorId: first, ...shared },
    { action: 'difference.corrected', actorId: second, ...shared },
  ])
  const subjects = (await readMails()).map(({ subject }) => subject)
  expect(subjects.length).toBeGreaterThanOrEqual(5)
  expect(await db().ledgerTransfer.findMany({ where: { subjectId: id } })).toMatchObject([
    { accountId: merchant.id, kind: 'corrected', debit: 'external', credit: 'available' },
  ])
  expect(OPERATOR_ACCOUNT_ID).not.toBe(merchant.id)
})
