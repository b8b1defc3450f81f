import { beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { readWithdrawalTimeline } from '#lib/dashboard/timeline.ts'
import { db, type Prisma } from '#lib/db/client.ts'
import { examineEnded } from '#lib/operator/health.ts'
import { readEnding } from '#lib/operator/stuck.ts'
import { confirmEnd, endAlone, proposeEnd } from '#lib/orders/end.ts'
import { type ClaimedOrder, type Order, renewSlot } from '#lib/orders/order.ts'
import { askAboutEnded as askAbout, noteContradiction } from '#lib/orders/send.ts'
import type { EndOutcome } from '#lib/orders/states.ts'
import { createResetLink } from '#lib/people/password.ts'
import { registerUser } from '#lib/people/users.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL, StubBank } from '#lib/testing/bank.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { readMails } from '#lib/testing/mailbox.ts'
import { afterClaims, changeOrder, orderOf, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

// A database of its own: who else is an admin decides what the command line may do.
inOwnDatabase()

const DAY_MS = 86_400_000
const REASON = 'Ana of the bank, by phone at 10:00'
const AMOUNT = 4_000
const FUNDS = 1_000_000

let merchant: Account
let bank: StubBank
let first: string
let second: string
beforeAll(async () => {
  bank = new StubBank()
  merchant = await makeSilentMerchant(bank)
  first = await makeAdmin()
  second = await makeAdmin()
})

/** Makes an admin of 8 days, changed as given. */
async function makeAdmin(changes: object = {}): Promise<string> {
  const email = `admin-${newId()}@troco.example`
  const adminSince = new Date(Date.now() - 8 * DAY_MS)
  const data = { id: newId(), email, name: email, isAdmin: true, adminSince, ...VERIFIED }
  return (await db().user.create({ data: { ...data, ...changes } })).id
}

/** The withdrawal with its order. */
async function stateOf(id: string) {
  const where = { accountId_id: { accountId: merchant.id, id } }
  return { ...(await orderOf(id)), ...(await db().withdrawal.findUniqueOrThrow({ where })) }
}
const note = async (id: string, reported: 'done' | 'refused') =>
  noteContradiction((await orderOf(id)) as unknown as Order, reported)
const askAboutEnded = () => askAbout(ORDER_RULES)
const changeOthers = (id: string, data: Prisma.BankOrderUpdateManyMutationInput) =>
  db().bankOrder.updateMany({ where: { id: { not: id }, dueAt: { not: null } }, data })
const propose = (id: string, outcome: EndOutcome = 'sent', by = first) =>
  proposeEnd({ id, outcome, reason: REASON }, by)
async function confirm(id: string, by = second): Promise<void> {
  const proposalId = (await stateOf(id)).endId ?? ''
  await confirmEnd({ id, proposalId, by }, ORDER_RULES)
}
async function endAs(outcome: EndOutcome): Promise<string> {
  const { id } = await withdrawInSilence(merchant, AMOUNT)
  await propose(id, outcome)
  await confirm(id)
  return id
}
/** The last step about money that the merchant sees. */
async function lastStepOf(id: string): Promise<object | undefined> {
  const { steps } = await readWithdrawalTimeline(merchant.id, 'live', id, first)
  return steps.findLast(({ what }) => !['told', 'returned'].includes(what))
}
const movementsOf = async (subjectId: string) =>
  (await db().ledgerTransfer.findMany({ where: { subjectId } })).map(({ kind }) => kind).sort()

describe('two admins end a withdrawal', () => {
  test('as sent: the amount leaves, with an event like that of the bank', async () => {
    const before = await readBalances(merchant.id, 'live')
    const id = await endAs('sent')
    expect(await stateOf(id)).toMatchObject({
      status: 'approved',
      endToEndId: null,
      dueAt: null,
      lease: null,
      endOutcome: 'sent',
      endReason: REASON,
      endProposedBy: first,
      endConfirmedBy: second,
    })
    expect(await movementsOf(id)).toEqual(['withdrawal_held', 'withdrawal_sent'])
    const { available, outbound } = await readBalances(merchant.id, 'live')
    expect([available, outbound]).toEqual([before.available - AMOUNT, before.outbound])
    const event = await db().event.findFirstOrThrow({ where: { subjectId: id } })
    expect(event).toMatchObject({
      type: 'withdrawal.approved',
      resource: { status: 'approved', end_to_end_id: null },
    })
    expect(await lastStepOf(id)).toMatchObject({ what: 'ended_sent' })
    await expectBalancedLedger(merchant.id)
  })

  test('as not sent: the amount returns, with a reason of its own', async () => {
    const before = await readBalances(merchant.id, 'live')
    const id = await endAs('not_sent')
    expect(await stateOf(id)).toMatchObject({ status: 'rejected', rejectionCode: 'ended_unsent' })
    expect(await movementsOf(id)).toEqual(['withdrawal_held', 'withdrawal_returned'])
    expect(await readBalances(merchant.id, 'live')).toEqual(before)
    expect(await lastStepOf(id)).toMatchObject({ what: 'rejected', rejection_code: 'ended_unsent' })
    await expectBalancedLedger(merchant.id)
  })

  test('once: of 20 confirmations and answers of the bank, one moves the money', async () => {
    for (const outcome of ['sent', 'not_sent'] as const) {
      const { id: withdrawalId } = await withdrawInSilence(merchant, AMOUNT)
      await propose(withdrawalId, outcome)
      const reason = { code: 'unspecified', params: {} } as const
      const settlement = { accountId: merchant.id, withdrawalId }
      await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) =>
          index % 3 === 0
            ? confirm(withdrawalId)
            : index % 3 === 1
              ? approveWithdrawal({ ...settlement, endToEndId: removeHyphens(newId()) })
              : rejectWithdrawal({ ...settlement, reason }),
        ),
      )
      expect(await movementsOf(withdrawalId)).toHaveLength(2)
      expect(await db().event.count({ where: { subjectId: withdrawalId } })).toBe(1)
    }
    await expectBalancedLedger(merchant.id)
  })

  test('and everybody who must know is mailed; both steps are audited with reason and person', async () => {
    const ownerMail = await addOwner()
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await db().mail.deleteMany()
    await propose(id)
    const proposed = await readMails()
    await db().mail.deleteMany()
    await confirm(id)
    const ended = await readMails()
    const admins = await db().user.findMany({ where: { isAdmin: true, disabledAt: null } })
    const adminMails = admins.map(({ email }) => email).sort()
    const owners = await db().membership.findMany({
      where: { accountId: merchant.id, role: 'owner' },
      include: { user: true },
    })
    expect(proposed.map(({ to }) => to).sort()).toEqual(adminMails)
    const everybody = [...adminMails, ...owners.map(({ user }) => user.email)].sort()
    expect(ended.map(({ to }) => to).sort()).toEqual(everybody)
    expect(everybody).toContain(ownerMail)
    for (const { text } of [...proposed, ...ended]) expect(text).toContain(REASON)
    const records = await db().auditRecord.findMany({
      where: { target: id, action: { startsWith: 'order.end' } },
      orderBy: { id: 'asc' },
    })
    const after = { kind: 'withdrawal', mode: 'live', amount: AMOUNT, outcome: 'sent' }
    expect(records).toMatchObject([
      { action: 'order.end_proposed', actorId: first, reason: REASON, after },
      { action: 'order.ended', actorId: second, reason: REASON, after },
    ])
  })
})

