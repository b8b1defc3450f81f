import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { breaker } from '#lib/banks/breaker.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { decideCharge, simulator } from '#lib/banks/simulator.ts'
import { closeCharges, closeUnreported } from '#lib/charges/close.ts'
import { createVerifier, queryAndEnd, expireDueCharges as startExpiry } from '#lib/charges/due.ts'
import { findCharge } from '#lib/charges/list.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { claim, withLease } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import {
  addConnection,
  assignConnection,
  connectBank,
  endRest,
  openLiveCharge,
  replaceBank,
  restConnection,
} from '#lib/testing/connection.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges } from '#lib/testing/orders.ts'
import { paidState } from '#lib/testing/payments.ts'

inOwnDatabase()

let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(new StubBank())
})

afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  // Charges left open become due again after 15 s, possibly during another test.
  await db().$executeRaw`UPDATE charges SET due_at = NULL`
})

async function openDueCharge(
  merchant: Account,
  amount = 1_000,
  open = openCharge,
): Promise<string> {
  const { id } = await open(merchant, amount)
  await db().$executeRaw`
    UPDATE charges SET expires_at = now() - interval '1 second', due_at = now() - interval '1 second'
    WHERE account_id = ${merchant.id}::uuid AND id = ${id}::uuid`
  return id
}

/**
 * Sweeps until no charge is due. One sweep may skip rows of a statement that has just failed:
 * PostgreSQL reports an error before it releases the locks, and a claim skips locked rows.
 */
async function expireAllDue(): Promise<number> {
  let ended = 0
  do ended += await expireDueCharges()
  while ((await db().charge.count({ where: { dueAt: { lte: new Date() } } })) > 0)
  return ended
}

async function statusOf(merchant: Account, id: string): Promise<string | undefined> {
  const { mode } = await db().charge.findFirstOrThrow({ where: { id } })
  return (await findCharge(merchant.id, mode as Mode, id))?.status
}

test('an overdue charge expires with one event', async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant)
  expect(await expireDueCharges()).toBe(1)
  expect(await statusOf(merchant, id)).toBe('expired')
  expect(await expireDueCharges()).toBe(0)
  const events = await db().event.findMany({ where: { accountId: merchant.id } })
  expect(events.map(event => event.type)).toEqual(['transaction.expired'])
  await expectBalancedLedger(merchant.id)
})

test('an overdue charge that the bank reports as paid is credited', async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant, 4_200)
  const { state } = await decideCharge(id.replaceAll('-', ''), 4_200, 'paid')
  const endToEndId = state.state === 'paid' ? state.payments[0]?.endToEndId : ''
  await expireDueCharges()
  expect(await findCharge(merchant.id, 'test', id)).toMatchObject({
    status: 'paid',
    end_to_end_id: endToEndId,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 4_200, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test('an overdue charge that the bank reports as failed becomes failed', async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant)
  await decideCharge(id.replaceAll('-', ''), 1_000, 'failed')
  await expireDueCharges()
  expect(await statusOf(merchant, id)).toBe('failed')
  await expectBalancedLedger(merchant.id)
})

test('30 due charges end once each under six concurrent workers', async () => {
  const merchant = await makeMerchant()
  const ids = await Promise.all(Array.from({ length: 30 }, () => openDueCharge(merchant)))
  const counts = await Promise.all(Array.from({ length: 6 }, () => expireDueCharges()))
  expect(counts.reduce((sum, count) => sum + count)).toBe(30)
  for (const id of ids) expect(await statusOf(merchant, id)).toBe('expired')
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(30)
  await expectBalancedLedger(merchant.id)
})

