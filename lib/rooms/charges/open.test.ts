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
import { CHARGE, expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

const LOST: GatewayResult<never> = { outcome: 'unknown', reason: 'the connection broke' }
const DOWN: GatewayResult<never> = { outcome: 'retryable', reason: 'down' }

inOwnDatabase()

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})

/** Wraps the simulator: the first calls return `responses`, but still take effect. */
function scriptedBank(...responses: GatewayResult<OpenedCharge>[]) {
  const orders: ChargeOrder[] = []
  const gateway: Gateway = {
    ...simulator,
    buildBrCode: undefined,
    async createCharge(order) {
      orders.push(order)
      const real = await simulator.createCharge(order)
      return responses.shift() ?? real
    },
  }
  return { gateway, orders }
}

function makeNewCharge(options: { reference?: string; once?: IdempotentRequest } = {}): NewCharge {
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

function makeIdempotentRequest(): IdempotentRequest {
  return {
    accountId: merchant.id,
    mode: 'test',
    path: '/api/transactions',
    key: newId(),
    requestHash: new Uint8Array(32),
    retentionS: 3_600,
    id: newId(),
    isResumed: false,
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
    const { gateway, orders } = scriptedBank()
    const charge = makeNewCharge({ reference: 'asked' })
    const opened = await openAtBank(gateway, charge)
    expect(orders).toEqual([charge.order])
    const row = await findCharge(merchant.id, 'test', 'asked')
    expect(row).toMatchObject({ id: charge.id, status: 'pending', br_code: opened.br_code })
  })

  test('is called again with the same id if the response is lost', async () => {
    const { gateway, orders } = scriptedBank(LOST, LOST)
    const charge = makeNewCharge()
    const opened = await openAtBank(gateway, charge)
    expect(orders).toEqual([charge.order, charge.order, charge.order])
    expect(opened).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await rowsOf(charge.id)).toHaveLength(1)
  })

  test('leaves no row and no used reference if it is unavailable', async () => {
    const once = makeIdempotentRequest()
    const charge = makeNewCharge({ reference: 'down', once })
    await expectUnavailable(openAtBank(scriptedBank(DOWN).gateway, charge))
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(once)).toEqual([])
    await openAtBank(scriptedBank().gateway, makeNewCharge({ reference: 'down' }))
  })
})

describe('a bank whose result is unknown', () => {
  test('leaves a hidden charge, which the worker cancels', async () => {
    const charge = makeNewCharge({ reference: 'unknown' })
    await expectUnavailable(openAtBank(scriptedBank(LOST, LOST, LOST).gateway, charge))
    expect(await findCharge(merchant.id, 'test', charge.id)).toBeNull()
    const { rows } = await listCharges(merchant.id, 'test', { limit: 100 })
    expect(rows.map(row => row.id)).not.toContain(charge.id)
    const again = await openAtBank(scriptedBank().gateway, makeNewCharge({ reference: 'unknown' }))
    expect(again.status).toBe('pending')
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    await makeDue(charge.id)
    await expireDueCharges()
    expect(await rowsOf(charge.id)).toEqual([])
  })

  test('is called again with the same id when the request is repeated with its key', async () => {
    const once = makeIdempotentRequest()
    const charge = makeNewCharge({ reference: 'kept', once })
    await expectUnavailable(openAtBank(scriptedBank(LOST, LOST, LOST).gateway, charge))
    expect(await keysOf(once)).toMatchObject([{ resourceId: charge.id }])
    const { gateway, orders } = scriptedBank()
    const resumedCharge = { ...charge, once: { ...once, isResumed: true } }
    const opened = await openAtBank(gateway, resumedCharge)
    expect(orders.map(order => order.txid)).toEqual([charge.order.txid])
    expect(opened).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await keysOf(once)).toEqual([{ resourceId: charge.id, lockedUntil: null }])
    expect((await findCharge(merchant.id, 'test', 'kept'))?.id).toBe(charge.id)
  })
})

test('calls to a remote bank are in the journal without payer data', async () => {
  const { gateway } = scriptedBank(LOST, LOST, LOST)
  const remoteGateway = { ...gateway, isRemote: true }
  const charge = makeNewCharge()
  await expectUnavailable(openAtBank(remoteGateway, charge))
  await makeDue(charge.id)
  await expireDueCharges(() => remoteGateway)
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
])('with bank queries at ages %j ms a charge is due after %i s', async (queryAgesMs, dueS) => {
  const { gateway } = scriptedBank()
  const charge = makeNewCharge()
  await openAtBank({ ...gateway, queryAgesMs }, charge)
  const [row] = await db().$queryRaw<{ seconds: number }[]>`
    SELECT extract(epoch FROM due_at - created_at)::float8 AS seconds FROM charges
    WHERE id = ${charge.id}::uuid`
  expect(row?.seconds).toBeGreaterThanOrEqual(dueS)
  expect(row?.seconds).toBeLessThan(dueS + 10)
})

describe('a crash', () => {
  test('between the row and the bank call leaves a row that the worker deletes', async () => {
    const charge = makeNewCharge()
    await insertCharge(charge, null)
    await makeDue(charge.id)
    await expireDueCharges()
    expect(await rowsOf(charge.id)).toEqual([])
  })

  test('of a request that a worker has taken over opens no charge afterwards', async () => {
    const charge = makeNewCharge({ once: makeIdempotentRequest() })
    const { gateway } = scriptedBank()
    const lateGateway: Gateway = {
      ...gateway,
      async createCharge(order) {
        await db().$executeRaw`
          UPDATE charges SET lease = gen_random_uuid() WHERE id = ${charge.id}::uuid`
        return gateway.createCharge(order)
      },
    }
    await expectUnavailable(openAtBank(lateGateway, charge))
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
  })
})

test('with fail@ the charge is pending first and failed a second later', async () => {
  const request = { ...CHARGE, client_email: 'fail@example.com' }
  const { id, status } = await createCharge(merchant, 'test', request, null)
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
  await expectBalancedLedger(merchant.id)
})
