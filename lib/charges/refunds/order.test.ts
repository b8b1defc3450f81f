import { describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { spiRefusal } from '#lib/banks/gateway.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import {
  completeRefund,
  createRefund,
  findRefund,
  rejectRefund,
} from '#lib/charges/refunds/refund.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { pickFields } from '#lib/core/fields.ts'
import { newId } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { onWake, type Topic } from '#lib/db/wake.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { addEndpoint } from '#lib/testing/deliveries.ts'
import {
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
} from '#lib/testing/fixtures.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

// A database of its own: deadlocks are counted, and triggers make tables fail.
inOwnDatabase()

const makeReturnId = () => `D${newId().replaceAll('-', '').slice(0, 31)}`

async function payCharge(merchant: Account, request: object = {}): Promise<string> {
  const { id } = await createCharge(merchant, 'test', { ...CHARGE, ...request }, null)
  await simulateCharge(merchant.id, id, 'paid')
  return id
}

async function openRefund(request: object = {}) {
  const merchant = await makeMerchant()
  const chargeId = await payCharge(merchant, { amount: 10_000, ...request })
  const order = { amount: 3_000, reason: 'Returned' }
  const { id } = await createRefund(merchant.id, 'test', chargeId, order)
  return { merchant, chargeId, settlement: { accountId: merchant.id, refundId: id } }
}

async function readRefundTotals(merchant: Account, id: string) {
  const where = { accountId_id: { accountId: merchant.id, id } }
  const { refundedAmount, refundHeldAmount } = await db().charge.findUniqueOrThrow({ where })
  return { refunded: Number(refundedAmount), held: Number(refundHeldAmount) }
}

function eventsOf(merchant: Account) {
  return db().event.findMany({
    where: { accountId: merchant.id, type: { contains: 'refund' } },
    orderBy: { sequence: 'asc' },
  })
}

function withNumbers(row: object): object {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? Number(value) : value,
  ])
  return Object.fromEntries(entries)
}

test('a completed refund debits the held amount, and the charge counts it as refunded', async () => {
  const { merchant, chargeId, settlement } = await openRefund()
  const bankReturnId = makeReturnId()
  const row = await completeRefund({ ...settlement, returnId: bankReturnId })
  expect(row).toMatchObject({
    id: settlement.refundId,
    transaction_id: chargeId,
    status: 'completed',
    return_id: bankReturnId,
    completed_at: expect.stringMatching(/\.\d{6}Z$/),
    rejected_at: null,
    rejection_reason: null,
  })
  expect(await findRefund(merchant.id, 'test', chargeId, settlement.refundId)).toEqual(row)
  expect(await readRefundTotals(merchant, chargeId)).toEqual({ refunded: 3_000, held: 0 })
  expect(await findCharge(merchant.id, 'test', chargeId)).toMatchObject({
    status: 'paid',
    refunded_amount: 3_000,
  })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
  const order = await db().bankOrder.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(order).toMatchObject({ state: 'done', dueAt: null, lease: null })
  await expectBalancedLedger(merchant.id)
})

test('a rejected refund returns the held amount, which can be refunded again', async () => {
  const { merchant, chargeId, settlement } = await openRefund()
  const row = await rejectRefund({ ...settlement, reason: spiRefusal('AC07', 'Conta encerrada') })
  expect(row).toMatchObject({
    status: 'rejected',
    rejection_reason: 'The receiving account is closed',
    rejected_at: expect.stringMatching(/\.\d{6}Z$/),
    completed_at: null,
    return_id: null,
  })
  const stored = await db().refund.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(stored).toMatchObject({
    rejectionCode: 'account_closed',
    rejectionParams: {},
    bankText: 'Conta encerrada',
  })
  expect(await readRefundTotals(merchant, chargeId)).toEqual({ refunded: 0, held: 0 })
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 10_000, outbound: 0 })
  expect(await createRefund(merchant.id, 'test', chargeId, {})).toMatchObject({ amount: 10_000 })
  await expectBalancedLedger(merchant.id)
})