test.each([3_600_000, -3_600_000, 365 * 86_400_000])(
  "expiry ignores the process's clock, here off by %i ms",
  async skewMs => {
    const merchant = await makeMerchant()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs })
    const open = await openCharge(merchant)
    const due = await openDueCharge(merchant)
    expect(await expireDueCharges()).toBe(1)
    expect(await statusOf(merchant, due)).toBe('expired')
    expect(await statusOf(merchant, open.id)).toBe('pending')
    const [remaining] = await db().$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM expires_at - now())::float8 AS seconds FROM charges
      WHERE account_id = ${merchant.id}::uuid AND id = ${open.id}::uuid`
    expect(remaining?.seconds).toBeGreaterThan(86_300)
    expect(remaining?.seconds).toBeLessThanOrEqual(86_400)
    await expectBalancedLedger(merchant.id)
  },
)

test('a charge paid in time is no longer due', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  await simulateCharge(merchant.id, id, 'paid')
  const row = await db().charge.findFirstOrThrow({ where: { accountId: merchant.id, id } })
  expect(row).toMatchObject({ status: 'paid', dueAt: null, lease: null })
  await expectBalancedLedger(merchant.id)
})

test('a charge that cannot be credited stays due and does not block the others', async () => {
  const merchant = await makeMerchant()
  const [paid, duplicate, third] = [
    await openDueCharge(merchant),
    await openDueCharge(merchant),
    await openDueCharge(merchant),
  ]
  const { end_to_end_id: endToEndId } = await simulateCharge(merchant.id, paid, 'paid')
  // The same payment for a second charge: the database refuses to credit it twice.
  await decideCharge(duplicate.replaceAll('-', ''), 1_000, 'paid')
  await db().simulatorOrder.update({
    where: { id: duplicate.replaceAll('-', '') },
    data: { endToEndId },
  })
  // Without its claim, the unique id of the charge refuses it.
  await runAsOwner(`DELETE FROM booked_payments WHERE end_to_end_id = '${endToEndId}'`)
  expect(await expireDueCharges()).toBe(2)
  expect(await statusOf(merchant, third)).toBe('expired')
  expect(await statusOf(merchant, duplicate)).toBe('pending')
  const { dueAt } = await db().charge.findFirstOrThrow({ where: { id: duplicate } })
  expect(dueAt).not.toBeNull()
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 1_000, outbound: 0 })
  await db().charge.updateMany({ where: { id: duplicate }, data: { dueAt: null } })
  await expectBalancedLedger(merchant.id)
})

test('a charge that cannot be closed stays due and does not block the others', async () => {
  const merchant = await makeMerchant()
  const [first, broken, third] = [
    await openDueCharge(merchant),
    await openDueCharge(merchant),
    await openDueCharge(merchant),
  ]
  await runAsOwner(
    `CREATE TRIGGER broken BEFORE UPDATE OF status ON charges FOR EACH ROW
     WHEN (NEW.id = '${broken}'::uuid) EXECUTE FUNCTION troco_refuse_change()`,
  )
  expect(await expireAllDue()).toBe(3)
  await runAsOwner('DROP TRIGGER broken ON charges')
  expect(await statusOf(merchant, first)).toBe('expired')
  expect(await statusOf(merchant, third)).toBe('expired')
  expect(await statusOf(merchant, broken)).toBe('pending')
  expect(await expireDueCharges()).toBe(0)
  await makeDueAgain(broken)
  expect(await expireDueCharges()).toBe(1)
  expect(await statusOf(merchant, broken)).toBe('expired')
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(3)
  await expectBalancedLedger(merchant.id)
})

test('batches over many accounts record one event per charge, numbered without gaps', async () => {
  const merchants = await Promise.all(Array.from({ length: 3 }, () => makeMerchant()))
  for (let round = 0; round < 70; round++)
    await Promise.all(merchants.map(merchant => openDueCharge(merchant)))
  let restCount = 0
  let otherSweeps: Promise<number>[] = []
  // Starts the other sweeps at the first rest, when the first sweep has already read all 210.
  const rest = async () => {
    if (restCount === 0) otherSweeps = [expireDueCharges(), expireDueCharges()]
    restCount++
  }
  const first = await expireDueCharges(rest)
  const counts = [first, ...(await Promise.all(otherSweeps)), await expireAllDue()]
  expect(counts.reduce((sum, count) => sum + count)).toBe(210)
  expect(restCount).toBe(8)
  for (const { id: accountId } of merchants) {
    const events = await db().event.findMany({ where: { accountId }, orderBy: { sequence: 'asc' } })
    expect(events.map(event => Number(event.sequence))).toEqual(
      Array.from({ length: 70 }, (_, index) => index + 1),
    )
    expect(new Set(events.map(event => event.subjectId)).size).toBe(70)
    await expectBalancedLedger(accountId)
  }
})

test('a batch never expires charges that the simulator has a result for', async () => {
  const merchant = await makeMerchant()
  const ids = await Promise.all(Array.from({ length: 60 }, () => openDueCharge(merchant)))
  const paid = ids.filter((_, index) => index % 20 === 7)
  for (const id of paid) await decideCharge(removeHyphens(id), 1_000, 'paid')
  expect(await expireDueCharges()).toBe(60)
  const events = await db().event.findMany({ where: { accountId: merchant.id } })
  for (const id of ids) {
    const type = paid.includes(id) ? 'transaction.paid' : 'transaction.expired'
    expect(events.filter(event => event.subjectId === id).map(event => event.type)).toEqual([type])
  }
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 3_000, outbound: 0 })
  await expectBalancedLedger(merchant.id)
})

test("a charge under another worker's lease is skipped until that lease expires", async () => {
  const merchant = await makeMerchant()
  const id = await openDueCharge(merchant)
  const [claimed] = await claim('charges', 10)
  const condition = simulator.local.noStateReportedSql(Prisma.sql`c.id`)
  const closing = { accountId: merchant.id, chargeId: id, ifTimeUp: true }
  expect(await closeUnreported([closing], condition)).toEqual([])
  await makeDueAgain(id)
  expect(await expireDueCharges()).toBe(1)
  expect(await closeCharges([{ ...closing, lease: claimed?.lease }], 'failed')).toEqual([])
  expect(await statusOf(merchant, id)).toBe('expired')
  expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
  await expectBalancedLedger(merchant.id)
})

test('a due charge that has not expired yet stays pending', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  await makeDueAgain(id)
  expect(await expireDueCharges()).toBe(1)
  expect(await statusOf(merchant, id)).toBe('pending')
  const { dueAt, expiresAt } = await db().charge.findFirstOrThrow({ where: { id } })
  expect(dueAt).toEqual(expiresAt)
})

const makeDueAgain = (id: string) => db().$executeRaw`
  UPDATE charges SET due_at = now() WHERE id = ${id}::uuid AND due_at IS NOT NULL`

const endToEndIdOf = (id: string) => `E${removeHyphens(id).slice(1)}`
const PAID_AT = new Date('2026-11-21T00:00:00Z')
const stateOf = (id: string, amount = 1_000) =>
  paidState(amount, { endToEndId: endToEndIdOf(id), paidAt: PAID_AT })
const expireWith = (bank: Gateway) => {
  replaceBank(connectionId, bank)
  return expireDueCharges()
}

/** Opens a merchant with the bank of this file. */
async function openBankMerchant(): Promise<Account> {
  const merchant = await makeMerchant()
  await assignConnection(connectionId, merchant)
  return merchant
}

const openDueAtBank = (merchant: Account) => openDueCharge(merchant, 1_000, openLiveCharge)

test('if the bank does not respond the charge stays pending and is due again within 15 s', async () => {
  const merchant = await openBankMerchant()
  const silent = { outcome: 'unknown', reason: 'no answer' } as const
  const id = await openDueAtBank(merchant)
  const bank = { ...simulator, local: undefined, getCharges: async () => silent }
  await expireWith(bank)
  const [row] = await db().$queryRaw<{ status: string; lease: string | null; seconds: number }[]>`
    SELECT status, lease, extract(epoch FROM due_at - now())::float8 AS seconds FROM charges
    WHERE account_id = ${merchant.id}::uuid AND id = ${id}::uuid`
  expect(row).toMatchObject({ status: 'pending', lease: null })
  expect(row?.seconds).toBeGreaterThan(0)
  expect(row?.seconds).toBeLessThanOrEqual(15)
  await expectBalancedLedger(merchant.id)
})

describe('a bank that must be queried before a charge expires', () => {
  async function openQueriedCharge(merchant: Account): Promise<string> {
    const { id } = await openLiveCharge(merchant)
    await db().$executeRaw`UPDATE charges SET due_at = now() WHERE id = ${id}::uuid`
    return id
  }

  test.each([
    [{ state: 'open' }, 'pending'],
    [undefined, 'pending'],
    [{ state: 'failed' }, 'failed'],
    [{ state: 'expired' }, 'expired'],
    [{ state: 'cancelled' }, 'expired'],
  ] as const)('reports %j: the charge is %s', async (reported, status) => {
    const merchant = await openBankMerchant()
    const id = await openQueriedCharge(merchant)
    const bank = new StubBank()
    if (reported) bank.charges.set(removeHyphens(id), reported)
    await expireWith(bank)
    expect(new Set(bank.queriedIds)).toEqual(new Set([removeHyphens(id)]))
    expect(await statusOf(merchant, id)).toBe(status)
    const eventCount = status === 'pending' ? 0 : 1
    expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(eventCount)
    await expectBalancedLedger(merchant.id)
  })

  test("reports paid: the charge is credited with the bank's end-to-end id and time", async () => {
    const merchant = await openBankMerchant()
    const id = await openQueriedCharge(merchant)
    const bank = new StubBank()
    bank.charges.set(removeHyphens(id), stateOf(id, 1_500))
    await expireWith(bank)
    const row = await findCharge(merchant.id, 'live', id)
    expect(row).toMatchObject({ status: 'paid', end_to_end_id: endToEndIdOf(id) })
    expect(row?.paid_at).toBe('2026-11-21T00:00:00.000000Z')
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 1_500, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  })

  test.each([
    [1, 15],
    [16, 60],
    [61, 300],
    [400, 3_600],
    [3_700, 7_200],
    [86_000, 86_400],
    [86_399 * 2, 86_400 * 2],
  ])('is queried at %i s of age, and next at %i s', async (ageS, thenS) => {
    const merchant = await openBankMerchant()
    const id = await openQueriedCharge(merchant)
    await db().$executeRaw`
      UPDATE charges SET created_at = now() - make_interval(secs => ${ageS}::int),
        expires_at = now() + interval '30 days' WHERE id = ${id}::uuid`
    const bank = new StubBank()
    bank.queryAgesMs = [15_000, 60_000, 300_000, 3_600_000]
    await expireWith(bank)
    const [row] = await db().$queryRaw<{ seconds: number; lease: string | null }[]>`
      SELECT extract(epoch FROM due_at - created_at)::float8 AS seconds, lease FROM charges
      WHERE id = ${id}::uuid`
    expect(row).toEqual({ seconds: thenS, lease: null })
  })

  test.each([
    ['with intermediate queries', [15_000, 3_600_000]],
    ['without intermediate queries', undefined],
  ])('is queried at the latest at the expiry (%s)', async (_, queryAgesMs) => {
    const merchant = await openBankMerchant()
    const id = await openQueriedCharge(merchant)
    await db().$executeRaw`
      UPDATE charges SET created_at = now() - interval '20 seconds',
        expires_at = now() + interval '1 minute' WHERE id = ${id}::uuid`
    const bank = new StubBank()
    bank.queryAgesMs = queryAgesMs
    await expireWith(bank)
    const { dueAt, expiresAt } = await db().charge.findFirstOrThrow({ where: { id } })
    expect(dueAt).toEqual(expiresAt)
  })

  test('a charge that expires while the bank is asked does not end before it is asked again', async () => {
    const merchant = await openBankMerchant()
    const id = await openQueriedCharge(merchant)
    const bank = new StubBank()
    const setExpiry = (change: string) =>
      db().$executeRawUnsafe(`UPDATE charges SET expires_at = now() ${change} WHERE id = '${id}'`)
    await setExpiry("+ interval '1 hour'")
    bank.stall('before', async () => {
      await setExpiry("- interval '1 second'")
    })
    await expireWith(bank)
    expect(await statusOf(merchant, id)).toBe('pending')
    bank.charges.set(removeHyphens(id), stateOf(id, 1_500))
    await makeDueAgain(id)
    await expireWith(bank)
    expect(await statusOf(merchant, id)).toBe('paid')
    await expectBalancedLedger(merchant.id)
  })

  test('is queried for all due charges in one call', async () => {
    const merchant = await openBankMerchant()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push(await openDueAtBank(merchant))
    const bank = new StubBank()
    const calls: string[][] = []
    const getCharges = bank.getCharges.bind(bank)
    bank.getCharges = txids => {
      calls.push(txids)
      return getCharges(txids)
    }
    await expireWith(bank)
    expect(calls.map(call => call.toSorted())).toEqual([ids.map(removeHyphens).toSorted()])
    const where = { accountId: merchant.id, operation: 'getCharges' }
    expect(await db().gatewayCall.count({ where })).toBe(5)
  })
})

describe('charges that a query did not reach', () => {
  async function expireSome() {
    const merchant = await openBankMerchant()
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push(await openDueAtBank(merchant))
    const bank = new StubBank()
    bank.answersMax = 2
    for (const id of ids) bank.charges.set(removeHyphens(id), stateOf(id))
    expect(await expireWith(bank)).toBe(5)
    const rows = () =>
      db().$queryRaw<{ id: string; attempts: number; seconds: number }[]>`
        SELECT id, attempts, extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds
        FROM charges WHERE account_id = ${merchant.id}::uuid AND status = 'pending'
          AND lease IS NULL`
    return { merchant, bank, rows }
  }

  test('wait as long as the bank wants', async () => {
    const merchant = await openBankMerchant()
    const id = await openDueAtBank(merchant)
    const bank = Object.assign(new StubBank(), { answersMax: 0, answersRetryAfterMs: 90_000 })
    await expireWith(bank)
    const pauseS = await readPauseS(id)
    expect(pauseS).toBeGreaterThan(30)
    expect(pauseS).toBeLessThanOrEqual(90)
    await db().charge.update({
      where: { accountId_id: { accountId: merchant.id, id } },
      data: { dueAt: null },
    })
  })

  test('and no others either wait longer each time, and count attempts', async () => {
    const merchant = await openBankMerchant()
    const id = await openDueAtBank(merchant)
    const bank = Object.assign(new StubBank(), { answersMax: 0 })
    for (const maxS of [1, 2, 4, 8, 16, 32, 60, 60]) {
      await db().$executeRaw`UPDATE charges SET due_at = now() WHERE id = ${id}::uuid`
      await expireWith(bank)
      const pauseS = await readPauseS(id)
      expect(pauseS).toBeGreaterThan(maxS / 2 - 0.5)
      expect(pauseS).toBeLessThanOrEqual(maxS)
    }
    expect(await db().charge.findFirst({ where: { id } })).toMatchObject({ attempts: 8 })
    await db().charge.update({
      where: { accountId_id: { accountId: merchant.id, id } },
      data: { dueAt: null },
    })
  })

  const readPauseS = async (id: string) => {
    const [row] = await db().$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds FROM charges
      WHERE id = ${id}::uuid AND lease IS NULL`
    return row?.seconds ?? Number.NaN
  }

  test('stay pending, due again at once, and none counts as an attempt', async () => {
    const { merchant, rows } = await expireSome()
    const waiting = await rows()
    expect(waiting).toHaveLength(3)
    for (const { attempts, seconds } of waiting) {
      expect(attempts).toBe(0)
      expect(seconds).toBeLessThanOrEqual(1)
    }
    expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(2)
    const calls = await db().gatewayCall.findMany({
      where: { accountId: merchant.id, operation: 'getCharges' },
    })
    const unanswered = calls.filter(({ subjectId }) => waiting.some(({ id }) => id === subjectId))
    expect(unanswered.map(({ response }) => response)).toEqual(
      Array(3).fill({ state: 'unanswered' }),
    )
    await db().$executeRaw`UPDATE charges SET due_at = NULL WHERE account_id = ${merchant.id}::uuid`
  })

  test('are all credited by the next queries', async () => {
    const { merchant, bank, rows } = await expireSome()
    while ((await rows()).length > 0) {
      for (const { id } of await rows()) await makeDueAgain(id)
      await expireWith(bank)
    }
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 5_000, outbound: 0 })
    await expectBalancedLedger(merchant.id)
  })
})

