import { beforeAll, describe, expect, test } from 'vitest'
import type { Account, AccountLimits } from '#lib/accounts/schema.ts'
import { limitAccount } from '#lib/accounts/settings.ts'
import { limitConnection } from '#lib/banks/connections.ts'
import { connectionIn } from '#lib/banks/served.ts'
import { insertCharge } from '#lib/charges/create.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { ExceededLimit } from '#lib/core/refusals.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

// A database of its own: these live withdrawals stay due.
inOwnDatabase()

let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(new StubBank())
})

const KEY = { pixKeyType: 'cpf', pixKey: '529.982.247-25', dictKey: '52998224725' } as const
const NO_LIMITS = { charge_max: null, withdrawal_max: null, night_max: null, day_max: null }
const ACTOR = { type: 'system' } as const
/** Times inside and just outside one night in São Paulo (UTC−3). */
const DAY_BEFORE = '2026-11-20T22:59:59.999Z'
const [EVENING, MIDNIGHT, MORNING] = [
  '2026-11-20T23:00:00.000Z',
  '2026-11-21T03:30:00.000Z',
  '2026-11-21T08:59:59.999Z',
]
const DAY_AFTER = '2026-11-21T09:00:00.000Z'

function openLive({ id: accountId }: Account, amount: number, mode: Mode = 'live') {
  const id = newId()
  const terms = {
    txid: removeHyphens(id),
    amount,
    expiresInSeconds: 60,
    merchantName: 'Loja',
    merchantCity: 'Recife',
    payerName: CHARGE.client_name,
    payerEmail: CHARGE.client_email,
    payerDoc: CHARGE.client_doc,
  }
  const place = { mode, connectionId: connectionIn(mode, connectionId) ?? '' }
  const chargeKey = { accountId, id, ...place, ip: null }
  return insertCharge(
    { ...chargeKey, request: { ...CHARGE, amount }, terms, once: undefined },
    null,
  ).then(() => id)
}

async function receiveLive(merchant: Account, amount: number): Promise<void> {
  const chargeId = await openLive(merchant, amount)
  await db().charge.updateMany({
    where: { accountId: merchant.id, id: chargeId },
    data: { status: 'pending', brCode: 'a code' },
  })
  await receivePayments([{ accountId: merchant.id, chargeId, payments: [makePayment(amount)] }])
}

async function makeLimitedMerchant(
  limits: Partial<AccountLimits>,
  funds = 1_000_000,
): Promise<Account> {
  const merchant = await makeMerchant()
  await receiveLive(merchant, funds)
  await limitAccount(merchant.id, { ...NO_LIMITS, ...limits }, ACTOR)
  return merchant
}

function withdraw(
  { id }: Account,
  amount: number,
  at?: string,
  {
    mode = 'live',
    through = mode === 'live' ? connectionId : undefined,
  }: { mode?: Mode; through?: string } = {},
) {
  const bookedAt = at ? new Date(at) : undefined
  return insertWithdrawal(id, mode, { amount, ...KEY, bookedAt, connectionId: through })
}

const limitError = (limit: Partial<ExceededLimit>) => ({ code: 'limit_exceeded', limit })

describe('the limit of a charge', () => {
  test('allows exactly the limit and not a cent more', async () => {
    const merchant = await makeLimitedMerchant({ charge_max: 100_000 })
    const limit = { name: 'account_charge', amount: 100_000, freesAt: null } as const
    await expect(openLive(merchant, 100_001)).rejects.toMatchObject(limitError(limit))
    const id = await openLive(merchant, 100_000)
    expect(await db().charge.count({ where: { accountId: merchant.id, id } })).toBe(1)
  })
})

describe('the limit of a withdrawal', () => {
  test('allows exactly the limit and not a cent more; a refused one holds nothing', async () => {
    const merchant = await makeLimitedMerchant({ withdrawal_max: 5_000 })
    const limit = { name: 'account_withdrawal', amount: 5_000, freesAt: null } as const
    await expect(withdraw(merchant, 5_001)).rejects.toMatchObject(limitError(limit))
    expect(await readBalances(merchant.id, 'live')).toEqual({ available: 1_000_000, outbound: 0 })
    await withdraw(merchant, 5_000)
    expect((await readBalances(merchant.id, 'live')).outbound).toBe(5_000)
    await expectBalancedLedger(merchant.id)
  })
})