async function addOwner(): Promise<string> {
  const email = `owner-${newId()}@troco.example`
  const { id: userId } = await db().user.create({
    data: { id: newId(), email, name: email, ...VERIFIED },
  })
  await db().membership.create({ data: { accountId: merchant.id, userId, role: 'owner' } })
  return email
}

describe('the second admin', () => {
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS)
  const refused = { code: 'end_by_other' }

  test.each([
    ['of 6 days', () => ({ adminSince: ago(6.99) })],
    ['since nobody knows when', () => ({ adminSince: null })],
    ['whom the first made', () => ({ adminBy: first })],
    ['whom the first reset', () => ({ resetBy: first, resetAt: ago(300) })],
    ['reset at the command line within 7 days', () => ({ resetBy: null, resetAt: ago(6.99) })],
    ['who is disabled', () => ({ disabledAt: new Date() })],
    ['who is no admin any more', () => ({ isAdmin: false })],
  ])('may not be one %s', async (_, changes) => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await propose(id)
    await expect(confirm(id, await makeAdmin(changes()))).rejects.toMatchObject(refused)
    expect((await stateOf(id)).status).toBe('pending')
  })

  test.each([
    ['of exactly 7 days', () => ({ adminSince: ago(7.001) })],
    ['reset at the command line 7 days ago', () => ({ resetBy: null, resetAt: ago(7.001) })],
    [
      'whom somebody else made and reset',
      () => ({ adminBy: second, resetBy: second, resetAt: ago(9) }),
    ],
  ])('may be one %s', async (_, changes) => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await propose(id)
    await confirm(id, await makeAdmin(changes()))
    expect((await stateOf(id)).status).toBe('approved')
  })

  test.each([
    ['made', () => ({ adminBy: second })],
    ['reset', () => ({ resetBy: second, resetAt: ago(300) })],
  ])('may not be one who %s the first', async (_, changes) => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await propose(id, 'sent', await makeAdmin(changes()))
    expect((await readEnding(id, second))?.proposal).toMatchObject({
      can_confirm: false,
    })
    await expect(confirm(id)).rejects.toMatchObject(refused)
    expect((await stateOf(id)).status).toBe('pending')
  })

  test('is not the first, nor anybody once the first is no active admin', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    const leaving = await makeAdmin()
    await propose(id, 'sent', leaving)
    await expect(confirm(id, leaving)).rejects.toMatchObject(refused)
    await db().user.update({ where: { id: leaving }, data: { disabledAt: new Date() } })
    await expect(confirm(id)).rejects.toMatchObject(refused)
  })

  test('sees what they confirm: a replaced or old proposal is refused', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await propose(id)
    const { endId } = await stateOf(id)
    await propose(id, 'not_sent')
    const old = { id, proposalId: endId ?? '', by: second }
    await expect(confirmEnd(old, ORDER_RULES)).rejects.toMatchObject({ code: 'end_refused' })
    await changeOrder(id, { endProposedAt: ago(1.001) })
    await expect(confirm(id)).rejects.toMatchObject({ code: 'end_refused' })
    expect((await stateOf(id)).status).toBe('pending')
  })

  test('is recorded: since when and by whom an admin was made, and each reset by the operator', async () => {
    const email = `made-${newId()}@troco.example`
    const actor = { type: 'user', id: first } as const
    const { id } = await registerUser({ email, passwordHash: 'x', isAdmin: true }, actor)
    const made = await db().user.findUniqueOrThrow({ where: { id } })
    expect(made).toMatchObject({ adminSince: expect.any(Date), adminBy: first, resetAt: null })
    await createResetLink(email, { type: 'command_line' })
    const reset = await db().user.findUniqueOrThrow({ where: { id } })
    expect(reset).toMatchObject({ resetAt: expect.any(Date), resetBy: null })
    await createResetLink(email, actor)
    expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({ resetBy: first })
    await db().user.update({ where: { id }, data: { isAdmin: false } })
  })
})