test.each([
  ['blocks', { outcome: 'blocked', code: 'credentials', reason: 'invalid_client' }, 300],
  ['wants a pause', { outcome: 'retryable', reason: 'busy', retryAfterMs: 90_000 }, 90],
] as const)('while the bank %s a due charge waits and does not expire', async (_, result, s) => {
  const merchant = await openBankMerchant()
  const id = await openDueAtBank(merchant)
  const bank = new StubBank()
  bank.charges.set(removeHyphens(id), stateOf(id))
  bank.stall('before', async () => result)
  await expireWith(bank)
  const [row] = await db().$queryRaw<{ status: string; seconds: number }[]>`
    SELECT status, extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds FROM charges
    WHERE id = ${id}::uuid AND lease IS NULL`
  expect(row?.status).toBe('pending')
  expect(row?.seconds).toBeGreaterThan(s / 2)
  expect(row?.seconds).toBeLessThanOrEqual(s)
  await makeDueAgain(id)
  await expireWith(bank)
  expect(await statusOf(merchant, id)).toBe('paid')
  await expectBalancedLedger(merchant.id)
})

test('while the connection rests, its due charges wait unclaimed and do not expire', async () => {
  const merchant = await makeMerchant()
  const bank = new StubBank()
  const restingId = await connectBank(bank, merchant)
  const id = await openDueAtBank(merchant)
  bank.charges.set(removeHyphens(id), stateOf(id))
  await restConnection(restingId)
  // Longer than a process remembers that the connection worked.
  await expect.poll(() => breaker.restMs(restingId), { timeout: 20_000 }).toBeGreaterThan(0)
  expect(await expireDueCharges()).toBe(0)
  const row = await db().charge.findFirstOrThrow({ where: { id } })
  expect(row).toMatchObject({ status: 'pending', attempts: 0, lease: null })
  await endRest(restingId)
  await expect.poll(() => expireDueCharges(), { timeout: 20_000 }).toBe(1)
  expect(await statusOf(merchant, id)).toBe('paid')
  await expectBalancedLedger(merchant.id)
})