describe('the limit of a night', () => {
  const limit = { name: 'account_night', amount: 10_000, freesAt: new Date(DAY_AFTER) } as const

  test('is reached and never exceeded by 50 concurrent withdrawals', async () => {
    const merchant = await makeLimitedMerchant({ night_max: 10_000 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        withdraw(merchant, 1_100, [EVENING, MIDNIGHT, MORNING][index % 3]),
      ),
    )
    const accepted = outcomes.filter(({ status }) => status === 'fulfilled')
    expect(accepted).toHaveLength(9)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(limitError(limit))
    }
    expect((await readBalances(merchant.id, 'live')).outbound).toBe(9_900)
    await expectBalancedLedger(merchant.id)
  })

  test('applies from 20:00 until 06:00 in São Paulo, and not outside of these hours', async () => {
    const merchant = await makeLimitedMerchant({ night_max: 10_000 })
    await withdraw(merchant, 50_000, DAY_BEFORE)
    await withdraw(merchant, 50_000, DAY_AFTER)
    await withdraw(merchant, 6_000, EVENING)
    await withdraw(merchant, 4_000, MORNING)
    await expect(withdraw(merchant, 1_000, MIDNIGHT)).rejects.toMatchObject(limitError(limit))
  })

  test('is checked after the external_id: a repeated one is refused as external_id_used', async () => {
    const merchant = await makeLimitedMerchant({ night_max: 10_000 })
    const createAgain = () =>
      insertWithdrawal(merchant.id, 'live', {
        amount: 10_000,
        ...KEY,
        externalId: 'payroll-7',
        bookedAt: new Date(EVENING),
        connectionId,
      })
    await createAgain()
    await expect(createAgain()).rejects.toMatchObject({ code: 'external_id_used' })
    expect((await readBalances(merchant.id, 'live')).outbound).toBe(10_000)
    await expectBalancedLedger(merchant.id)
  })

  test('does not count rejected withdrawals', async () => {
    const merchant = await makeLimitedMerchant({ night_max: 10_000 })
    const { id } = await withdraw(merchant, 10_000, EVENING)
    await expect(withdraw(merchant, 1_000, MIDNIGHT)).rejects.toMatchObject(limitError(limit))
    await db().withdrawal.updateMany({
      where: { accountId: merchant.id, id },
      data: { status: 'rejected', rejectedAt: new Date(), rejectionReason: 'no such key' },
    })
    await withdraw(merchant, 1_000, MIDNIGHT)
  })
})

/** Start and end of a day in São Paulo (UTC−3). */
const [DAY_BEGINS, DAY_ENDS] = ['2026-11-20T03:00:00.000Z', '2026-11-21T03:00:00.000Z']

describe('the limit of a day', () => {
  const limit = { name: 'account_day', amount: 10_000, freesAt: new Date(DAY_ENDS) } as const

  test('is reached and never exceeded by 50 concurrent withdrawals', async () => {
    const merchant = await makeLimitedMerchant({ day_max: 10_000 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        withdraw(merchant, 1_100, [DAY_BEGINS, DAY_BEFORE, EVENING][index % 3]),
      ),
    )
    const refused = outcomes.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused).toHaveLength(41)
    for (const reason of refused) expect(reason).toMatchObject(limitError(limit))
    expect((await readBalances(merchant.id, 'live')).outbound).toBe(9_900)
    await expectBalancedLedger(merchant.id)
  })

  test('counts from midnight to midnight in São Paulo, without rejected withdrawals', async () => {
    const merchant = await makeLimitedMerchant({ day_max: 10_000 })
    await withdraw(merchant, 10_000, '2026-11-20T02:59:59.999Z')
    await withdraw(merchant, 10_000, DAY_ENDS)
    const { id } = await withdraw(merchant, 10_000, DAY_BEGINS)
    await expect(withdraw(merchant, 1_000, EVENING)).rejects.toMatchObject(limitError(limit))
    const reason = { code: 'unspecified', params: {} } as const
    await rejectWithdrawal({ accountId: merchant.id, withdrawalId: id, reason })
    await withdraw(merchant, 1_000, EVENING)
    await expectBalancedLedger(merchant.id)
  })

  test('never frees for an amount above it; of two limits, the one that frees last is named', async () => {
    const merchant = await makeLimitedMerchant({ day_max: 10_000, night_max: 0 })
    const expectRefusal = (amount: number, at: string, limit: Partial<ExceededLimit>) =>
      expect(withdraw(merchant, amount, at)).rejects.toMatchObject(limitError(limit))
    await expectRefusal(10_001, DAY_BEFORE, { name: 'account_day', freesAt: null })
    await expectRefusal(1_000, EVENING, { name: 'account_night', amount: 0 })
    await withdraw(merchant, 10_000, DAY_AFTER)
    const freesAt = new Date('2026-11-22T03:00:00Z')
    await expectRefusal(1_000, '2026-11-21T05:00:00Z', { name: 'account_day', freesAt })
  })
})

