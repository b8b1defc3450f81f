import { beforeAll, describe, expect, test } from 'vitest'
import { db } from '#lib/base/db/client.ts'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import { newId, removeHyphens } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { createCharge } from '#lib/rooms/charges/create.ts'
import { expireDueCharges } from '#lib/rooms/charges/expire.ts'
import { insertCharge, type NewCharge } from '#lib/rooms/charges/insert.ts'
import { openAtBank } from '#lib/rooms/charges/open.ts'
import { findCharge, listCharges } from '#lib/rooms/charges/queries.ts'
import type {
  ChargeOrder,
  Gateway,
  GatewayResult,
  OpenedCharge,
} from '#lib/services/gateway/gateway.ts'
import { simulator } from '#lib/services/gateway/simulator.ts'
import { CHARGE, expectBalancedBooks, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

const LOST: GatewayResult<never> = { outcome: 'unknown', reason: 'the connection broke' }
const DOWN: GatewayResult<never> = { outcome: 'retryable', reason: 'down' }

inOwnDatabase()

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})

/** Wraps the simulator: the first calls return `responses`, but still take effect. */
function scriptedBank(...answers: GatewayResult<OpenedCharge>[]) {
  const asked: ChargeOrder[] = []
  const gateway: Gateway = {
    ...simulator,
    buildBrCode: undefined,
    async createCharge(order) {
      asked.push(order)
      const real = await simulator.createCharge(order)
      return answers.shift() ?? real
    },
  }
  return { gateway, asked }
}

function chargeOf(options: { reference?: string; once?: IdempotentRequest } = {}): NewCharge {
  const id = options.once?.id ?? newId()
  const order = {
    txid: removeHyphens(id),
    amount: CHARGE.amount,
    expiresInSeconds: 3_600,
    merchantName: merchant.name,
    merchantCity: merchant.city,
    payerName: CHARGE.client_name,
    payerEmail: CHARGE.client_email,
    payerDoc: CHARGE.client_doc,
  }
  const request = { ...CHARGE, external_id: options.reference }
  const { once } = options
  return {
    accountId: merchant.id,
    account: merchant.id,
    id,
    mode: 'test',
    request,
    ip: null,
    order,
    once,
  }
}

function onceOf(): IdempotentRequest {
  return {
    accountId: merchant.id,
    mode: 'test',
    path: '/api/transactions',
    key: newId(),
    requestHash: new Uint8Array(32),
    keptS: 3_600,
    id: newId(),
    resumed: false,
  }
}

const rowsOf = (id: string) =>
  db().charge.findMany({ where: { id }, select: { status: true, externalId: true } })
const keysOf = ({ key }: IdempotentRequest) =>
  db().idempotencyKey.findMany({ where: { key }, select: { lockedUntil: true, resourceId: true } })
const makeDue = (id: string) =>
  db().$executeRaw`UPDATE charges SET due_at = now() WHERE id = ${id}::uuid`

async function expectUnavailable(work: Promise<unknown>): Promise<void> {
  await expect(work).rejects.toMatchObject({ code: 'service_unavailable' })
}

describe('a bank that must be called for a BR Code', () => {
  test('is called once, and then the charge can be paid', async () => {
    const { gateway, asked } = scriptedBank()
    const charge = chargeOf({ reference: 'asked' })
    const opened = await openAtBank(gateway, charge)
    expect(asked).toEqual([charge.order])
    const row = await findCharge(merchant.id, 'test', 'asked')
    expect(row).toMatchObject({ id: charge.id, status: 'pending', br_code: opened.br_code })
  })

  test('is called again with the same id if the response is lost', async () => {
    const { gateway, asked } = scriptedBank(LOST, LOST)
    const charge = chargeOf()
    const opened = await openAtBank(gateway, charge)
    expect(asked).toEqual([charge.order, charge.order, charge.order])
    expect(opened).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await rowsOf(charge.id)).toHaveLength(1)
  })

  test('leaves no row and no used reference if it is unavailable', async () => {
    const once = onceOf()
    const charge = chargeOf({ reference: 'down', once })
    await expectUnavailable(openAtBank(scriptedBank(DOWN).gateway, charge))
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(once)).toEqual([])
    await openAtBank(scriptedBank().gateway, chargeOf({ reference: 'down' }))
  })
})