test('a failed call to the bank keeps the charge pending, due again within 15 s', async () => {
  const merchant = await openBankMerchant()
  const id = await openDueAtBank(merchant)
  const bank = new StubBank()
  bank.stall('before', () => Promise.reject(new Error('the line broke')))
  await expireWith(bank)
  expect(await statusOf(merchant, id)).toBe('pending')
  const [row] = await db().$queryRaw<{ seconds: number; lease: string | null }[]>`
    SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS seconds, lease FROM charges
    WHERE id = ${id}::uuid`
  expect(row?.lease).toBeNull()
  expect(row?.seconds).toBeGreaterThan(5)
  expect(row?.seconds).toBeLessThanOrEqual(15)
  await makeDueAgain(id)
  await expireWith(bank)
  expect(await statusOf(merchant, id)).toBe('expired')
  await expectBalancedLedger(merchant.id)
})

describe('an expired charge at a bank', () => {
  async function expireAtBank(merchant: Account, bank: StubBank): Promise<string> {
    const id = await openDueAtBank(merchant)
    bank.charges.set(removeHyphens(id), { state: 'open' })
    replaceBank(connectionId, bank)
    // Without the verifier, which could remove it in the same run.
    await withLease('charges', 10, due => queryAndEnd(bank, due))
    expect(await statusOf(merchant, id)).toBe('expired')
    return id
  }
  const readDue = async (id: string) => {
    const [row] = await db().$queryRaw<{ seconds: number | null }[]>`
      SELECT extract(epoch FROM due_at - updated_at)::float8 AS seconds FROM charges
      WHERE id = ${id}::uuid AND lease IS NULL`
    return row?.seconds
  }

  test('whose removal the bank blocks is removed 5 minutes later', async () => {
    const merchant = await openBankMerchant()
    const bank = new StubBank()
    const id = await expireAtBank(merchant, bank)
    bank.cancelBehaviors.push('blocked')
    await expireWith(bank)
    expect(await readDue(id)).toBeGreaterThan(290)
    await makeDueAgain(id)
    await expireWith(bank)
    expect(bank.charges.get(removeHyphens(id))).toEqual({ state: 'cancelled' })
  })

  test('is removed there, and then not asked about again', async () => {
    const merchant = await openBankMerchant()
    const bank = new StubBank()
    const id = await expireAtBank(merchant, bank)
    expect(await expireWith(bank)).toBe(1)
    expect(bank.cancelledIds).toEqual([removeHyphens(id)])
    expect(bank.charges.get(removeHyphens(id))).toEqual({ state: 'cancelled' })
    expect(await readDue(id)).toBeNull()
    expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
  })

  test.each(['lost', 'turned down'] as const)(
    'whose removal is not confirmed (%s) is credited when it is paid late',
    async behavior => {
      const merchant = await openBankMerchant()
      const bank = new StubBank()
      const id = await expireAtBank(merchant, bank)
      bank.cancelBehaviors.push(behavior)
      await expireWith(bank)
      expect(bank.charges.get(removeHyphens(id))).toEqual({ state: 'open' })
      bank.charges.set(removeHyphens(id), stateOf(id))
      await makeDueAgain(id)
      await expireWith(bank)
      expect(await findCharge(merchant.id, 'live', id)).toMatchObject({
        status: 'paid',
        end_to_end_id: endToEndIdOf(id),
      })
      expect(await readBalances(merchant.id, 'live')).toEqual({ available: 1_000, outbound: 0 })
      await makeDueAgain(id)
      await expireWith(bank)
      await expectBalancedLedger(merchant.id)
    },
  )

  test.each([
    [0, 60],
    [61, 600],
    [601, 3_600],
    [3_601, 86_400],
    [86_401, 2 * 86_400],
    [6.5 * 86_400, 7 * 86_400],
    [7 * 86_400 + 1, null],
  ])('%i s after it was closed is asked about again at %j s', async (ageS, thenS) => {
    const merchant = await openBankMerchant()
    const bank = new StubBank()
    const id = await expireAtBank(merchant, bank)
    await db().$executeRaw`
      UPDATE charges SET updated_at = now() - make_interval(secs => ${ageS}::float8)
      WHERE id = ${id}::uuid`
    bank.cancelBehaviors.push('lost')
    await expireWith(bank)
    expect(await readDue(id)).toBe(thenS)
    const where = { kind: 'removal_unconfirmed', key: removeHyphens(id) }
    const items = await db().difference.findMany({ where })
    const facts = { account_id: merchant.id, transaction_id: id, amount: 1_000 }
    expect(items).toMatchObject(thenS === null ? [{ facts }] : [])
  })

  test.each([
    ['while there is time to pay', 0, null],
    ['within a week', 86_401, 2 * 86_400],
    ['after a week', 7 * 86_400 + 1, null],
  ])('ends if its payment cannot be read: %s', async (when, ageS, thenS) => {
    const merchant = await openBankMerchant()
    const bank = new StubBank()
    const isPending = when.startsWith('while')
    const id = isPending ? await openDueAtBank(merchant) : await expireAtBank(merchant, bank)
    bank.charges.set(removeHyphens(id), { state: 'paid', payments: [] })
    if (!isPending)
      await db().$executeRaw`
        UPDATE charges SET updated_at = now() - make_interval(secs => ${ageS}::float8)
        WHERE id = ${id}::uuid`
    bank.cancelBehaviors.push('turned down')
    await expireWith(bank)
    expect(await statusOf(merchant, id)).toBe('expired')
    if (!isPending) expect(await readDue(id)).toBe(thenS)
    const where = { kind: 'removal_unconfirmed', key: removeHyphens(id) }
    const isOver = when === 'after a week'
    expect(await db().difference.count({ where })).toBe(isOver ? 1 : 0)
  })

  test('is asked about again a day later if the bank blocked the last question', async () => {
    const merchant = await openBankMerchant()
    const bank = new StubBank()
    const id = await expireAtBank(merchant, bank)
    await db().$executeRaw`
      UPDATE charges SET updated_at = now() - interval '30 days' WHERE id = ${id}::uuid`
    bank.cancelBehaviors.push('blocked')
    await expireWith(bank)
    expect(await readDue(id)).toBeGreaterThan(31 * 86_400 - 60)
    await makeDueAgain(id)
    await expireWith(bank)
    expect(bank.charges.get(removeHyphens(id))).toEqual({ state: 'cancelled' })
  })
})

