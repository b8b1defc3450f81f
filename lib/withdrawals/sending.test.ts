import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { activateAccount, suspendAccount } from '#lib/accounts/settings.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { releaseLeases } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { type OrderScript, REFUSAL, StubBank } from '#lib/testing/bank.ts'
import {
  addConnection,
  assignConnection,
  connectBank,
  endPause,
  endRest,
  endSlots,
  fundLive,
  openLiveCharge,
  replaceBank,
  restConnection,
} from '#lib/testing/connection.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import {
  afterClaims,
  changeOrder,
  claimOrders,
  createSender,
  dropOrders,
  orderOf,
  sendDueWithdrawals,
} from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { findWithdrawal } from '#lib/withdrawals/queries.ts'

const ACTOR = { type: 'system' } as const

inOwnDatabase()

let merchant: Account
let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(new StubBank())
})
beforeEach(async () => {
  await dropOrders()
  merchant = await openMerchant(10_000)
})

/** Opens a merchant with the balance in both modes. */
async function openMerchant(balance: number): Promise<Account> {
  const opened = await makeMerchant()
  await fundMerchant(opened, balance)
  await assignConnection(connectionId, opened)
  await fundLive(opened, balance)
  return opened
}

async function withdraw(key: string, mode: Mode = 'test'): Promise<string> {
  const order = { amount: 4_000, pixKeyType: 'email', pixKey: key, dictKey: key } as const
  const through = mode === 'live' ? { connectionId } : {}
  return (await createWithdrawal(merchant.id, mode, { ...order, ...through })).id
}

async function readWithdrawal(id: string) {
  const { mode } = await db().withdrawal.findFirstOrThrow({ where: { id } })
  return findWithdrawal(merchant.id, mode as Mode, id)
}
const ordersOf = (id: string) => db().simulatorOrder.findMany({ where: { id: removeHyphens(id) } })
const sendAndReadStatus = async (id: string) => {
  await makeDue(id)
  await sendDueWithdrawals()
  return (await readWithdrawal(id))?.status
}
const makeDue = (id: string) =>
  db().$executeRaw`
    UPDATE bank_orders SET due_at = now() WHERE id = ${id}::uuid AND due_at IS NOT NULL`

test('a withdrawal is sent once and approved when the bank has settled it', async () => {
  const id = await withdraw('ana@example.com')
  await sendDueWithdrawals()
  expect(await ordersOf(id)).toMatchObject([{ kind: 'payout', amount: 4_000n }])
  await expect.poll(() => sendAndReadStatus(id), { timeout: 20_000 }).toBe('approved')
  expect(await readWithdrawal(id)).toMatchObject({
    end_to_end_id: expect.stringMatching(/^E\w{31}$/),
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 6_000, outbound: 0 })
  expect(await ordersOf(id)).toHaveLength(1)
  await expectBalancedLedger(merchant.id)
})

test('a withdrawal that the bank refuses is rejected with the reason, and the money returns', async () => {
  const id = await withdraw('reject@example.com')
  await expect.poll(() => sendAndReadStatus(id), { timeout: 20_000 }).toBe('rejected')
  expect((await readWithdrawal(id))?.rejection_reason).toBe('The receiving bank refused the key')
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test('a withdrawal without a result from the bank stays pending and held', async () => {
  const id = await withdraw('hold@example.com')
  for (let times = 0; times < 3; times++) expect(await sendAndReadStatus(id)).toBe('pending')
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 6_000, outbound: 4_000 })
  expect(await ordersOf(id)).toHaveLength(1)
})

test('a withdrawal of a suspended account is sent once the account is active again', async () => {
  const id = await withdraw('ana@example.com')
  await suspendAccount(merchant.id, 'test', ACTOR)
  expect(await sendAndReadStatus(id)).toBe('pending')
  expect(await ordersOf(id)).toEqual([])
  await activateAccount(merchant.id, 'test', ACTOR)
  await expect.poll(() => sendAndReadStatus(id), { timeout: 20_000 }).toBe('approved')
})