describe('the event', () => {
  const items = [{ sku: 1, name: 'Pão', extra: { deep: [1.5, null] } }]
  const request = { webhook_url: 'https://shop.example.com/hook', items, metadata: { b: 1, a: 2 } }

  test.each(['completed', 'rejected'] as const)(
    'of a %s refund contains the charge in its new state and the refund',
    async outcome => {
      const { merchant, chargeId, settlement } = await openRefund(request)
      const row =
        outcome === 'completed'
          ? await completeRefund({ ...settlement, returnId: makeReturnId() })
          : await rejectRefund({ ...settlement, reason: REFUSAL })
      const [event, ...others] = await eventsOf(merchant)
      expect(others).toEqual([])
      const type = outcome === 'completed' ? 'transaction.refunded' : 'transaction.refund_failed'
      expect(event).toMatchObject({ type, sequence: 2n, mode: 'test', subjectId: chargeId })
      const charge = await findCharge(merchant.id, 'test', chargeId)
      const refund = row && pickFields(RefundDetail.shape, row)
      // The reference is of API Pix alone.
      const resource = { ...withNumbers(charge ?? {}), refund, refund_reference: null }
      expect(event?.resource).toEqual(resource)
      expect(resource).toMatchObject({ refunded_amount: outcome === 'completed' ? 3_000 : 0 })
      const eventResource = event?.resource as { refund: object } | undefined
      expect(Object.keys(eventResource?.refund ?? {})).toEqual(Object.keys(refund ?? {}))
    },
  )

  test("contains the merchant's own fields byte for byte", async () => {
    const { merchant, settlement } = await openRefund(request)
    await completeRefund({ ...settlement, returnId: makeReturnId() })
    const [stored] = await db().$queryRaw<{ text: string }[]>`
      SELECT resource::text AS text FROM events
      WHERE account_id = ${merchant.id}::uuid AND type = 'transaction.refunded'`
    expect(stored?.text).toContain(`"items":${JSON.stringify(items)}`)
    expect(stored?.text).toContain('"metadata":{"b":1,"a":2}')
  })

  test("is delivered to an endpoint, after the payment's event, and not to the charge's webhook_url", async () => {
    const { merchant, chargeId, settlement } = await openRefund(request)
    const { id: endpointId } = await addEndpoint(merchant, 'https://shop.example.com/endpoint')
    await completeRefund({ ...settlement, returnId: makeReturnId() })
    const deliveries = await db().delivery.findMany({
      where: { accountId: merchant.id },
      orderBy: { sequence: 'asc' },
    })
    const expected = { subjectId: chargeId, status: 'pending' }
    expect(deliveries).toMatchObject([
      { sequence: 1n, endpointId: null, url: request.webhook_url, ...expected },
      { sequence: 2n, endpointId, ...expected },
    ])
  })
})

describe('concurrently', () => {
  test('20 completions move the money once and record one event', async () => {
    const { merchant, chargeId, settlement } = await openRefund()
    const bankReturnId = makeReturnId()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => completeRefund({ ...settlement, returnId: bankReturnId })),
    )
    expect(outcomes.filter(row => row !== null)).toHaveLength(1)
    expect(await readRefundTotals(merchant, chargeId)).toEqual({ refunded: 3_000, held: 0 })
    expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 0 })
    expect(await eventsOf(merchant)).toHaveLength(1)
    await expectBalancedLedger(merchant.id)
  })

  test('of completions and rejections one wins, in row, ledger and event', async () => {
    for (let round = 0; round < 5; round++) {
      const { merchant, chargeId, settlement } = await openRefund()
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          index % 2
            ? completeRefund({ ...settlement, returnId: makeReturnId() })
            : rejectRefund({ ...settlement, reason: REFUSAL }),
        ),
      )
      const [won, ...others] = outcomes.filter(row => row !== null)
      expect(others).toEqual([])
      const refunded = won?.status === 'completed' ? 3_000 : 0
      expect(await readRefundTotals(merchant, chargeId)).toEqual({ refunded, held: 0 })
      expect(await readBalances(merchant.id, 'test')).toEqual({
        available: 10_000 - refunded,
        outbound: 0,
      })
      const type = refunded ? 'transaction.refunded' : 'transaction.refund_failed'
      expect(await eventsOf(merchant)).toMatchObject([{ type }])
      await expectBalancedLedger(merchant.id)
    }
  })

  test('creating, completing and rejecting refunds of one charge does not deadlock', async () => {
    const merchant = await makeMerchant()
    const chargeId = await payCharge(merchant, { amount: 100_000 })
    await fundMerchant(merchant, 200_000)
    const order = { amount: 1_000 }
    const refunds = await Promise.all(
      Array.from({ length: 30 }, () => createRefund(merchant.id, 'test', chargeId, order)),
    )
    const withdrawals = await Promise.all(
      Array.from({ length: 30 }, () =>
        createWithdrawal(merchant.id, 'test', { amount: 1_000, ...KEY }),
      ),
    )
    const charges = await Promise.all(refunds.map(() => openCharge(merchant, 1_000)))
    const deadlocksBefore = await countDeadlocks()
    const outcomes = await Promise.allSettled(
      refunds.flatMap(({ id }, index) => {
        const settlement = { accountId: merchant.id, refundId: id }
        const withdrawal = { accountId: merchant.id, withdrawalId: withdrawals[index]?.id ?? '' }
        return [
          createRefund(merchant.id, 'test', chargeId, order),
          index % 2
            ? completeRefund({ ...settlement, returnId: makeReturnId() })
            : rejectRefund({ ...settlement, reason: REFUSAL }),
          index % 3
            ? approveWithdrawal({ ...withdrawal, endToEndId: `E${newId()}` })
            : rejectWithdrawal({ ...withdrawal, reason: REFUSAL }),
          simulateCharge(merchant.id, charges[index]?.id ?? '', 'paid'),
        ]
      }),
    )
    expect(outcomes.filter(outcome => outcome.status === 'rejected')).toEqual([])
    expect(await countDeadlocks()).toBe(deadlocksBefore)
    expect(await readRefundTotals(merchant, chargeId)).toEqual({ refunded: 15_000, held: 30_000 })
    expect(await readBalances(merchant.id, 'test')).toEqual({
      available: 300_000 + 30_000 - 15_000 - 30_000 - 20_000,
      outbound: 30_000,
    })
    const events = await db().event.findMany({
      where: { accountId: merchant.id },
      orderBy: { sequence: 'asc' },
    })
    expect(events.map(event => Number(event.sequence))).toEqual(events.map((_, index) => index + 1))
    await expectBalancedLedger(merchant.id)
  }, 30_000)
})