test('staff sees what can be done, what was proposed and by whom, the end and its contradiction', async () => {
  const { id } = await withdrawInSilence(merchant, AMOUNT)
  const read = (adminId: string) => readEnding(id, adminId)
  const nameOf = async (userId: string) =>
    (await db().user.findUniqueOrThrow({ where: { id: userId } })).name
  const nothing = { outcome: null, reason: null, proposed_by: null, confirmed_by: null }
  const open = {
    id,
    kind: 'withdrawal',
    bank_text: 'no response',
    can_propose: true,
    ended_at: null,
    contradiction: null,
  }
  expect(await read(first)).toEqual({ ...open, ...nothing, proposal: null })
  await propose(id, 'not_sent')
  const said = { outcome: 'not_sent', reason: REASON, proposed_by: await nameOf(first) }
  for (const [adminId, can_confirm] of [
    [first, false],
    [second, true],
  ] as const)
    expect(await read(adminId)).toMatchObject({ ...open, ...said, proposal: { can_confirm } })
  await confirm(id)
  await note(id, 'done')
  expect(await read(first)).toEqual({
    ...{
      ...open,
      bank_text: null,
      can_propose: false,
      ended_at: expect.any(String),
      contradiction: 'done',
    },
    ...said,
    confirmed_by: await nameOf(second),
    proposal: null,
  })
  expect(await readEnding(newId(), first)).toBeNull()
})