describe('the limits of a connection', () => {
  const limitedConnection = async (limits: Parameters<typeof limitConnection>[1]) => {
    const id = await addConnection(new StubBank())
    await limitConnection(id, limits, ACTOR)
    return { through: id }
  }

  test('per payout: exactly the limit is accepted and not a cent more', async () => {
    const merchant = await makeLimitedMerchant({})
    const by = await limitedConnection({ payout_max: 5_000 })
    const limit = { name: 'connection_withdrawal', amount: 5_000, freesAt: null } as const
    await expect(withdraw(merchant, 5_001, undefined, by)).rejects.toMatchObject(limitError(limit))
    await withdraw(merchant, 5_000, undefined, by)
    await withdraw(merchant, 5_001)
  })

  test('per day: is never exceeded by concurrent withdrawals of several accounts', async () => {
    const merchants = await Promise.all(Array.from({ length: 4 }, () => makeLimitedMerchant({})))
    const by = await limitedConnection({ payout_day_max: 10_000 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) =>
        withdraw(merchants[index % 4] as Account, 1_100, EVENING, by),
      ),
    )
    // Its amount stays secret: it says how much other accounts pay out.
    const limit = { name: 'connection_day', amount: null, freesAt: new Date(DAY_ENDS) } as const
    const refused = outcomes.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    expect(refused).toHaveLength(31)
    for (const reason of refused) expect(reason).toMatchObject(limitError(limit))
    for (const { id } of merchants) await expectBalancedLedger(id)
    await withdraw(merchants[0] as Account, 10_000, DAY_ENDS, by)
  })

  test('per day: of two accounts whose requests meet, the second sees what the first has taken', async () => {
    const merchants = await Promise.all([makeLimitedMerchant({}), makeLimitedMerchant({})])
    const by = await limitedConnection({ payout_day_max: 10_000 })
    await withClient(async client => {
      await client.query('BEGIN')
      await client.query('SELECT FROM connections WHERE id = $1 FOR NO KEY UPDATE', [by.through])
      const requests = merchants.map(merchant => withdraw(merchant, 6_000, EVENING, by))
      const outcomes = Promise.allSettled(requests)
      // Both have written their withdrawal, and wait to read what the other has.
      const waiting = `SELECT FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`
      await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(2)
      await client.query('COMMIT')
      const refused = (await outcomes).flatMap(one => ('reason' in one ? [one.reason] : []))
      expect(refused).toMatchObject([limitError({ name: 'connection_day' })])
    })
    for (const { id } of merchants) await expectBalancedLedger(id)
  })

  test('are set one by one, removed by null, and audited with what changed', async () => {
    const id = await addConnection(new StubBank())
    const set = (limits: Parameters<typeof limitConnection>[1]) =>
      limitConnection(id, limits, ACTOR)
    expect(await set({ payout_max: 5_000 })).toEqual({ payout_max: 5_000, payout_day_max: null })
    expect(await set({ payout_day_max: 9 })).toEqual({ payout_max: 5_000, payout_day_max: 9 })
    expect(await set({ payout_max: null })).toEqual({ payout_max: null, payout_day_max: 9 })
    expect(await set({})).toEqual({ payout_max: null, payout_day_max: 9 })
    await expect(set({ payout_max: Number.NaN })).rejects.toMatchObject({ code: 'invalid_input' })
    const where = { action: 'connection.limited', target: id }
    const records = await db().auditRecord.findMany({ where, orderBy: { id: 'asc' } })
    expect(records.map(({ before, after }) => [before, after])).toEqual([
      [{ payout_max: null }, { payout_max: 5_000 }],
      [{ payout_day_max: null }, { payout_day_max: 9 }],
      [{ payout_max: 5_000 }, { payout_max: null }],
    ])
  })
})

test('test mode has no limits', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 1_000_000)
  await limitAccount(
    merchant.id,
    { charge_max: 500, withdrawal_max: 1, night_max: 0, day_max: 0 },
    ACTOR,
  )
  await fundMerchant(merchant, 100_000)
  for (const at of [undefined, MIDNIGHT]) await withdraw(merchant, 100_000, at, { mode: 'test' })
  expect((await readBalances(merchant.id, 'test')).outbound).toBe(200_000)
  await expectBalancedLedger(merchant.id)
})