/**
 * Counts the deadlocks of this database. PostgreSQL resolves one only after deadlock_timeout (1 s);
 * the code then retries.
 */
async function countDeadlocks(): Promise<number> {
  const [row] = await db().$queryRaw<{ deadlocks: bigint }[]>`
    SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
  return Number(row?.deadlocks)
}

test('a final state does not change: a later result returns null and moves nothing', async () => {
  const completed = await openRefund()
  await completeRefund({ ...completed.settlement, returnId: makeReturnId() })
  expect(await rejectRefund({ ...completed.settlement, reason: REFUSAL })).toBeNull()
  const rejected = await openRefund()
  await rejectRefund({ ...rejected.settlement, reason: REFUSAL })
  expect(await completeRefund({ ...rejected.settlement, returnId: makeReturnId() })).toBeNull()
  for (const { merchant, available } of [
    { ...completed, available: 7_000 },
    { ...rejected, available: 10_000 },
  ]) {
    expect(await readBalances(merchant.id, 'test')).toEqual({ available, outbound: 0 })
    expect(await eventsOf(merchant)).toHaveLength(1)
    await expectBalancedLedger(merchant.id)
  }
})

test('an unknown refund, or one of another merchant, is not settled', async () => {
  const { merchant, settlement } = await openRefund()
  const otherMerchant = await makeMerchant()
  const foreign = { ...settlement, accountId: otherMerchant.id }
  expect(await completeRefund({ ...foreign, returnId: makeReturnId() })).toBeNull()
  expect(await rejectRefund({ ...foreign, reason: REFUSAL })).toBeNull()
  const missing = { ...settlement, refundId: newId() }
  expect(await rejectRefund({ ...missing, reason: REFUSAL })).toBeNull()
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: 7_000, outbound: 3_000 })
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(otherMerchant.id)
})

test('a return id proves one refund; using it for a second one is refused without any write', async () => {
  const [first, second] = [await openRefund(), await openRefund()]
  const bankReturnId = makeReturnId()
  await completeRefund({ ...first.settlement, returnId: bankReturnId })
  await expect(completeRefund({ ...second.settlement, returnId: bankReturnId })).rejects.toThrow()
  expect(await readRefundTotals(second.merchant, second.chargeId)).toEqual({
    refunded: 0,
    held: 3_000,
  })
  expect(await eventsOf(second.merchant)).toEqual([])
  await expectBalancedLedger(first.merchant.id)
  await expectBalancedLedger(second.merchant.id)
})

describe('a settlement that fails at any table writes nothing', () => {
  const TABLES = [
    'charges',
    'refunds',
    'ledger_accounts',
    'ledger_transfers',
    'ledger_entries',
    'events',
    'event_sequences',
    'deliveries',
    'idempotency_keys',
  ]

  async function rowsOf(merchant: Account): Promise<unknown> {
    const rows = await Promise.all(
      TABLES.map(
        table => db().$queryRaw<{ rows: unknown }[]>`
          SELECT json_agg(t ORDER BY t::text) AS rows FROM ${Prisma.raw(table)} t
          WHERE account_id = ${merchant.id}::uuid`,
      ),
    )
    return rows.map(([row]) => row?.rows)
  }

  /** Makes a table refuse writes during the work; returns whether the work failed. */
  async function failsIfRefused(table: string, work: () => Promise<unknown>): Promise<boolean> {
    await runAsOwner(
      `CREATE TRIGGER broken BEFORE INSERT OR UPDATE ON ${table}
       FOR EACH ROW EXECUTE FUNCTION troco_refuse_change()`,
    )
    try {
      await work()
      return false
    } catch {
      return true
    } finally {
      await runAsOwner(`DROP TRIGGER broken ON ${table}`)
    }
  }

  const webhook = { webhook_url: 'https://shop.example.com/hook' }
  const SETTLED = TABLES.filter(table => table !== 'idempotency_keys')
  const CREATED = TABLES.filter(table => !/event|deliveries/.test(table))

  test.each(CREATED)('creating a refund: %s', async table => {
    const { merchant, chargeId } = await openRefund(webhook)
    const once: IdempotentRequest = {
      accountId: merchant.id,
      mode: 'test',
      path: '/x',
      key: newId(),
      requestHash: new Uint8Array(32),
      retentionS: 60,
      id: newId(),
      isResumed: false,
      lockedBy: null,
    }
    const before = await rowsOf(merchant)
    const work = () => createRefund(merchant.id, 'test', chargeId, { amount: 100 }, once)
    expect(await failsIfRefused(table, work)).toBe(true)
    expect(await rowsOf(merchant)).toEqual(before)
    expect(await work()).toMatchObject({ id: once.id })
    await expectBalancedLedger(merchant.id)
  })

  test.each(SETTLED)('completing and rejecting a refund: %s', async table => {
    const completed = await openRefund(webhook)
    const rejected = await openRefund(webhook)
    for (const { merchant } of [completed, rejected])
      await addEndpoint(merchant, webhook.webhook_url)
    for (const { merchant, work } of [
      {
        ...completed,
        work: () => completeRefund({ ...completed.settlement, returnId: makeReturnId() }),
      },
      { ...rejected, work: () => rejectRefund({ ...rejected.settlement, reason: REFUSAL }) },
    ]) {
      const before = await rowsOf(merchant)
      expect(await failsIfRefused(table, work)).toBe(true)
      expect(await rowsOf(merchant)).toEqual(before)
      expect(await work()).not.toBeNull()
      await expectBalancedLedger(merchant.id)
    }
  })
})

async function countWakes(topic: Topic, work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const unsubscribe = onWake(topic, () => {
    count++
  })
  await work()
  unsubscribe()
  return count
}

test('creating a refund wakes its worker; settling it wakes the delivery worker once', async () => {
  let opened: Awaited<ReturnType<typeof openRefund>> | undefined
  const open = async () => {
    opened = await openRefund()
  }
  expect(await countWakes('orders', open)).toBe(1)
  const reject = () => rejectRefund({ ...opened!.settlement, reason: REFUSAL })
  expect(await countWakes('deliveries', reject)).toBe(1)
  expect(await countWakes('deliveries', reject)).toBe(0)
})

test('a stale lease settles nothing', async () => {
  const { merchant, chargeId, settlement } = await openRefund()
  const lease = newId()
  const stale = { ...settlement, lease: newId() }
  await db().bankOrder.updateMany({ where: { accountId: merchant.id }, data: { lease } })
  expect(await rejectRefund({ ...stale, reason: REFUSAL })).toBeNull()
  expect(await completeRefund({ ...stale, returnId: makeReturnId() })).toBeNull()
  expect(await readRefundTotals(merchant, chargeId)).toEqual({ refunded: 0, held: 3_000 })
  const completed = { ...settlement, lease, returnId: makeReturnId() }
  expect(await completeRefund(completed)).toMatchObject({ status: 'completed' })
  await expectBalancedLedger(merchant.id)
})