describe('only a withdrawal without an answer can be ended', () => {
  const expectRefused = async (id: string) => {
    await expect(propose(id)).rejects.toMatchObject({ code: 'end_refused' })
    expect((await stateOf(id)).endId).toBeNull()
  }
  const changeCalls = (subjectId: string, data: object) =>
    db().gatewayCall.updateMany({ where: { subjectId }, data })

  test('one that was sent less than an hour ago cannot', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await changeCalls(id, { createdAt: new Date(Date.now() - 3_590_000) })
    await expectRefused(id)
  })

  test('one that was never sent cannot: its account can be suspended instead', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    for (const outcome of ['retryable', 'blocked', 'rejected']) {
      await changeCalls(id, { outcome })
      await expectRefused(id)
    }
  })

  test('one that a worker holds cannot, until it lets go or its lease has expired', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    const soon = new Date(Date.now() + 30_000)
    const held = { state: 'placed', lease: newId(), dueAt: soon, slotUntil: soon }
    await changeOrder(id, held)
    await expectRefused(id)
    await changeOrder(id, { dueAt: new Date() })
    await propose(id)
    // The worker that has lost it must not send it now.
    const claim = { ...(await orderOf(id)), lease: held.lease } as unknown as ClaimedOrder
    expect(await renewSlot(claim)).toBe('lost')
  })

  test('one that has ended cannot, nor an unknown one', async () => {
    const id = await endAs('sent')
    await expect(propose(id)).rejects.toMatchObject({ code: 'end_refused' })
    await expect(confirm(id)).rejects.toMatchObject({ code: 'end_refused' })
    await expect(propose(newId())).rejects.toMatchObject({ code: 'order_not_found' })
    await expect(propose('x')).rejects.toMatchObject({ code: 'order_not_found' })
  })

  test('the database refuses an end by one person, or with another outcome than proposed', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await propose(id)
    const ended = { state: 'done', dueAt: null, endedAt: new Date() }
    for (const wrong of [
      { ...ended, endConfirmedBy: first },
      { ...ended, endConfirmedBy: null },
      { ...ended, endConfirmedBy: second, endOutcome: 'not_sent' },
    ])
      await expect(changeOrder(id, wrong)).rejects.toThrow()
  })
})

describe('while an end is proposed', () => {
  const runAlone = async (id: string) => {
    await changeOthers(id, { dueAt: new Date(Date.now() + DAY_MS) })
    await changeOrder(id, { dueAt: new Date(0) })
    await sendDueWithdrawals()
  }

  test.each(['sent', 'not_sent'] as const)(
    'as %s, the withdrawal is asked about and not sent again, until the proposal is old',
    async outcome => {
      const { id } = await withdrawInSilence(merchant, AMOUNT)
      const orderId = removeHyphens(id)
      await propose(id, outcome)
      await runAlone(id)
      expect(bank.queriedIds).toContain(orderId)
      const orders = () => bank.sentOrders.filter(order => order.id === orderId)
      expect(orders()).toEqual([])
      const { dueAt, attempts } = await stateOf(id)
      expect(Math.round(((dueAt?.getTime() ?? 0) - Date.now()) / 60_000)).toBe(10)
      expect(attempts).toBe(1)
      const endProposedAt = new Date(Date.now() - 1.001 * DAY_MS)
      await changeOrder(id, { endProposedAt })
      await runAlone(id)
      expect(orders()).toHaveLength(1)
    },
  )

  test.each(['unknown', null])(
    'it ends as not sent only once no attempt with the outcome %s can still arrive at the bank',
    async outcome => {
      const { id } = await withdrawInSilence(merchant, AMOUNT)
      const call = await db().gatewayCall.findFirstOrThrow({ where: { subjectId: id } })
      const last = { ...call, id: newId(), request: {}, response: undefined, outcome }
      const at = (minutes: number) => new Date(Date.now() - minutes * 60_000)
      await db().gatewayCall.create({ data: { ...last, createdAt: at(9) } })
      await propose(id, 'not_sent')
      await expect(confirm(id)).rejects.toMatchObject({ code: 'end_refused' })
      expect((await stateOf(id)).status).toBe('pending')
      expect(await movementsOf(id)).toEqual(['withdrawal_held'])
      await db().gatewayCall.update({ where: { id: last.id }, data: { createdAt: at(10.1) } })
      await confirm(id)
      expect((await stateOf(id)).status).toBe('rejected')
    },
  )
})

