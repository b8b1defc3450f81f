import { expect, test } from 'vitest'
import { db } from '#lib/db/client.ts'
import { verifyPassword } from '#lib/people/password.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { openAccountWithOwner } from '#lib/testing/verified.ts'
import { createDemoData, DEMO_MERCHANT } from '#prisma/seed.ts'

inOwnDatabase()

test('after an interrupted seed, its account is suspended and one complete demo account is made', async () => {
  const begun = await openAccountWithOwner('Loja', DEMO_MERCHANT)
  const account = await createDemoData('first-password')
  expect(account.id).not.toBe(begun.id)
  const left = await db().account.findUniqueOrThrow({ where: { id: begun.id } })
  expect(left.status).toBe('suspended')
  expect((await createDemoData('second-password')).id).toBe(account.id)
  const user = await db().user.findUniqueOrThrow({ where: { email: DEMO_MERCHANT } })
  expect(await verifyPassword('second-password', user.passwordHash)).toBe(true)
  expect(await db().membership.count({ where: { userId: user.id } })).toBe(1)
})

test('the demo account received R$ 25.000,00 in 90 days and has payments in every state', async () => {
  const { id: accountId } = await createDemoData('second-password')
  const paid = await db().charge.findMany({ where: { accountId, status: 'paid' } })
  expect(paid.reduce((sum, charge) => sum + charge.amount, 0n)).toBe(2_500_000n)
  const oldest = Math.min(...paid.map(({ paidAt }) => paidAt?.getTime() ?? 0))
  expect((Date.now() - oldest) / 86_400_000).toBeCloseTo(90, 0)
  const charges = await db().charge.groupBy({ by: ['status'], where: { accountId }, _count: true })
  expect(charges.map(({ status }) => status).sort()).toEqual([
    'expired',
    'failed',
    'paid',
    'pending',
  ])
  const withdrawals = await db().withdrawal.findMany({ where: { accountId } })
  expect(withdrawals.map(({ status }) => status).sort()).toEqual([
    'approved',
    'pending',
    'rejected',
  ])
  const deliveries = await db().delivery.findMany({ where: { accountId } })
  const states = new Set(deliveries.map(({ status }) => status))
  expect(states).toContain('delivered')
  expect(states).toContain('exhausted')
  const attempts = await db().$queryRaw<{ hours: number }[]>`
    SELECT extract(epoch FROM t.created_at - c.paid_at)::float8 / 3600 AS hours
    FROM delivery_attempts t
    JOIN deliveries d ON d.account_id = t.account_id AND d.id = t.delivery_id
    JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
    JOIN charges c ON c.account_id = e.account_id AND c.id = e.subject_id
    WHERE t.account_id = ${accountId}::uuid AND t.created_at <= now()`
  expect(attempts).toHaveLength(8)
  expect(Math.min(...attempts.map(({ hours }) => hours))).toBeGreaterThan(0)
  const [times] = await db().$queryRaw<Record<string, boolean>[]>`
    SELECT bool_and(d.created_at = c.paid_at) AS delivery,
      bool_and(t.first >= d.created_at) AS attempts, bool_and(t.last <= d.updated_at) AS outcome,
      bool_and(d.updated_at < now() - interval '1 hour') AS past
    FROM deliveries d JOIN charges c ON c.account_id = d.account_id AND c.id = d.subject_id
    CROSS JOIN LATERAL (SELECT min(a.created_at) AS first, max(a.created_at) AS last
      FROM delivery_attempts a WHERE a.account_id = d.account_id AND a.delivery_id = d.id) t
    WHERE d.account_id = ${accountId}::uuid AND d.attempts > 0`
  const isRight = { delivery: true, attempts: true, outcome: true, past: true }
  expect(times).toEqual(isRight)
  expect(await db().charge.count({ where: { accountId, status: 'pending', dueAt: null } })).toBe(0)
  expect(await readBalances(accountId, 'test')).toEqual({ available: 1_710_000, outbound: 150_000 })
  await expectBalancedLedger(accountId)
})

test('no statement settles more than 8 charges, and the balance grows in the order of time', async () => {
  const { id: accountId } = await createDemoData('second-password')
  const statements = await db().$queryRaw<{ charges: number }[]>`
    SELECT count(*)::int AS charges FROM booked_payments
    WHERE account_id = ${accountId}::uuid GROUP BY xmin::text`
  expect(Math.max(...statements.map(({ charges }) => charges))).toBe(8)
  const entries = await db().ledgerEntry.findMany({
    where: { accountId, ledger: 'available', kind: 'charge_paid' },
    orderBy: { version: 'asc' },
  })
  const times = entries.map(({ createdAt }) => createdAt.getTime())
  expect(times).toHaveLength(72)
  expect(times).toEqual(times.toSorted((one, other) => one - other))
})
