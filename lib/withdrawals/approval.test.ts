import { beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import type { Authority } from '#lib/db/sql.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import { signIn } from '#lib/testing/member.ts'
import { changeOrder, orderOf } from '#lib/testing/orders.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

// A database of its own: tests wait for its locks.
inOwnDatabase()

/** First and last instant of a day in São Paulo (UTC−3), and the first of the next. */
const DAY_BEGINS = new Date('2026-11-20T03:00:00.000Z')
const DAY_ENDS = new Date('2026-11-21T02:59:59.999Z')
const NEXT_DAY = new Date('2026-11-21T03:00:00.000Z')

let merchant: Account
beforeEach(async () => {
  merchant = await makeMerchant()
  for (const role of ['owner', 'finance'] as const) await signIn(merchant, role)
  await fundMerchant(merchant, 100_000)
  await setRule({ approvalDayAbove: 10_000 })
})

const setRule = (rule: { approvalDayAbove?: number; approvalAbove?: number }) =>
  db().account.update({ where: { id: merchant.id }, data: { approvalNewKeys: false, ...rule } })

async function withdraw(
  amount: number,
  bookedAt?: Date,
  account: Authority = merchant.id,
): Promise<string> {
  const dictKey = `key-${newId()}@example.com`
  const key = { pixKeyType: 'email', pixKey: dictKey, dictKey } as const
  return (await insertWithdrawal(account, 'test', { amount, ...key, bookedAt })).id
}

async function reasonOf(id: string): Promise<string | null> {
  const key = { accountId: merchant.id, id }
  const row = await db().withdrawal.findUniqueOrThrow({ where: { accountId_id: key } })
  const { state, dueAt } = await orderOf(id)
  expect(state).toBe(row.approvalReason === null ? 'waiting' : 'held')
  expect(dueAt === null).toBe(row.approvalReason !== null)
  return row.approvalReason
}

const request = async (amount: number, bookedAt = DAY_BEGINS) =>
  reasonOf(await withdraw(amount, bookedAt))

describe('the sum of a day in the rule of approval', () => {
  test('lets exactly the amount pass, and not a cent more', async () => {
    expect(await request(4_000)).toBeNull()
    expect(await request(6_000, DAY_ENDS)).toBeNull()
    expect(await request(4_000, NEXT_DAY)).toBeNull()
    expect(await request(6_001, NEXT_DAY)).toBe('day_amount')
    await expectBalancedLedger(merchant.id)
  })

  test('begins anew at midnight in São Paulo', async () => {
    expect(await request(5_000, NEXT_DAY)).toBeNull()
    expect(await request(10_000, DAY_ENDS)).toBeNull()
    expect(await request(5_000, NEXT_DAY)).toBeNull()
  })

  test('counts what waits for approval, and not what was rejected', async () => {
    const waiting = await withdraw(10_001, DAY_BEGINS)
    expect(await reasonOf(waiting)).toBe('day_amount')
    const counted = await withdraw(1_000, DAY_BEGINS)
    expect(await reasonOf(counted)).toBe('day_amount')
    const data = { approvalDueAt: null }
    await db().withdrawal.updateMany({ where: { id: waiting }, data })
    await changeOrder(waiting, { state: 'waiting', dueAt: new Date() })
    const reason = { code: 'unspecified', params: {} } as const
    await rejectWithdrawal({ accountId: merchant.id, withdrawalId: waiting, reason })
    expect(await request(9_000)).toBeNull()
    expect(await request(1_000)).toBe('day_amount')
  })

  test('counts each mode by itself', async () => {
    const connectionId = await addConnection(new StubBank())
    const id = newId()
    const key = { pixKeyType: 'email', pixKey: 'a@example.com', dictKey: 'a@example.com' }
    const place = { accountId: merchant.id, mode: 'live', connectionId, createdAt: DAY_BEGINS }
    await db().withdrawal.create({
      data: { id, ...place, status: 'pending', amount: 10_000, ...key },
    })
    expect(await request(10_000)).toBeNull()
    await db().withdrawal.delete({ where: { accountId_id: { accountId: merchant.id, id } } })
  })

  test('is that of today without a booking time', async () => {
    await withdraw(10_000, DAY_BEGINS)
    expect(await reasonOf(await withdraw(10_000))).toBeNull()
    // The day may change between the two.
    const outcomes = [
      await reasonOf(await withdraw(10_000)),
      await reasonOf(await withdraw(10_000)),
    ]
    expect(outcomes).toContain('day_amount')
  })

  test('is not the reason of what waits for another', async () => {
    await setRule({ approvalDayAbove: 10_000, approvalAbove: 20_000 })
    expect(await request(20_001)).toBe('amount')
    expect(await request(1_000)).toBe('day_amount')
  })

  test.each(['a program', 'a member'])('of two requests of %s that meet, one waits', async who => {
    const lockMember = () => Promise.resolve()
    const account = who === 'a member' ? { id: merchant.id, lockMember } : merchant.id
    const [first, second] = await withClient(async client => {
      await client.query('BEGIN')
      await client.query("SELECT pg_advisory_xact_lock(troco_books_key($1, 'test'))", [merchant.id])
      // Of one time, those of a program would share a statement.
      const ids = Promise.all([DAY_BEGINS, DAY_ENDS].map(at => withdraw(6_000, at, account)))
      await untilLocked(2)
      await client.query('COMMIT')
      return Promise.all((await ids).map(reasonOf))
    })
    expect([first, second].sort()).toEqual(['day_amount', null])
    await expectBalancedLedger(merchant.id)
  })
})