describe('the command line', () => {
  const end = (id: string) => endAlone({ id, outcome: 'not_sent', reason: REASON }, ORDER_RULES)

  test('ends a withdrawal only without two admins who could', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await expect(end(id)).rejects.toMatchObject({ code: 'end_refused' })
    const others = { isAdmin: true, id: { not: first } }
    const { id: alone } = merchant
    await db().user.updateMany({ where: others, data: { disabledAt: new Date() } })
    try {
      await end(id)
      await expect(end(id)).rejects.toMatchObject({ code: 'end_refused' })
    } finally {
      await db().user.updateMany({ where: others, data: { disabledAt: null } })
    }
    expect(await stateOf(id)).toMatchObject({
      status: 'rejected',
      endReason: REASON,
      endProposedBy: null,
      endConfirmedBy: null,
    })
    const where = { target: id, action: 'order.ended' }
    const record = await db().auditRecord.findFirstOrThrow({ where })
    expect(record).toMatchObject({ actorType: 'command_line', accountId: alone, reason: REASON })
    await expectBalancedLedger(merchant.id)
  })
})

describe('a later answer of the bank that contradicts the end', () => {
  const expectUnmoved = async (id: string) => {
    expect(await movementsOf(id)).toHaveLength(2)
    await expectBalancedLedger(merchant.id)
  }

  test.each([
    ['not_sent', 'done', 'refused'],
    ['sent', 'refused', 'done'],
  ] as const)(
    'ended as %s, then %s: is stored once and moves no money',
    async (outcome, reported, agreed) => {
      const id = await endAs(outcome)
      expect(await note(id, agreed)).toBe(false)
      expect(await examineEnded()).not.toMatchObject({
        subjects: expect.arrayContaining([{ kind: 'withdrawal', id, name: id }]),
      })
      expect(await note(id, reported)).toBe(true)
      expect(await note(id, reported)).toBe(false)
      expect(await stateOf(id)).toMatchObject({ contradiction: reported, endAskAt: null })
      const where = { target: id, action: 'order.contradicted' }
      expect(await db().auditRecord.findMany({ where })).toMatchObject([
        {
          actorType: 'system',
          accountId: null,
          after: { bank_reports: reported, ended_as: outcome },
        },
      ])
      const { connectionId } = await stateOf(id)
      const items = await db().difference.findMany({ where: { key: removeHyphens(id) } })
      const facts = { account_id: merchant.id, withdrawal_id: id, mode: 'live', amount: AMOUNT }
      const item = { kind: 'order_contradicted', connectionId, resolvedAt: null }
      expect(items).toMatchObject([
        { ...item, facts: { ...facts, bank_reports: reported, ended_as: outcome } },
      ])
      expect(await examineEnded()).toMatchObject({
        level: 'problem',
        state: 'ends_contradicted',
        subjects: expect.arrayContaining([{ kind: 'withdrawal', id, name: id }]),
      })
      await expectUnmoved(id)
    },
  )

  test('is found by asking again, and stays in the journal', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await bank.sendPayout({
      id: removeHyphens(id),
      amount: AMOUNT,
      dictKey: 'a@b.co',
      ownerDoc: null,
    })
    bank.settle()
    await propose(id, 'not_sent')
    await confirm(id)
    const { endedAt, endAskAt } = await stateOf(id)
    expect((endAskAt?.getTime() ?? 0) - (endedAt?.getTime() ?? 0)).toBe(60_000)
    await db().bankOrder.updateMany({ where: { id: { not: id } }, data: { endAskAt: null } })
    await changeOrder(id, { endAskAt: new Date(0) })
    await askAboutEnded()
    expect((await stateOf(id)).contradiction).toBe('done')
    const where = { subjectId: id, operation: 'getPayout' }
    expect(await db().gatewayCall.findMany({ where })).toMatchObject([{ outcome: 'ok' }])
    await expectUnmoved(id)
  })

  test('is asked for later and later, and no more after a final answer or 7 days', async () => {
    const id = await endAs('not_sent')
    const pauseAt = async (ageMs: number) => {
      const endedAt = new Date(Date.now() - ageMs)
      await changeOrder(id, { endedAt, endAskAt: new Date(0) })
      await askAboutEnded()
      const next = (await stateOf(id)).endAskAt
      return next && Math.round((next.getTime() - Date.now()) / 60_000)
    }
    expect(await pauseAt(60_000)).toBe(9)
    expect(await pauseAt(600_000)).toBe(50)
    expect(await pauseAt(3_600_000)).toBe(1_380)
    expect(await pauseAt(7 * DAY_MS)).toBeNull()
    await bank.sendPayout({
      id: removeHyphens(id),
      amount: AMOUNT,
      dictKey: 'a@b.co',
      ownerDoc: null,
    })
    bank.setScript(removeHyphens(id), { end: 'refused' })
    bank.settle()
    expect(await pauseAt(60_000)).toBeNull()
    expect((await stateOf(id)).contradiction).toBeNull()
  })

  test('is noted by a worker whose question was on its way when it ended', async () => {
    const { id } = await withdrawInSilence(merchant, AMOUNT)
    await bank.sendPayout({
      id: removeHyphens(id),
      amount: AMOUNT,
      dictKey: 'a@b.co',
      ownerDoc: null,
    })
    bank.settle()
    await propose(id, 'not_sent')
    // The call of the others must not meet the stall.
    const later = { dueAt: new Date(Date.now() + DAY_MS), lease: null }
    await changeOthers(id, later)
    await changeOrder(id, { dueAt: new Date(0) })
    bank.stall('after', () =>
      afterClaims(async () => {
        await changeOrder(id, { dueAt: new Date(0) })
        await confirm(id)
      }),
    )
    await sendDueWithdrawals()
    expect(await stateOf(id)).toMatchObject({ status: 'rejected', contradiction: 'done' })
    await expectUnmoved(id)
  })
})

