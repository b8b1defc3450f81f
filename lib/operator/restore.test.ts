import { beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { isMoneyOutClosed, readClosures } from '#lib/banks/closures.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import type { Reading } from '#lib/core/metrics.ts'
import { db } from '#lib/db/client.ts'
import { acknowledgeItem } from '#lib/operator/differences/differences.ts'
import { examineGateways } from '#lib/operator/gateways.ts'
import { readDatabaseMetrics } from '#lib/operator/metrics.ts'
import { beginRestore, openAlone, openMoneyOut } from '#lib/operator/restore.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive, openLiveCharge, replaceBank } from '#lib/testing/connection.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import {
  changeOrder,
  letWait,
  orderOf,
  sendDueRefunds,
  sendDueWithdrawals,
} from '#lib/testing/orders.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { copyNow, ListingBank, readRestored, restore } from '#lib/testing/restore.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { declineRequest, expireWaitingWithdrawals } from '#lib/withdrawals/approval.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

const COMMAND_LINE = { type: 'command_line' } as const
const FUNDS = 20_000
const AMOUNT = 5_000

let bank: ListingBank
let merchant: Account
let connectionId: string
beforeEach(async () => {
  bank = new ListingBank()
  merchant = await makeMerchant()
  connectionId = await connectBank(bank, merchant)
  await fundLive(merchant, FUNDS)
})

async function withdraw(amount = AMOUNT, key = 'ana@example.com'): Promise<string> {
  const order = { pixKeyType: 'email', pixKey: key, dictKey: key } as const
  return (await insertWithdrawal(merchant.id, 'live', { amount, ...order, connectionId })).id
}
const readAvailable = async () => (await readBalances(merchant.id, 'live')).available
const find = (id: string) => db().withdrawal.findFirst({ where: { accountId: merchant.id, id } })
const listItems = () => db().difference.findMany({ where: { connectionId, resolvedAt: null } })
const countSent = (id: string) =>
  bank.sentOrders.filter(order => order.id === removeHyphens(id)).length

/** Ends the wait for a second member. */
async function release(id: string): Promise<void> {
  await db().$executeRaw`UPDATE withdrawals SET approval_due_at = NULL WHERE id = ${id}::uuid`
  await changeOrder(id, { state: 'waiting', dueAt: new Date() })
}

/** Has the bank pay out what is due, and the books follow. */
async function payOut(): Promise<void> {
  await sendDueWithdrawals()
  bank.settle()
}