describe('a bank whose result is unknown', () => {
  test('leaves a hidden charge, which the worker cancels', async () => {
    const charge = chargeOf({ reference: 'unknown' })
    await expectUnavailable(openAtBank(scriptedBank(LOST, LOST, LOST).gateway, charge))
    expect(await findCharge(merchant.id, 'test', charge.id)).toBeNull()
    const { rows } = await listCharges(merchant.id, 'test', { limit: 100 })
    expect(rows.map(row => row.id)).not.toContain(charge.id)
    const again = await openAtBank(scriptedBank().gateway, chargeOf({ reference: 'unknown' }))
    expect(again.status).toBe('pending')
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    await makeDue(charge.id)
    await expireDueCharges()
    expect(await rowsOf(charge.id)).toEqual([])
  })

  test('is called again with the same id when the request is repeated with its key', async () => {
    const once = onceOf()
    const charge = chargeOf({ reference: 'kept', once })
    await expectUnavailable(openAtBank(scriptedBank(LOST, LOST, LOST).gateway, charge))
    expect(await keysOf(once)).toMatchObject([{ resourceId: charge.id }])
    const { gateway, asked } = scriptedBank()
    const resumed = { ...charge, once: { ...once, resumed: true } }
    const opened = await openAtBank(gateway, resumed)
    expect(asked.map(order => order.txid)).toEqual([charge.order.txid])
    expect(opened).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await keysOf(once)).toEqual([{ resourceId: charge.id, lockedUntil: null }])
    expect((await findCharge(merchant.id, 'test', 'kept'))?.id).toBe(charge.id)
  })
})

test('calls to a remote bank are in the journal without payer data', async () => {
  const { gateway } = scriptedBank(LOST, LOST, LOST)
  const remote = { ...gateway, remote: true }
  const charge = chargeOf()
  await expectUnavailable(openAtBank(remote, charge))
  await makeDue(charge.id)
  await expireDueCharges(() => remote)
  const calls = await db().gatewayCall.findMany({
    where: { accountId: merchant.id, subjectId: charge.id },
    orderBy: { id: 'asc' },
  })
  expect(calls.map(call => [call.operation, call.outcome])).toEqual([
    ['createCharge', 'unknown'],
    ['createCharge', 'unknown'],
    ['createCharge', 'unknown'],
    ['cancelCharge', 'ok'],
  ])
  const { txid, amount, expiresInSeconds } = charge.order
  expect(calls[0]?.request).toEqual({ txid, amount, expiresInSeconds })
})

test.each([
  [undefined, 3_600],
  [[15_000, 60_000], 15],
  [[7_200_000], 3_600],
])('with bank queries at ages %j ms a charge is due after %i s', async (asksAfterMs, dueS) => {
  const { gateway } = scriptedBank()
  const charge = chargeOf()
  await openAtBank({ ...gateway, asksAfterMs }, charge)
  const [row] = await db().$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM due_at - created_at)::float8 AS seconds FROM charges
    WHERE id = ${charge.id}::uuid`
  expect(row?.seconds).toBeGreaterThanOrEqual(dueS)
  expect(row?.seconds).toBeLessThan(dueS + 10)
})

describe('a crash', () => {
  test('between the row and the bank call leaves a row that the worker deletes', async () => {
    const charge = chargeOf()
    await insertCharge(charge, null)
    await makeDue(charge.id)
    await expireDueCharges()
    expect(await rowsOf(charge.id)).toEqual([])
  })

  test('of a request that a worker has taken over opens no charge afterwards', async () => {
    const charge = chargeOf({ once: onceOf() })
    const { gateway } = scriptedBank()
    const late: Gateway = {
      ...gateway,
      async createCharge(order) {
        await db().$executeRaw`
          UPDATE charges SET lease = gen_random_uuid() WHERE id = ${charge.id}::uuid`
        return gateway.createCharge(order)
      },
    }
    await expectUnavailable(openAtBank(late, charge))
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
  })
})

test('with fail@ the charge is pending first and failed a second later', async () => {
  const wish = { ...CHARGE, client_email: 'fail@example.com' }
  const { id, status } = await createCharge(merchant, 'test', wish, null)
  expect(status).toBe('pending')
  await expect
    .poll(
      async () => {
        await expireDueCharges()
        return (await findCharge(merchant.id, 'test', id))?.status
      },
      { timeout: 20_000, interval: 200 },
    )
    .toBe('failed')
  await expectBalancedBooks(merchant.id)
})