test('what came back of a payout that people ended as sent is credited when the bank says so', async () => {
  const id = await endAs('sent')
  const ask = async () => {
    await db().bankOrder.updateMany({ where: { id: { not: id } }, data: { endAskAt: null } })
    await changeOrder(id, { endAskAt: new Date(0) })
    await askAboutEnded()
  }
  const returned = { id: newEndToEndId(), amount: AMOUNT, returnedAt: new Date() }
  const done = { state: 'done', endToEndId: newEndToEndId() } as const
  const { getPayout } = bank
  bank.getPayout = async () => ({ outcome: 'ok', value: { ...done, returns: [returned] } })
  await ask()
  await ask()
  bank.getPayout = getPayout
  expect(await movementsOf(id)).toEqual(['withdrawal_held', 'withdrawal_sent'])
  expect(await stateOf(id)).toMatchObject({
    status: 'approved',
    returnedAmount: BigInt(AMOUNT),
    contradiction: null,
    endAskAt: null,
  })
  await expectBalancedLedger(merchant.id)
})

test('a payout that fails after people ended it as sent contradicts them, and nothing is credited', async () => {
  const id = await endAs('sent')
  await db().withdrawal.updateMany({ where: { id }, data: { endToEndId: newEndToEndId() } })
  await changeOrder(id, { endAskAt: new Date(0) })
  const { getPayout } = bank
  bank.getPayout = async () => ({ outcome: 'ok', value: { state: 'refused', ...REFUSAL } })
  await askAboutEnded()
  bank.getPayout = getPayout
  expect(await stateOf(id)).toMatchObject({ contradiction: 'refused', returnedAmount: 0n })
})

test('the funds of the account are what was held and returned', async () => {
  const { available, outbound } = await readBalances(merchant.id, 'live')
  const where = { accountId: merchant.id, status: 'approved' }
  const sent = await db().withdrawal.count({ where })
  const returned = await db().payoutReturn.count({ where: { accountId: merchant.id } })
  expect(available + outbound).toBe(FUNDS - (sent - returned) * AMOUNT)
})