test('a suspended account is checked every 15 s without increasing the pause', async () => {
  const id = await withdraw('ana@example.com')
  await suspendAccount(merchant.id, 'test', ACTOR)
  for (let times = 0; times < 12; times++) {
    expect(await sendAndReadStatus(id)).toBe('pending')
    const seconds = await readPauseS(id)
    expect(seconds).toBeGreaterThan(5)
    expect(seconds).toBeLessThanOrEqual(15)
  }
  await activateAccount(merchant.id, 'test', ACTOR)
  await sendAndReadStatus(id)
  expect(await ordersOf(id)).toHaveLength(1)
  expect(await readPauseS(id)).toBeLessThanOrEqual(1)
})

const readPauseS = async (id: string) => {
  const [row] = await db().$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds FROM bank_orders
    WHERE id = ${id}::uuid AND lease IS NULL`
  return row?.seconds ?? Number.NaN
}

test('an unsettled withdrawal is queried after growing pauses of at most ten minutes', async () => {
  const id = await withdraw('hold@example.com')
  await sendAndReadStatus(id)
  for (const [ageS, pauseS] of [
    [0, 2],
    [30, 6],
    [600, 101],
    [3_600, 600],
    [90_000, 600],
  ] as const) {
    await changeOrder(id, { slotUntil: new Date(Date.now() + 30_000 - ageS * 1_000) })
    await sendAndReadStatus(id)
    const seconds = await readPauseS(id)
    expect(seconds).toBeGreaterThan(pauseS / 2 - 0.5)
    expect(seconds).toBeLessThanOrEqual(pauseS)
  }
})

const withdrawLive = (key = 'ana@example.com') => withdraw(key, 'live')
const sendDue = (bank: StubBank) => {
  replaceBank(connectionId, bank)
  return sendDueWithdrawals()
}
const makeDueAndSend = async (id: string, bank: StubBank) => {
  await makeDue(id)
  await sendDue(bank)
  return (await readWithdrawal(id))?.status
}
/** Makes a withdrawal whose first call is lost: the bank does not have it, and it waits to be sent again. */
async function loseFirst(bank: StubBank, script: OrderScript = {}): Promise<string> {
  const id = await withdrawLive()
  bank.setScript(removeHyphens(id), { sends: ['lost before'], ...script })
  await makeDueAndSend(id, bank)
  await passPlace(id, bank)
  expect(bank.sentOrders).toHaveLength(1)
  return id
}
/** The slot of a withdrawal ends: the bank does not have it, so that it waits for another. */
async function passPlace(id: string, bank: StubBank): Promise<void> {
  await endSlots(connectionId)
  await makeDueAndSend(id, bank)
}
const stall = (bank: StubBank, when: 'before' | 'after', work: () => Promise<unknown>) =>
  bank.stall(when, () => afterClaims(work))
const eventsOf = (id: string) => db().event.count({ where: { subjectId: id } })

async function expectApprovedOnce(id: string, bank: StubBank): Promise<void> {
  bank.settle()
  expect(await makeDueAndSend(id, bank)).toBe('approved')
  expect(bank.countDebits(removeHyphens(id))).toBe(1)
  expect(await eventsOf(id)).toBe(1)
  expect(await readBalances(merchant.id, 'live')).toEqual({ available: 6_000, outbound: 0 })
  await expectBalancedLedger(merchant.id)
}

describe('a worker that lost its lease', () => {
  const REJECTED = { outcome: 'rejected', ...REFUSAL } as const

  test('rejects nothing that the new holder has sent, whatever the bank returns', async () => {
    const id = await withdrawLive()
    const bank = new StubBank()
    stall(bank, 'before', async () => {
      expect(await makeDueAndSend(id, bank)).toBe('pending')
      return REJECTED
    })
    expect(await sendDue(bank)).toBe(1)
    expect(await readWithdrawal(id)).toMatchObject({ status: 'pending', rejection_reason: null })
    await expectApprovedOnce(id, bank)
  })

  test('writes nothing while the new holder works', async () => {
    const id = await withdrawLive()
    const bank = new StubBank()
    stall(bank, 'after', async () => {
      await makeDue(id)
      expect(await claimOrders('placed', 1, connectionId)).toMatchObject([{ id, attempts: 2 }])
      return REJECTED
    })
    await sendDue(bank)
    expect((await readWithdrawal(id))?.status).toBe('pending')
    const stored = await orderOf(id)
    expect(stored.lease).not.toBeNull()
    await expectApprovedOnce(id, bank)
  })

  test('does not approve; the new holder does', async () => {
    const id = await withdrawLive()
    const bank = new StubBank()
    bank.isQuick = true
    await makeDueAndSend(id, bank)
    stall(bank, 'after', async () => {
      await makeDue(id)
      await claimOrders('placed', 1, connectionId)
    })
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    await expectApprovedOnce(id, bank)
  })

  test('does not send again an order that the new holder has sent', async () => {
    const bank = new StubBank()
    const id = await loseFirst(bank)
    stall(bank, 'after', async () => {
      await passPlace(id, bank)
      await makeDueAndSend(id, bank)
    })
    await makeDueAndSend(id, bank)
    expect(bank.sentOrders).toHaveLength(2)
    await expectApprovedOnce(id, bank)
  })

  test('sends nothing more if its process is stopping', async () => {
    const bank = new StubBank()
    const id = await loseFirst(bank)
    stall(bank, 'after', releaseLeases)
    await makeDueAndSend(id, bank)
    expect(bank.sentOrders).toHaveLength(1)
    expect(await sendDue(bank)).toBe(1)
    await passPlace(id, bank)
    await makeDueAndSend(id, bank)
    await expectApprovedOnce(id, bank)
  })
})

test('the lease is renewed before each send, so that no other worker can send meanwhile', async () => {
  const bank = new StubBank()
  const id = await loseFirst(bank)
  stall(bank, 'after', async () => {
    // As after failed renewals, but before another worker has claimed the withdrawal.
    await makeDue(id)
    stall(bank, 'before', async () => {
      expect(await claimOrders('placed', 1, connectionId)).toEqual([])
    })
  })
  await makeDueAndSend(id, bank)
  expect(bank.sentOrders).toHaveLength(2)
  await expectApprovedOnce(id, bank)
})

test('a worker that loses its lease while it writes to the journal sends nothing', async () => {
  await withdrawLive()
  const bank = new StubBank()
  await runAsOwner(`
    CREATE FUNCTION stall_journal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(20261122); RETURN NEW; END $$;
    CREATE TRIGGER stall_journal BEFORE INSERT ON gateway_calls FOR EACH ROW
      EXECUTE FUNCTION stall_journal()`)
  await withClient(async client => {
    await client.query('SELECT pg_advisory_lock(20261122)')
    const sending = sendDue(bank)
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
    await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(1)
    await releaseLeases()
    await client.query('SELECT pg_advisory_unlock(20261122)')
    await sending
  }).finally(() =>
    runAsOwner('DROP TRIGGER stall_journal ON gateway_calls; DROP FUNCTION stall_journal()'),
  )
  expect(bank.sentOrders).toEqual([])
})

describe('what a bank says about a payout that it has taken', () => {
  const PAYEE = { name: 'Ana Beatriz Rocha', maskedDoc: '***.982.247-**', bank: 'Banco Exemplo' }
  const storedOf = (id: string) => db().withdrawal.findFirstOrThrow({ where: { id } })

  async function sendEarly() {
    const id = await withdrawLive()
    const bank = Object.assign(new StubBank(), { isIdKnownEarly: true, payee: PAYEE })
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    return { id, bank, first: (await storedOf(id)).endToEndId }
  }

  test('is stored at once: end-to-end id and receiver', async () => {
    const { id, bank, first } = await sendEarly()
    expect(first).toMatch(/^E\w{31}$/)
    const { name: payeeName, maskedDoc: payeeDoc, bank: payeeBank } = PAYEE
    expect(await storedOf(id)).toMatchObject({ payeeName, payeeDoc, payeeBank })
    expect((await orderOf(id)).lease).toBeNull()
    expect(await readWithdrawal(id)).toMatchObject({ status: 'pending', end_to_end_id: first })
    const before = (await readWithdrawal(id))?.updated_at
    await makeDueAndSend(id, bank)
    expect((await readWithdrawal(id))?.updated_at).toBe(before)
    await expectApprovedOnce(id, bank)
    expect(await storedOf(id)).toMatchObject({ endToEndId: first, otherEndToEndId: null })
  })

  test.each(['while it is on its way', 'when it ends'])(
    'never replaces an end-to-end id: a different one is kept for staff (%s)',
    async when => {
      const { id, bank, first } = await sendEarly()
      const other = `E${removeHyphens(id).slice(1)}`
      bank.replaceEndToEndId(removeHyphens(id), other)
      if (when === 'when it ends') bank.settle()
      await makeDueAndSend(id, bank)
      const expected = { endToEndId: first, otherEndToEndId: other }
      expect(await storedOf(id)).toMatchObject(expected)
      await expectApprovedOnce(id, bank)
      expect(await storedOf(id)).toMatchObject(expected)
    },
  )

  test('without a receiver or id leaves both open until the end', async () => {
    const id = await withdrawLive()
    const bank = new StubBank()
    await makeDueAndSend(id, bank)
    expect(await storedOf(id)).toMatchObject({ endToEndId: null, payeeName: null })
    bank.payee = PAYEE
    await expectApprovedOnce(id, bank)
    expect(await storedOf(id)).toMatchObject({ payeeName: PAYEE.name })
  })

  test('about the payment of another withdrawal keeps neither from being settled', async () => {
    const { first } = await sendEarly()
    await fundLive(merchant, 4_000)
    const { id, bank } = await sendEarly()
    const own = (await storedOf(id)).endToEndId
    await db().withdrawal.updateMany({ where: { id }, data: { endToEndId: null } })
    bank.replaceEndToEndId(removeHyphens(id), first ?? '')
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    expect((await storedOf(id)).endToEndId).toBeNull()
    expect((await orderOf(id)).lease).toBeNull()
    bank.replaceEndToEndId(removeHyphens(id), own ?? '')
    bank.settle()
    expect(await makeDueAndSend(id, bank)).toBe('approved')
  })
})

describe('a bank that blocks', () => {
  const expectHeld = async (id: string, pauseS: number) => {
    expect(await readWithdrawal(id)).toMatchObject({ status: 'pending', rejection_reason: null })
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 6_000, outbound: 4_000 })
    const seconds = await readPauseS(id)
    expect(seconds).toBeGreaterThan(pauseS / 2)
    expect(seconds).toBeLessThanOrEqual(pauseS)
  }

  test.each<[string, OrderScript]>([
    ['a payout', { sends: ['blocked'] }],
    ['the question about a payout', { sends: ['lost before'], queries: ['blocked'] }],
  ])('%s rejects nothing: the withdrawal waits 5 minutes', async (_, script) => {
    const id = await withdrawLive()
    const bank = new StubBank()
    bank.setScript(removeHyphens(id), script)
    await makeDueAndSend(id, bank)
    if (script.queries) await makeDueAndSend(id, bank)
    await expectHeld(id, 300)
    if (script.queries) await passPlace(id, bank)
    await makeDueAndSend(id, bank)
    await expectApprovedOnce(id, bank)
  })

  test('and wants a pause is called no earlier', async () => {
    const id = await withdrawLive()
    const bank = new StubBank()
    bank.setScript(removeHyphens(id), { sends: ['busy', 'lost before'], queries: ['busy'] })
    for (let attempt = 1; attempt <= 3; attempt++) {
      await makeDueAndSend(id, bank)
      if (attempt !== 2) await expectHeld(id, 90)
      await endPause(connectionId)
    }
    await passPlace(id, bank)
    await makeDueAndSend(id, bank)
    await expectApprovedOnce(id, bank)
  })
})

describe('after a call that had no effect', () => {
  test.each(['down', 'busy', 'blocked'] as const)(
    'the withdrawal is sent again without a question: %s',
    async behavior => {
      const id = await withdrawLive()
      const bank = new StubBank()
      bank.setScript(removeHyphens(id), { sends: [behavior, behavior] })
      for (let attempt = 1; attempt <= 3; attempt++) {
        expect(await makeDueAndSend(id, bank)).toBe('pending')
        await endPause(connectionId)
      }
      expect([bank.sentOrders.length, bank.queriedIds]).toEqual([3, []])
      await expectApprovedOnce(id, bank)
    },
  )

  test('a refusal ends it, because no earlier call may arrive', async () => {
    const id = await withdrawLive()
    const bank = new StubBank()
    bank.setScript(removeHyphens(id), { sends: ['down', 'rejected'] })
    await makeDueAndSend(id, bank)
    expect(await makeDueAndSend(id, bank)).toBe('rejected')
    expect(bank.queriedIds).toEqual([])
    await expectBalancedLedger(merchant.id)
  })

  test('the bank is asked if a call before that may have arrived', async () => {
    const bank = new StubBank()
    const id = await loseFirst(bank, { sends: ['lost before', 'down'] })
    const asked = bank.queriedIds.length
    await makeDueAndSend(id, bank)
    await makeDueAndSend(id, bank)
    expect([bank.sentOrders.length, bank.queriedIds.length]).toEqual([3, asked + 2])
    await expectApprovedOnce(id, bank)
  })
})

test('a withdrawal whose worker died before the call waits for no question', async () => {
  const id = await withdrawLive()
  const bank = new StubBank()
  replaceBank(connectionId, bank)
  expect(await claimOrders('waiting', 1, connectionId)).toMatchObject([{ id }])
  await makeDueAndSend(id, bank)
  await makeDueAndSend(id, bank)
  expect([bank.sentOrders.length, bank.queriedIds]).toEqual([1, []])
  await expectApprovedOnce(id, bank)
})

describe('the balance at the bank', () => {
  /** A bank that reports this balance, whatever it has paid out. */
  const openBank = (available: number) => {
    const bank = Object.assign(new StubBank(), { available, readings: 0 })
    bank.getBalance = async () => {
      bank.readings += 1
      return { outcome: 'ok', value: { available: bank.available } }
    }
    return bank
  }
  const blockOf = async () => {
    const { blocks } = await db().connectionState.findFirstOrThrow({ where: { connectionId } })
    return blocks
  }
  /** No payout of another test was sent a moment ago. */
  beforeEach(async () => {
    await db().bankOrder.updateMany({ where: { connectionId }, data: { sentAt: null } })
    await db().connectionState.updateMany({ where: { connectionId }, data: { blocks: {} } })
  })
  /** The balance was read more than a second ago. */
  const passSecond = () => sleep(1_010)

  test('that does not cover a withdrawal keeps it from being sent, until it does', async () => {
    const id = await withdrawLive()
    const bank = openBank(3_999)
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    expect(await blockOf()).toMatchObject({ sendPayout: { code: 'balance' } })
    expect(await readPauseS(id)).toBeGreaterThan(60)
    bank.available = 4_000
    await passSecond()
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    expect(await blockOf()).toEqual({})
    expect([bank.sentOrders.length, bank.queriedIds]).toEqual([1, []])
    await expectApprovedOnce(id, bank)
  })

  test('is read once for payouts that are sent together, and they spend no more than it', async () => {
    merchant = await openMerchant(20_000)
    for (let count = 0; count < 5; count++) await withdrawLive()
    const bank = openBank(8_100)
    await sendDue(bank)
    expect([bank.sentOrders.length, bank.readings]).toEqual([2, 1])
  })

  test('that lags does not pay out the same money twice within a minute', async () => {
    merchant = await openMerchant(20_000)
    const bank = openBank(4_500)
    bank.isQuick = true
    const first = await withdrawLive()
    await makeDueAndSend(first, bank)
    expect(await makeDueAndSend(first, bank)).toBe('approved')
    const second = await withdrawLive()
    await passSecond()
    await makeDueAndSend(second, bank)
    expect(bank.sentOrders).toHaveLength(1)
    expect(await readPauseS(second)).toBeLessThan(5)
    expect(await blockOf()).toEqual({})
    await changeOrder(first, { slotUntil: new Date(Date.now() - 31_000) })
    await makeDueAndSend(second, bank)
    expect(bank.sentOrders).toHaveLength(2)
  })

  test.each<[string, GatewayResult<never>, object]>([
    ['is not reported', { outcome: 'unknown', reason: 'lost' }, {}],
    ['is refused', { outcome: 'rejected', ...REFUSAL }, { sendPayout: { code: 'other' } }],
    [
      'may not be read',
      { outcome: 'blocked', code: 'scope', reason: 'gn.balance.read' },
      { sendPayout: { code: 'scope' } },
    ],
  ])('that %s keeps a withdrawal from being sent', async (_, result, blocks) => {
    const id = await withdrawLive()
    const bank = openBank(4_000)
    const { getBalance } = bank
    bank.getBalance = async () => result
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    expect(bank.sentOrders).toEqual([])
    expect(await blockOf()).toMatchObject(blocks)
    bank.getBalance = getBalance
    await passSecond()
    await makeDueAndSend(id, bank)
    await expectApprovedOnce(id, bank)
  })
})

test('while the connection rests, its withdrawals wait unclaimed, and those of others go on', async () => {
  const bank = new StubBank()
  const restingId = await addConnection(bank)
  await restConnection(restingId)
  const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
  const waiting: string[] = []
  for (let count = 0; count < 3; count++) {
    const order = { amount: 1_000, ...key, connectionId: restingId }
    waiting.push((await createWithdrawal(merchant.id, 'live', order)).id)
  }
  const [otherId, testId] = [await withdrawLive(), await withdraw('ana@example.com')]
  replaceBank(connectionId, new StubBank())
  replaceBank(restingId, bank)
  expect(await sendDueWithdrawals()).toBe(2)
  const attemptsOf = async (ids: string[]) => {
    const rows = await db().bankOrder.findMany({ where: { id: { in: ids } } })
    return rows.map(({ attempts }) => attempts)
  }
  expect(await attemptsOf([otherId, testId])).toEqual([1, 1])
  expect(await attemptsOf(waiting)).toEqual([0, 0, 0])
  // A slow machine would ask about the others before the process learns of the end.
  const later = { dueAt: new Date(Date.now() + 86_400_000) }
  for (const id of [otherId, testId]) await changeOrder(id, later)
  await endRest(restingId)
  const sent = () => bank.sentOrders.length
  await expect.poll(() => sendDueWithdrawals(), { timeout: 20_000 }).toBeGreaterThan(0)
  // The first is the probe, which alone is claimed.
  expect(sent()).toBe(1)
  await sendDueWithdrawals()
  expect(sent()).toBe(3)
})

test('after failed payouts the connection rests for charges too; test mode and other connections go on', async () => {
  const bank = Object.assign(new StubBank(), { failuresMax: 2 })
  const failingId = await connectBank(bank, merchant)
  const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
  for (let count = 0; count < 2; count++) {
    const order = { amount: 1_000, ...key, connectionId: failingId }
    const { id } = await createWithdrawal(merchant.id, 'live', order)
    bank.setScript(removeHyphens(id), { sends: ['lost before'] })
  }
  await sendDueWithdrawals()
  const refused = { code: 'service_unavailable', retryAfterS: expect.any(Number) }
  await expect(openLiveCharge(merchant)).rejects.toMatchObject(refused)
  expect(bank.charges.size).toBe(0)
  expect((await openCharge(merchant)).status).toBe('pending')
  expect((await openLiveCharge(await openMerchant(1_000))).status).toBe('pending')
})

describe('a withdrawal that the bank rejects after an attempt without a response', () => {
  const rejectSecond = async () => {
    const bank = new StubBank()
    const id = await loseFirst(bank, { sends: ['lost before', 'rejected'] })
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    return { id, bank }
  }

  test.each(['has no response', 'is still running'])(
    'stays held while the first attempt %s and may still arrive',
    async state => {
      const { id, bank } = await rejectSecond()
      if (state === 'is still running') await forgetOutcomes(id)
      await passPlace(id, bank)
      expect(await makeDueAndSend(id, bank)).toBe('pending')
      expect(await readBalances(merchant.id, 'live')).toEqual({ available: 6_000, outbound: 4_000 })
    },
  )

  /** As the journal is while the process of an attempt waits for its response. */
  const forgetOutcomes = (id: string) => db().$executeRaw`
    UPDATE gateway_calls SET outcome = NULL, response = NULL, finished_at = NULL
    WHERE subject_id = ${id}::uuid AND operation = 'sendPayout' AND outcome = 'unknown'`

  test('is rejected after ten minutes', async () => {
    const { id, bank } = await rejectSecond()
    await db().$executeRaw`
      UPDATE gateway_calls SET created_at = created_at - interval '10 minutes'
      WHERE subject_id = ${id}::uuid`
    await passPlace(id, bank)
    expect(await makeDueAndSend(id, bank)).toBe('rejected')
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 10_000, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  })
})

describe('a withdrawal that the bank has taken and then forgets', () => {
  async function takeAndForget(isIdKnownEarly: boolean) {
    const id = await withdrawLive()
    const bank = Object.assign(new StubBank(), { isIdKnownEarly })
    bank.setScript(removeHyphens(id), { queries: ['forgotten', 'forgotten', 'forgotten'] })
    await makeDueAndSend(id, bank)
    return { id, bank }
  }

  async function expectHeldUntilSettled(id: string, bank: StubBank): Promise<void> {
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    // In another slot, it would be sent again.
    await passPlace(id, bank)
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    expect(bank.sentOrders).toHaveLength(1)
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 6_000, outbound: 4_000 })
    await expectApprovedOnce(id, bank)
  }

  test('is not sent again because of the journal, however old, but queried until it ends', async () => {
    const { id, bank } = await takeAndForget(false)
    await db().$executeRaw`
      UPDATE gateway_calls SET created_at = created_at - interval '1 day'
      WHERE subject_id = ${id}::uuid`
    await expectHeldUntilSettled(id, bank)
  })

  test('is not sent again because of its end-to-end id alone', async () => {
    const { id, bank } = await takeAndForget(true)
    await db().gatewayCall.deleteMany({ where: { subjectId: id } })
    await expectHeldUntilSettled(id, bank)
  })

  test('is rejected once the bank reports it as refused', async () => {
    const { id, bank } = await takeAndForget(true)
    expect(await makeDueAndSend(id, bank)).toBe('pending')
    bank.setScript(removeHyphens(id), { end: 'refused' })
    bank.settle()
    expect(await makeDueAndSend(id, bank)).toBe('rejected')
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 10_000, outbound: 0 })
  })
})

test('a late first attempt makes the second a duplicate, and the withdrawal is not rejected', async () => {
  const bank = new StubBank()
  const id = await loseFirst(bank)
  bank.stall('after', () =>
    bank
      .sendPayout({
        id: removeHyphens(id),
        amount: 4_000,
        dictKey: 'ana@example.com',
        ownerDoc: null,
      })
      .then(() => undefined),
  )
  expect(await makeDueAndSend(id, bank)).toBe('pending')
  expect(bank.sentOrders).toHaveLength(3)
  await expectApprovedOnce(id, bank)
})

test('a bank call that hangs does not delay the others', async () => {
  const ids: string[] = []
  for (let count = 0; count < 20; count++) {
    await fundLive(merchant, 4_000)
    ids.push(await withdrawLive())
  }
  const bank = new StubBank()
  let release = () => {}
  bank.stall('before', () => new Promise<void>(resolve => (release = resolve)))
  replaceBank(connectionId, bank)
  const { run, idle } = createSender('withdrawal')
  const sendOthers = async () => {
    await run()
    return bank.sentOrders.length
  }
  await expect.poll(sendOthers, { timeout: 20_000 }).toBe(19)
  release()
  await idle()
  expect(bank.sentOrders).toHaveLength(20)
  expect(new Set(bank.sentOrders.map(order => order.id))).toEqual(new Set(ids.map(removeHyphens)))
})

test('a bank that hangs delays no withdrawals of other connections, nor of test mode', async () => {
  const hanging = new StubBank()
  hanging.sendPayout = () => new Promise(() => {})
  const hangingId = await addConnection(hanging)
  const dueAt = new Date()
  const row = { mode: 'live', connectionId: hangingId, dueAt, dictKey: 'ana@example.com' }
  for (let count = 0; count < 20; count++) await LISTS[1]?.insert(merchant.id, row)
  const bank = new StubBank()
  replaceBank(connectionId, bank)
  const { run } = createSender('withdrawal')
  await run()
  const [id, testId] = [await withdrawLive(), await withdraw('ana@example.com')]
  await run()
  await expect.poll(() => bank.sentOrders).toMatchObject([{ id: removeHyphens(id) }])
  await expect.poll(() => ordersOf(testId)).toHaveLength(1)
})

test('an account with one withdrawal is served before the rest of an account with many', async () => {
  for (let count = 0; count < 20; count++) {
    await fundLive(merchant, 4_000)
    await withdrawLive()
  }
  const bank = new StubBank()
  replaceBank(connectionId, bank)
  const { run, idle } = createSender('withdrawal')
  expect(await run()).toBe(8)
  await idle()
  merchant = await openMerchant(4_000)
  const id = await withdrawLive('bia@example.com')
  while ((await run()) > 0 && bank.sentOrders.length < 16) await idle()
  await idle()
  expect(bank.sentOrders.slice(0, 16).map(order => order.id)).toContain(removeHyphens(id))
})

test('the journal contains the bank calls, with the PIX key masked', async () => {
  const id = await withdrawLive()
  const bank = new StubBank()
  await makeDueAndSend(id, bank)
  await expectApprovedOnce(id, bank)
  const calls = await db().gatewayCall.findMany({
    where: { subjectId: id, accountId: merchant.id },
    orderBy: { id: 'asc' },
  })
  expect(calls).toMatchObject([
    {
      operation: 'sendPayout',
      request: { id: removeHyphens(id), amount: 4_000, dictKey: 'a***@example.com' },
      outcome: 'ok',
    },
    { operation: 'getPayout', outcome: 'ok', response: { state: 'done' } },
  ])
})

test('a bank is asked about a payout by its ids, amount and key, so that it can tell another one', async () => {
  const id = await withdrawLive()
  const bank = new StubBank()
  const endToEndId = newEndToEndId()
  bank.sendPayout = async () => ({ outcome: 'ok', value: { state: 'taken', endToEndId } })
  const asked: unknown[] = []
  const { getPayout } = bank
  bank.getPayout = (payout, signal) => {
    asked.push(payout)
    return getPayout.call(bank, payout, signal)
  }
  await makeDueAndSend(id, bank)
  await makeDueAndSend(id, bank)
  expect(asked).toEqual([
    { id: removeHyphens(id), amount: 4_000, dictKey: expect.any(String), endToEndId },
  ])
})

test("the bank's text about a payout is stored without PIX key, receiver and CPF", async () => {
  const key = 'ana.souza@example.com'
  const id = await withdrawLive(key)
  const payee = { name: 'Ana Souza', maskedDoc: null, bank: null }
  const bank = Object.assign(new StubBank(), { payee })
  await makeDueAndSend(id, bank)
  const bankText = `Chave ${key} de Ana Souza, 123.456.789-09, recusada`
  bank.getPayout = async () => ({
    outcome: 'ok',
    value: { state: 'refused', ...REFUSAL, bankText },
  })
  expect(await makeDueAndSend(id, bank)).toBe('rejected')
  const redacted = 'Chave a***@example.com de ***, ***, recusada'
  const calls = await db().gatewayCall.findMany({
    where: { subjectId: id, operation: 'getPayout' },
  })
  expect(calls).toMatchObject([{ response: { state: 'refused', bankText: redacted } }])
  expect(await db().withdrawal.findFirst({ where: { id } })).toMatchObject({ bankText: redacted })
})