test('a bank that hangs delays neither other connections nor questions about payments', async () => {
  const merchant = await openBankMerchant()
  const hanging = new StubBank()
  hanging.cancelCharge = () => new Promise(() => {})
  replaceBank(connectionId, hanging)
  const verifier = createVerifier()
  const expired = await openDueAtBank(merchant)
  hanging.charges.set(removeHyphens(expired), { state: 'open' })
  const runUntil = (id: string, status: string) =>
    expect
      .poll(async () => {
        await startExpiry(verifier)
        return statusOf(merchant, id)
      })
      .toBe(status)
  await runUntil(expired, 'expired')
  // Its removal hangs from here on.
  const { id } = await openLiveCharge(merchant)
  await db().$executeRaw`UPDATE charges SET due_at = now() WHERE id = ${id}::uuid`
  hanging.charges.set(removeHyphens(id), stateOf(id, 1_500))
  await runUntil(id, 'paid')
  const atSimulator = await openDueCharge(merchant)
  await connectBank(new StubBank(), merchant)
  const atOtherBank = await openDueAtBank(merchant)
  await runUntil(atSimulator, 'expired')
  await runUntil(atOtherBank, 'expired')
})

describe('a worker that lost its lease', () => {
  test.each([
    ['nothing', undefined],
    ['failed', { state: 'failed' }],
    ['paid', stateOf('00000000-0000-7000-8000-00000000ee2e')],
  ] as const)(
    'writes nothing when the bank reports %s; the new holder does',
    async (_, reported) => {
      const merchant = await openBankMerchant()
      const id = await openDueAtBank(merchant)
      const bank = new StubBank()
      if (reported) bank.charges.set(removeHyphens(id), reported)
      bank.stall('after', async () => {
        await makeDueAgain(id)
        expect(await claim('charges', 10)).toMatchObject([{ id }])
      })
      await expireWith(bank)
      expect(await statusOf(merchant, id)).toBe('pending')
      expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(0)
      expect(await readBalances(merchant.id, 'live')).toEqual({ available: 0, outbound: 0 })
      await makeDueAgain(id)
      await expireWith(bank)
      expect(await statusOf(merchant, id)).toBe(reported?.state ?? 'expired')
      expect(await db().event.count({ where: { accountId: merchant.id } })).toBe(1)
      await expectBalancedLedger(merchant.id)
    },
  )

  test('does not close a charge that the new holder has left pending', async () => {
    const merchant = await openBankMerchant()
    const id = await openDueAtBank(merchant)
    const bank = new StubBank()
    bank.charges.set(removeHyphens(id), { state: 'failed' })
    bank.stall('after', async () => {
      await makeDueAgain(id)
      const otherBank = new StubBank()
      otherBank.stall('before', async () => ({ outcome: 'unknown', reason: 'no answer' }))
      await expireWith(otherBank)
    })
    await expireWith(bank)
    expect(await statusOf(merchant, id)).toBe('pending')
    await db().charge.updateMany({ where: { id }, data: { dueAt: null } })
  })
})