describe('beginning', () => {
  test('closes money out and changes the feeds once per restore point', async () => {
    const at = new Date()
    const begun = await beginRestore(at, COMMAND_LINE)
    expect(begun).toMatchObject({ isNew: true })
    expect(await isMoneyOutClosed(connectionId)).toBe(true)
    const readFeed = () =>
      db().eventSequence.findFirstOrThrow({ where: { accountId: merchant.id, mode: 'live' } })
    const feed = await readFeed()
    expect(feed.last).toBe(2n ** 32n)
    const again = await beginRestore(at, COMMAND_LINE)
    expect(again).toMatchObject({ isNew: false, begunAt: begun.begunAt, feeds: 0, connections: 0 })
    expect(await readFeed()).toEqual(feed)
    const actions = await db().auditRecord.findMany({ where: { action: 'restore.begun' } })
    expect(actions.at(-1)?.after).toMatchObject({ restored_to: at.toISOString() })
  })

  test('closes money out for the restore that left a mark, also if an earlier point is named', async () => {
    const earlier = new Date(Date.now() - 60_000)
    await beginRestore(earlier, COMMAND_LINE)
    await db()
      .$executeRaw`UPDATE restore_closures SET opened_at = now(), due_at = NULL, opened_by = 'readings'`
    const marked = new Date()
    await db().$executeRaw`INSERT INTO restore_marks (restored_to) VALUES (${marked})`
    expect(await beginRestore(earlier, COMMAND_LINE)).toMatchObject({
      isNew: true,
      restoredTo: marked,
    })
    expect(await isMoneyOutClosed(connectionId)).toBe(true)
  })

  test('reads the lists of banks from before the last sign of a worker, if the point is named too late', async () => {
    const sinceOf = async (at: Date) => {
      await beginRestore(at, COMMAND_LINE)
      const restored = { restore: { restoredTo: at } }
      const where = { connectionId, ...restored }
      return (await db().restoreClosure.findFirstOrThrow({ where })).since
    }
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    const beforeOf = (at: Date) => new Date(at.getTime() - 10 * 60_000)
    const lastBeat = minutesAgo(90)
    const beats = [lastBeat, minutesAgo(200)].map(beatAt => ({ beatAt, id: newId() }))
    await db().workerHeartbeat.createMany({
      data: beats.map(beat => ({ ...beat, host: 'worker', pid: 1 })),
    })
    const [late, early] = [minutesAgo(1), minutesAgo(120)]
    expect(await sinceOf(late)).toEqual(beforeOf(lastBeat))
    expect(await sinceOf(early)).toEqual(beforeOf(early))
    await db().workerHeartbeat.deleteMany()
  })

  test('leaves nothing half written if it dies on the way', async () => {
    await runAsOwner(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'dies'; END $$;
      CREATE TRIGGER dies BEFORE INSERT ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
    const at = new Date()
    const count = async () =>
      Promise.all([db().restore.count(), db().restoreClosure.count(), db().feedEpoch.count()])
    const before = await count()
    await expect(beginRestore(at, COMMAND_LINE)).rejects.toThrow('dies')
    await runAsOwner('DROP TRIGGER dies ON audit_log; DROP FUNCTION fail()')
    expect(await count()).toEqual(before)
    expect(await beginRestore(at, COMMAND_LINE)).toMatchObject({ isNew: true })
  })

  test('is refused for a time to come', async () => {
    const future = new Date(Date.now() + 60_000)
    await expect(beginRestore(future, COMMAND_LINE)).rejects.toThrow('must be a time in the past')
  })
})

describe('after a restore', () => {
  test('a payout that the restore has lost is a difference, and nothing is sent before people have settled it', async () => {
    const point = await copyNow()
    const id = await withdraw()
    await payOut()
    await restore(point)
    const waiting = await withdraw(1_000, 'bia@example.com')
    for (let times = 0; times < 2; times++) await readRestored()
    const [item, ...more] = await listItems()
    expect([item, more]).toMatchObject([
      {
        kind: 'payout_unbooked',
        key: removeHyphens(id),
        facts: { cause: 'order_unknown', amount: AMOUNT, account_id: null },
      },
      [],
    ])
    expect([await find(id), await readAvailable()]).toEqual([null, FUNDS - 1_000])
    expect([await isMoneyOutClosed(connectionId), await sendDueWithdrawals()]).toEqual([true, 0])
    await acknowledgeItem({ itemId: item?.id ?? '', reason: 'Agreed', actor: COMMAND_LINE })
    await readRestored()
    expect(await isMoneyOutClosed(connectionId)).toBe(false)
    await payOut()
    expect([countSent(id), countSent(waiting)]).toEqual([1, 1])
    await expectBalancedLedger(merchant.id)
  })

  testInTorture(
    'one that waited at the restore point is settled as the bank lists it',
    async () => {
      const id = await withdraw()
      const point = await copyNow()
      await payOut()
      await restore(point)
      for (let times = 0; times < 2; times++) await readRestored()
      expect(await find(id)).toMatchObject({ status: 'approved' })
      await sendDueWithdrawals()
      expect(countSent(id)).toBe(1)
      expect(await readAvailable()).toBe(FUNDS - AMOUNT)
      await expectBalancedLedger(merchant.id)
    },
  )

  testInTorture(
    'one that waited for a member at the restore point, and was approved since, is settled',
    async () => {
      const id = await withdraw()
      await letWait(id)
      const point = await copyNow()
      await release(id)
      await payOut()
      await restore(point)
      await readRestored()
      expect(await find(id)).toMatchObject({ status: 'approved', approvalDueAt: null })
      await expectBalancedLedger(merchant.id)
    },
  )

  testInTorture(
    'one that waits for a member here, and was sent since, neither expires nor opens money out',
    async () => {
      const id = await withdraw()
      await letWait(id, '-1 second')
      const point = await copyNow()
      await release(id)
      await sendDueWithdrawals()
      await restore(point)
      expect(await expireWaitingWithdrawals()).toBe(0)
      await readRestored()
      expect(await isMoneyOutClosed(connectionId)).toBe(true)
      bank.settle()
      await readRestored()
      expect(await isMoneyOutClosed(connectionId)).toBe(false)
      expect(await find(id)).toMatchObject({ status: 'approved', approvalDueAt: null })
      expect(await readAvailable()).toBe(FUNDS - AMOUNT)
      await expectBalancedLedger(merchant.id)
    },
  )

  test('one that waits for a member here, and was sent since, cannot be declined before the bank was read', async () => {
    const [id, other] = [await withdraw(), await withdraw()]
    for (const each of [id, other]) await letWait(each)
    const point = await copyNow()
    await release(id)
    await payOut()
    await restore(point)
    const data = { id: newId(), email: `${newId()}@example.com`, name: 'Ana', ...VERIFIED }
    const { id: by } = await db().user.create({ data })
    const decision = { accountId: merchant.id, mode: 'live', by } as const
    for (const each of [id, other])
      await expect(declineRequest({ ...decision, id: each })).rejects.toMatchObject({
        code: 'service_unavailable',
      })
    await readRestored()
    expect(await isMoneyOutClosed(connectionId)).toBe(false)
    await expect(declineRequest({ ...decision, id })).rejects.toMatchObject({
      code: 'approval_ended',
    })
    expect(await declineRequest({ ...decision, id: other })).toMatchObject({ status: 'rejected' })
    expect(await readAvailable()).toBe(FUNDS - AMOUNT)
    await expectBalancedLedger(merchant.id)
  })

  testInTorture('one of which the bank names another amount is held', async () => {
    const id = await withdraw()
    const point = await copyNow()
    await payOut()
    await restore(point)
    const list = bank.listTakenPayouts.bind(bank)
    bank.listTakenPayouts = async since => {
      const page = await list(since)
      if (page.outcome !== 'ok') return page
      const items = page.value.items.map(item => ({ ...item, amount: item.amount + 1 }))
      return { ...page, value: { ...page.value, items } }
    }
    await readRestored()
    expect(await listItems()).toMatchObject([{ kind: 'payout_unbooked' }])
    expect(await isMoneyOutClosed(connectionId)).toBe(true)
    expect(await find(id)).toMatchObject({ status: 'pending' })
  })

  testInTorture(
    'one that its client requests again is another, and takes no payment of the bank',
    async () => {
      const point = await copyNow()
      const id = await withdraw(AMOUNT, 'ANA@example.com')
      await payOut()
      await restore(point)
      const again = await withdraw()
      await readRestored()
      expect([await find(id), (await find(again))?.status]).toEqual([null, 'pending'])
      expect(await listItems()).toMatchObject([
        { key: removeHyphens(id), facts: { cause: 'order_unknown' } },
      ])
      expect([await sendDueWithdrawals(), countSent(again)]).toEqual([0, 0])
    },
  )

  test('one that failed in the books, and was done at the bank, is held', async () => {
    const id = await withdraw()
    await changeOrder(id, { state: 'refused', dueAt: null })
    const point = await copyNow()
    const sent = { id: removeHyphens(id), amount: AMOUNT, dictKey: 'ana@example.com' }
    await bank.sendPayout({ ...sent, ownerDoc: null })
    bank.settle()
    await restore(point)
    await readRestored()
    expect(await listItems()).toMatchObject([
      { facts: { cause: 'contradicted', account_id: merchant.id } },
    ])
  })

  testInTorture(
    'a payout that the books lack is no difference before it has ended at the bank',
    async () => {
      const point = await copyNow()
      const id = await withdraw()
      await sendDueWithdrawals()
      await restore(point)
      await readRestored()
      expect([await isMoneyOutClosed(connectionId), await listItems()]).toEqual([true, []])
      bank.settle()
      await readRestored()
      expect(await listItems()).toMatchObject([{ key: removeHyphens(id) }])
      expect(await isMoneyOutClosed(connectionId)).toBe(true)
    },
  )

  test('a payment that came since is credited once', async () => {
    const { txid } = await openCharge()
    const point = await copyNow()
    bank.payments.push({ ...makePayment(3_000), txid })
    await restore(point)
    for (let times = 0; times < 2; times++) await readRestored()
    expect(await readAvailable()).toBe(FUNDS + 3_000)
    await expectBalancedLedger(merchant.id)
  })

  testInTorture('a refund that waited at the restore point leaves the account once', async () => {
    const chargeId = await fundLive(merchant, 4_000)
    const { id } = await createRefund(merchant.id, 'live', chargeId, { amount: 1_500 })
    const point = await copyNow()
    await sendDueRefunds()
    bank.settle()
    await restore(point)
    for (let times = 0; times < 2; times++) await readRestored()
    expect(await isMoneyOutClosed(connectionId)).toBe(false)
    expect(await db().refund.findFirst({ where: { chargeId } })).toMatchObject({
      id,
      status: 'completed',
    })
    await sendDueRefunds()
    expect(countSent(id)).toBe(1)
    expect(await readAvailable()).toBe(FUNDS + 2_500)
    await expectBalancedLedger(merchant.id)
  })

  testInTorture('a refund that the restore has lost is a difference', async () => {
    const chargeId = await fundLive(merchant, 4_000)
    const point = await copyNow()
    const { id } = await createRefund(merchant.id, 'live', chargeId, { amount: 1_500 })
    await sendDueRefunds()
    bank.settle()
    await restore(point)
    await createRefund(merchant.id, 'live', chargeId, { amount: 1_500 })
    for (let times = 0; times < 2; times++) await readRestored()
    expect(await listItems()).toMatchObject([
      {
        kind: 'refund_unbooked',
        key: removeHyphens(id),
        facts: { cause: 'order_unknown', amount: 1_500 },
      },
    ])
    expect([await isMoneyOutClosed(connectionId), await sendDueRefunds()]).toEqual([true, 0])
    await expectBalancedLedger(merchant.id)
  })

  testInTorture(
    'the health page and the metrics say what is closed, and how far the bank was read',
    async () => {
      const readState = async () => {
        const findings = await examineGateways()
        const finding = findings.find(
          ({ figures }) => 'restored_to' in figures && figures.name === connectionId,
        )
        const metrics = await readDatabaseMetrics()
        const isOurs = ({ name, labels }: Reading) =>
          name === 'troco_bank_money_out_closed' && labels?.[0] === connectionId
        return { finding, metric: metrics.find(isOurs)?.value }
      }
      const point = await copyNow()
      await withdraw()
      await sendDueWithdrawals()
      await restore(point)
      const closed = { level: 'problem', state: 'money_out_closed' }
      const unread = { name: connectionId, payments: 'none', refunds: 'none', payouts: 'none' }
      expect(await readState()).toMatchObject({
        finding: { ...closed, figures: unread },
        metric: 1,
      })
      await readRestored()
      const minute = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
      const read = { payments: minute, refunds: minute, payouts: minute, unsettled: 1, held: 0 }
      expect(await readState()).toMatchObject({ finding: { ...closed, figures: read }, metric: 1 })
      bank.settle()
      await readRestored()
      const figures = { ...read, unsettled: 0, held: 1 }
      expect(await readState()).toMatchObject({ finding: { ...closed, figures }, metric: 1 })
      const [item] = await listItems()
      await acknowledgeItem({ itemId: item?.id ?? '', reason: 'Agreed', actor: COMMAND_LINE })
      await readRestored()
      expect(await readState()).toEqual({ finding: undefined, metric: 0 })
    },
  )
})

describe('a bank without lists', () => {
  let silent: StubBank
  beforeEach(async () => {
    silent = new StubBank()
    replaceBank(connectionId, silent)
    await restore(await copyNow())
    await withdraw()
    await readRestored()
    await sendDueWithdrawals()
  })
  const REASON = 'Compared with the statement of today'
  const open = (by: string, proposalId?: string) =>
    openMoneyOut({ connectionId, by, reason: REASON, proposalId })
  const readProposal = async () =>
    (await readClosures(connectionId)).get(connectionId)?.proposal?.id

  test('stays closed until two admins open it', async () => {
    const isClosed = () => isMoneyOutClosed(connectionId)
    expect([await isClosed(), silent.sentOrders]).toEqual([true, []])
    const [first, second] = [await makeAdmin(), await makeAdmin()]
    await expect(openAlone(connectionId, REASON)).rejects.toMatchObject({ code: 'opening_refused' })
    expect(await open(first)).toBe('proposed')
    const outdated = await readProposal()
    expect(await open(first)).toBe('proposed')
    const proposalId = await readProposal()
    await expect(open(second, outdated)).rejects.toMatchObject({ code: 'opening_refused' })
    await expect(open(first, proposalId)).rejects.toMatchObject({ code: 'end_by_other' })
    expect(await isClosed()).toBe(true)
    const decisions = await Promise.allSettled([open(second, proposalId), open(second, proposalId)])
    expect(decisions.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await isClosed()).toBe(false)
    await sendDueWithdrawals()
    expect(silent.sentOrders).toHaveLength(1)
    await db().user.updateMany({ data: { isAdmin: false } })
  })

  test('is opened at the command line if there are not two admins, and asked before it is sent to', async () => {
    const id = (await db().withdrawal.findFirstOrThrow({ where: { accountId: merchant.id } })).id
    // The restore has lost that it was sent.
    const { amount, target: dictKey } = await orderOf(id)
    const sent = { id: removeHyphens(id), amount: Number(amount), dictKey, ownerDoc: null }
    await silent.sendPayout(sent)
    silent.settle()
    await openAlone(connectionId, REASON)
    await sendDueWithdrawals()
    expect(silent.sentOrders).toHaveLength(1)
    expect(await find(id)).toMatchObject({ status: 'approved' })
    expect(await isMoneyOutClosed(connectionId)).toBe(false)
    await expect(openAlone(connectionId, REASON)).rejects.toMatchObject({ code: 'opening_refused' })
  })
})

/** Makes an admin of 8 days. */
async function makeAdmin(): Promise<string> {
  const email = `admin-${newId()}@troco.example`
  const adminSince = new Date(Date.now() - 8 * 86_400_000)
  const data = { id: newId(), email, name: email, isAdmin: true, adminSince, ...VERIFIED }
  return (await db().user.create({ data })).id
}

function openCharge() {
  return openLiveCharge(merchant, 3_000).then(({ id }) =>
    db().charge.findFirstOrThrow({ where: { id } }),
  )
}
