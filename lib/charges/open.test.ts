import { beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { ChargeTerms, Gateway, GatewayResult, OpenedCharge } from '#lib/banks/gateway.ts'
import { registerAdapter } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { createCharge, insertCharge, type NewCharge, openAtBank } from '#lib/charges/create.ts'
import { findCharge, listCharges } from '#lib/charges/list.ts'
import type { TrocoError } from '#lib/core/errors.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { claim } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL, StubBank } from '#lib/testing/bank.ts'
import { addConnection, connectBank, replaceBank, restConnection } from '#lib/testing/connection.ts'
import { CHARGE, expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { expireDueCharges } from '#lib/testing/orders.ts'
import { paidState } from '#lib/testing/payments.ts'

const LOST: GatewayResult<never> = { outcome: 'unknown', reason: 'the connection broke' }
const DOWN: GatewayResult<never> = { outcome: 'retryable', reason: 'down' }

inOwnDatabase()

let merchant: Account
let connectionId: string
beforeAll(async () => {
  merchant = await makeMerchant()
  connectionId = await connectBank(simulator, merchant)
})

function expireWith(bank: Gateway): Promise<number> {
  replaceBank(connectionId, bank)
  return expireDueCharges()
}

/** Wraps the simulator: the first calls return `responses`, but still take effect. */
function scriptedBank(...responses: GatewayResult<OpenedCharge>[]) {
  const orders: ChargeTerms[] = []
  const gateway: Gateway = {
    ...simulator,
    local: undefined,
    failuresMax: Number.POSITIVE_INFINITY,
    async createCharge(order) {
      orders.push(order)
      const real = await simulator.createCharge(order)
      return responses.shift() ?? real
    },
  }
  return { gateway, orders }
}

/** A bank that creates each charge, and whose responses to that are lost. */
function makeLosingBank() {
  const bank = new StubBank()
  const createCharge = bank.createCharge.bind(bank)
  bank.createCharge = async order => {
    await createCharge(order)
    return LOST
  }
  return { bank, createCharge }
}

function makeNewCharge(options: { reference?: string; once?: IdempotentRequest } = {}): NewCharge {
  const id = options.once?.id ?? newId()
  const terms = {
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
    id,
    mode: 'live',
    connectionId,
    request,
    ip: null,
    terms,
    once,
  }
}

function makeIdempotentRequest(): IdempotentRequest {
  return {
    accountId: merchant.id,
    mode: 'live',
    path: '/api/transactions',
    key: newId(),
    requestHash: new Uint8Array(32),
    retentionS: 3_600,
    id: newId(),
    isResumed: false,
    lockedBy: null,
  }
}

const rowsOf = (id: string) =>
  db().charge.findMany({ where: { id }, select: { status: true, externalId: true } })
const keysOf = ({ key }: IdempotentRequest) =>
  db().idempotencyKey.findMany({
    where: { key },
    select: { lockedUntil: true, lockedBy: true, resourceId: true },
  })
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
    expect(orders).toEqual([charge.terms])
    const row = await findCharge(merchant.id, 'live', 'asked')
    expect(row).toMatchObject({ id: charge.id, status: 'pending', br_code: opened.br_code })
  })

  test('decides how long the charge can be paid, if it says so', async () => {
    const open = async (payableForMs?: number) => {
      const bank = new StubBank()
      const value = { brCode: 'code', ...(payableForMs !== undefined && { payableForMs }) }
      bank.createCharge = async () => ({ outcome: 'ok', value })
      const charge = makeNewCharge()
      await openAtBank(bank, charge)
      const [row] = await db().$queryRaw<{ lifetimeS: number; dueS: number }[]>`
        SELECT extract(epoch FROM expires_at - updated_at)::float8 AS "lifetimeS",
          extract(epoch FROM due_at - updated_at)::float8 AS "dueS"
        FROM charges WHERE id = ${charge.id}::uuid`
      return { row, ordered: charge.terms.expiresInSeconds }
    }
    expect((await open(90_500)).row).toEqual({ lifetimeS: 90.5, dueS: 90.5 })
    const { row, ordered } = await open()
    expect(row).toEqual({ lifetimeS: ordered, dueS: ordered })
  })

  test('is called again with the same id if the response is lost', async () => {
    const { gateway, orders } = scriptedBank(LOST, LOST)
    const charge = makeNewCharge()
    const opened = await openAtBank(gateway, charge)
    expect(orders).toEqual([charge.terms, charge.terms, charge.terms])
    expect(opened).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await rowsOf(charge.id)).toHaveLength(1)
  })

  test('leaves no row and no used reference if it is unavailable, and keeps the key', async () => {
    const once = makeIdempotentRequest()
    const charge = makeNewCharge({ reference: 'down', once })
    await expectUnavailable(openAtBank(scriptedBank(DOWN).gateway, charge))
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(once)).toMatchObject([{ resourceId: charge.id }])
    await openAtBank(scriptedBank().gateway, makeNewCharge({ reference: 'down' }))
  })
})

describe('a bank whose result is unknown', () => {
  test('leaves a hidden charge, which the worker cancels', async () => {
    const charge = makeNewCharge({ reference: 'unknown' })
    await expectUnavailable(openAtBank(scriptedBank(LOST, LOST, LOST).gateway, charge))
    expect(await findCharge(merchant.id, 'live', charge.id)).toBeNull()
    const { rows } = await listCharges(merchant.id, 'live', { limit: 100 })
    expect(rows.map(row => row.id)).not.toContain(charge.id)
    const again = await openAtBank(scriptedBank().gateway, makeNewCharge({ reference: 'unknown' }))
    expect(again.status).toBe('pending')
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    await makeDue(charge.id)
    await expireWith(simulator)
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
    expect(orders.map(order => order.txid)).toEqual([charge.terms.txid])
    expect(opened).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await keysOf(once)).toEqual([
      { resourceId: charge.id, lockedUntil: null, lockedBy: null },
    ])
    expect((await findCharge(merchant.id, 'live', 'kept'))?.id).toBe(charge.id)
  })
})

describe('a bank that refuses after a call without a response', () => {
  const REJECTED: GatewayResult<never> = { outcome: 'rejected', ...REFUSAL }

  test.each([
    ['rejects', REJECTED],
    ['is down', DOWN],
  ] as const)(
    '%s: the charge may exist there, so its row stays until it is removed',
    async (_, second) => {
      const charge = makeNewCharge({ reference: `twice ${second.outcome}` })
      const bank = new StubBank()
      const createCharge = bank.createCharge.bind(bank)
      const results: GatewayResult<OpenedCharge>[] = [LOST, second]
      bank.createCharge = async order => {
        await createCharge(order)
        return results.shift() ?? REJECTED
      }
      await expectUnavailable(openAtBank(bank, charge))
      expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
      await makeDue(charge.id)
      await expireWith(bank)
      expect(bank.charges.get(charge.terms.txid)).toEqual({ state: 'cancelled' })
      expect(await rowsOf(charge.id)).toEqual([])
    },
  )
})

describe('a bank that creates no charge', () => {
  const refusedWith = async (
    results: GatewayResult<OpenedCharge>[],
    once = makeIdempotentRequest(),
  ) => {
    const charge = makeNewCharge({ reference: newId(), once })
    const bank = new StubBank()
    const createCharge = bank.createCharge.bind(bank)
    bank.createCharge = async order => {
      const result = results.shift() ?? expect.unreachable()
      if (result.outcome === 'unknown') await createCharge(order)
      return result
    }
    const error: TrocoError = await openAtBank(bank, charge).then(
      () => expect.unreachable(),
      error => error,
    )
    return { error, charge, bank, once }
  }

  test.each<[string, GatewayResult<never>, number | undefined]>([
    ['blocks', { outcome: 'blocked', code: 'scope', reason: 'no scope' }, 300],
    ['limits the rate', { outcome: 'retryable', reason: '429', retryAfterMs: 6_100 }, 7],
    ['is down', DOWN, undefined],
    ['refuses for a reason of its own', { outcome: 'rejected', ...REFUSAL }, undefined],
  ])('and %s is unavailable to the caller, who may retry later', async (_, result, retryAfterS) => {
    const { error, charge, once } = await refusedWith([result])
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfterS, fields: undefined })
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(once)).toMatchObject([{ resourceId: charge.id }])
  })

  const FIELDS = [
    ['amount', 'amount'],
    ['document', 'client_doc'],
    ['expiry', 'expires_in'],
  ] as const

  test.each(FIELDS)("because of the caller's %s names the field %s", async (field, name) => {
    const { error, charge, once } = await refusedWith([{ outcome: 'rejected', field, ...REFUSAL }])
    expect(error).toMatchObject({
      code: 'refused_by_bank',
      message: `${name} was refused by the bank`,
      fields: { [name]: [`${name} was refused by the bank`] },
    })
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(once)).toEqual([])
  })

  test('after a lost response keeps what may exist for removal, and frees the key', async () => {
    const refused: GatewayResult<never> = { outcome: 'rejected', field: 'amount', ...REFUSAL }
    const { error, charge, bank, once } = await refusedWith([LOST, refused])
    expect(error).toMatchObject({ code: 'refused_by_bank' })
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    expect(await keysOf(once)).toEqual([])
    await makeDue(charge.id)
    await expireWith(bank)
    expect(bank.charges.get(charge.terms.txid)).toEqual({ state: 'cancelled' })
    expect(await rowsOf(charge.id)).toEqual([])
  })
})

describe('while the connection rests', () => {
  test('a charge is refused at once, with the time of the next attempt, and leaves nothing', async () => {
    const once = makeIdempotentRequest()
    const bank = new StubBank()
    bank.createCharge = () => expect.unreachable()
    const charge = { ...makeNewCharge({ once }), connectionId: await addConnection(bank) }
    await restConnection(charge.connectionId)
    const refused = await openAtBank(bank, charge).then(
      () => expect.unreachable(),
      (error: TrocoError) => error,
    )
    expect(refused.code).toBe('service_unavailable')
    expect(refused.retryAfterS).toBeGreaterThan(30)
    expect(refused.retryAfterS).toBeLessThanOrEqual(60)
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(once)).toEqual([])
  })

  test('the attempts of one request count as one failure', async () => {
    const bank = new StubBank()
    bank.failuresMax = 2
    bank.createCharge = async () => LOST
    const connectionId = await addConnection(bank)
    const fail = () => expectUnavailable(openAtBank(bank, { ...makeNewCharge(), connectionId }))
    await fail()
    const read = () => db().connectionState.findUnique({ where: { connectionId } })
    expect(await read()).toMatchObject({ failures: 1, openedAt: null })
    await fail()
    expect(await read()).toMatchObject({ failures: 2, openedAt: expect.any(Date) })
  })

  test('a repeated request still gets the charge that the worker has found paid', async () => {
    const once = makeIdempotentRequest()
    const charge = makeNewCharge({ once })
    const { bank } = makeLosingBank()
    const own = { ...charge, connectionId: await addConnection(bank) }
    await expectUnavailable(openAtBank(bank, own))
    const { txid } = charge.terms
    bank.charges.set(txid, paidState(CHARGE.amount, { endToEndId: `E${txid.slice(1)}` }))
    await makeDue(charge.id)
    await expireDueCharges()
    await restConnection(own.connectionId)
    const resumed = { ...own, once: { ...once, isResumed: true } }
    expect(await openAtBank(bank, resumed)).toMatchObject({ id: charge.id, status: 'pending' })
  })

  test.each<[string, GatewayResult<never>]>([
    ['refused', { outcome: 'rejected', field: 'amount', ...REFUSAL }],
    ['without an answer', { outcome: 'retryable', reason: 'down' }],
  ])(
    'a key is not released by a request whose key was taken over, if that is %s',
    async (_, result) => {
      const once = { ...makeIdempotentRequest(), lockedBy: 7 }
      const bank = new StubBank()
      bank.createCharge = async () => {
        await db().idempotencyKey.updateMany({ where: { key: once.key }, data: { lockedBy: 8 } })
        return result
      }
      await expect(openAtBank(bank, makeNewCharge({ once }))).rejects.toThrow()
      const [key] = await keysOf(once)
      expect(key?.lockedBy).toBe(8)
      expect(key?.lockedUntil?.getTime()).toBeGreaterThan(Date.now())
    },
  )

  test('after failed calls, charges at other connections are created', async () => {
    const bank = new StubBank()
    bank.failuresMax = 1
    bank.createCharge = async () => LOST
    const failing = { ...makeNewCharge(), connectionId: await addConnection(bank) }
    await expectUnavailable(openAtBank(bank, failing))
    // The first attempt closed the connection, so the second and third were not made.
    const where = { subjectId: failing.id, operation: 'createCharge' }
    expect(await db().gatewayCall.count({ where })).toBe(1)
    expect(await rowsOf(failing.id)).toMatchObject([{ status: 'opening' }])
    const { gateway } = scriptedBank()
    expect(await openAtBank(gateway, makeNewCharge())).toMatchObject({ status: 'pending' })
  })
})

describe('an opening that the worker ends', () => {
  async function leaveOpening() {
    const charge = makeNewCharge()
    const bank = new StubBank()
    await insertCharge(charge, null)
    bank.charges.set(charge.terms.txid, { state: 'open' })
    const end = async () => {
      await makeDue(charge.id)
      await expireWith(bank)
    }
    return { charge, bank, end, txid: charge.terms.txid }
  }

  test.each(['lost', 'turned down'] as const)(
    'is kept while the bank has not confirmed its removal (%s)',
    async behavior => {
      const { charge, bank, end } = await leaveOpening()
      bank.cancelBehaviors.push(behavior)
      await end()
      expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
      await end()
      expect(await rowsOf(charge.id)).toEqual([])
    },
  )

  test('is kept if the bank refuses its removal and a query does not reach it', async () => {
    const { charge, bank, end } = await leaveOpening()
    bank.cancelBehaviors.push('turned down', 'turned down')
    bank.answersMax = 0
    // No call to create it may still arrive, so only the missing answer keeps it.
    await end()
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    bank.answersMax = 1
    bank.charges.delete(charge.terms.txid)
    await end()
    expect(await rowsOf(charge.id)).toEqual([])
  })

  test.each([
    ['in the response to its removal', []],
    ['when asked, because the bank refuses to remove it', ['turned down']],
  ] as const)('is credited once if the bank reports it paid %s', async (_, behaviors) => {
    const { charge, bank, end, txid } = await leaveOpening()
    const endToEndId = `E${txid.slice(1)}`
    const before = await readBalances(merchant.id, 'live')
    bank.charges.set(txid, paidState(CHARGE.amount, { endToEndId }))
    bank.cancelBehaviors.push(...behaviors)
    await end()
    await end()
    const row = await findCharge(merchant.id, 'live', charge.id)
    expect(row).toMatchObject({ status: 'paid', end_to_end_id: endToEndId })
    const { available } = await readBalances(merchant.id, 'live')
    expect(available).toBe(before.available + CHARGE.amount)
    expect(await db().event.findMany({ where: { subjectId: charge.id } })).toMatchObject([
      { type: 'transaction.paid' },
    ])
    await expectBalancedLedger(merchant.id)
  })

  test('is deleted after a payment of another amount alone, which moves to `unmatched`', async () => {
    const { charge, bank, end, txid } = await leaveOpening()
    const wrong = paidState(CHARGE.amount - 1)
    bank.charges.set(txid, wrong)
    const before = await readBalances(merchant.id, 'live')
    await end()
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await readBalances(merchant.id, 'live')).toEqual(before)
    const { endToEndId } = wrong.payments[0] ?? {}
    expect(await db().unmatchedPayment.findMany({ where: { endToEndId } })).toMatchObject([
      { amount: BigInt(CHARGE.amount - 1), reason: 'payment_amount', chargeId: charge.id },
    ])
  })

  test('and paid is the response to the request when it is repeated with its key', async () => {
    const once = makeIdempotentRequest()
    const charge = makeNewCharge({ once })
    const { bank } = makeLosingBank()
    await expectUnavailable(openAtBank(bank, charge))
    const { txid } = charge.terms
    const endToEndId = `E${txid.slice(1)}`
    bank.charges.set(txid, paidState(CHARGE.amount, { endToEndId }))
    await makeDue(charge.id)
    await expireWith(bank)
    const resumed = { ...charge, once: { ...once, isResumed: true } }
    expect(await openAtBank(bank, resumed)).toMatchObject({ id: charge.id, status: 'pending' })
    expect(await keysOf(once)).toEqual([
      { resourceId: charge.id, lockedUntil: null, lockedBy: null },
    ])
  })
})

describe('a request that is repeated with its key, after one that had no response', () => {
  const REJECTED: GatewayResult<never> = { outcome: 'rejected', ...REFUSAL }

  async function leaveUnknown() {
    const once = makeIdempotentRequest()
    const charge = makeNewCharge({ once })
    const { bank, createCharge } = makeLosingBank()
    await expectUnavailable(openAtBank(bank, charge))
    return { bank, createCharge, charge: { ...charge, once: { ...once, isResumed: true } } }
  }

  test.each([
    ['rejects', REJECTED],
    ['is down', DOWN],
  ] as const)('keeps the row if the bank now %s', async (_, result) => {
    const { bank, charge } = await leaveUnknown()
    bank.createCharge = async () => result
    await expectUnavailable(openAtBank(bank, charge))
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    expect(await keysOf(charge.once)).toHaveLength(1)
  })

  test('frees the key if the worker has removed the charge, whose txid the bank takes never again', async () => {
    const { bank, charge } = await leaveUnknown()
    await makeDue(charge.id)
    await expireWith(bank)
    expect(bank.charges.get(charge.terms.txid)).toEqual({ state: 'cancelled' })
    bank.createCharge = async () => REJECTED
    await expectUnavailable(openAtBank(bank, charge))
    expect(await rowsOf(charge.id)).toEqual([])
    expect(await keysOf(charge.once)).toEqual([])
  })

  test('is refused before the call while the worker ends the opening', async () => {
    const { bank, charge } = await leaveUnknown()
    await makeDue(charge.id)
    await claim('charges', 1)
    bank.createCharge = () => expect.unreachable()
    await expectUnavailable(openAtBank(bank, charge))
  })

  test('leaves a row for what the worker deleted during the call', async () => {
    const { bank, createCharge, charge } = await leaveUnknown()
    bank.charges.clear()
    bank.createCharge = async order => {
      await db().$executeRaw`DELETE FROM charges WHERE id = ${charge.id}::uuid`
      return createCharge(order)
    }
    await expectUnavailable(openAtBank(bank, charge))
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    await makeDue(charge.id)
    await expireWith(bank)
    expect(bank.charges.get(charge.terms.txid)).toEqual({ state: 'cancelled' })
  })
})

describe('a request that is repeated after the account was assigned another connection', () => {
  async function leaveAndReassign() {
    const account = await makeMerchant()
    const { bank, createCharge: createAtBank } = makeLosingBank()
    const first = await connectBank(bank, account)
    const once = { ...makeIdempotentRequest(), accountId: account.id }
    const create = (receivingConnectionId: string | null, isResumed = true) =>
      createCharge({ ...account, receivingConnectionId }, 'live', CHARGE, null, {
        ...once,
        isResumed,
      })
    await expectUnavailable(create(first, false))
    const other = new StubBank()
    const second = await connectBank(other, account)
    const stored = () =>
      db().charge.findMany({
        where: { id: once.id },
        select: { status: true, connectionId: true },
      })
    return { bank, createAtBank, first, other, second, once, create, stored }
  }

  test.each(['another', 'none'])('continues at the first bank (now assigned: %s)', async now => {
    const { bank, createAtBank, first, other, second, once, create, stored } =
      await leaveAndReassign()
    bank.createCharge = createAtBank
    const created = await create(now === 'none' ? null : second)
    expect(created).toMatchObject({ id: once.id, status: 'pending' })
    expect(await stored()).toEqual([{ status: 'pending', connectionId: first }])
    expect([...bank.charges.keys()]).toEqual([removeHyphens(once.id)])
    expect(other.charges.size).toBe(0)
    const calls = await db().gatewayCall.findMany({ where: { subjectId: once.id } })
    expect(new Set(calls.map(call => call.connectionId))).toEqual(new Set([first]))
  })

  test('keeps the row at the first bank if that has no response again', async () => {
    const { first, other, second, create, stored } = await leaveAndReassign()
    await expectUnavailable(create(second))
    expect(await stored()).toEqual([{ status: 'opening', connectionId: first }])
    expect(other.charges.size).toBe(0)
  })

  test('is refused, and the row stays, while the first bank is not served', async () => {
    const { first, other, second, create, stored } = await leaveAndReassign()
    registerAdapter('efi', ({ id }) => (id === first ? null : other))
    await expectUnavailable(create(second)).finally(() => replaceBank(second, other))
    expect(await stored()).toEqual([{ status: 'opening', connectionId: first }])
    expect(other.charges.size).toBe(0)
  })

  test('is refused if it came before the row of the first request', async () => {
    const charge = makeNewCharge({ once: { ...makeIdempotentRequest(), isResumed: true } })
    await insertCharge({ ...charge, once: undefined }, null)
    const other = new StubBank()
    const second = await addConnection(other)
    await expectUnavailable(openAtBank(other, { ...charge, connectionId: second }))
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    expect(other.charges.size).toBe(0)
  })
})

test.each(['has no response', 'is still running'])(
  'an opening that the bank does not know stays while the call %s and may still arrive there',
  async state => {
    const charge = makeNewCharge()
    const bank = new StubBank()
    bank.createCharge = async () => LOST
    await expectUnavailable(openAtBank(bank, charge))
    if (state === 'is still running')
      await db().gatewayCall.updateMany({
        where: { subjectId: charge.id, operation: 'createCharge' },
        data: { outcome: null, finishedAt: null },
      })
    await makeDue(charge.id)
    await expireWith(bank)
    expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
    await db().$executeRaw`
    UPDATE gateway_calls SET created_at = created_at - interval '10 minutes'
    WHERE subject_id = ${charge.id}::uuid`
    await makeDue(charge.id)
    await expireWith(bank)
    expect(await rowsOf(charge.id)).toEqual([])
  },
)

test('all calls of a creation together end in time, each with its connection', async () => {
  const bank = new StubBank()
  const signals: AbortSignal[] = []
  bank.createCharge = async (_: ChargeTerms, signal?: AbortSignal) => {
    if (signal) signals.push(signal)
    return signals.length === 1 ? LOST : new Promise(() => {})
  }
  const charge = makeNewCharge()
  await expectUnavailable(openAtBank(bank, charge, 300))
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
  // Far below the limit of a single call, 4 s.
  const [hanging] = await db().$queryRaw<{ ms: number }[]>`
    SELECT max(extract(epoch FROM finished_at - created_at))::float8 * 1000 AS ms
    FROM gateway_calls WHERE subject_id = ${charge.id}::uuid`
  expect(hanging?.ms).toBeLessThan(3_000)
  expect(await rowsOf(charge.id)).toMatchObject([{ status: 'opening' }])
})

test('calls to a remote bank are in the journal without payer data', async () => {
  const { gateway } = scriptedBank(LOST, LOST, LOST)
  const charge = makeNewCharge()
  await expectUnavailable(openAtBank(gateway, charge))
  await makeDue(charge.id)
  await expireWith(gateway)
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
  const { txid, amount, expiresInSeconds } = charge.terms
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
    await expireWith(simulator)
    expect(await rowsOf(charge.id)).toEqual([])
  })

  test('of a request that a worker has taken over opens no charge afterwards', async () => {
    const charge = makeNewCharge({ once: makeIdempotentRequest() })
    const { gateway } = scriptedBank()
    const lateGateway: Gateway = {
      ...gateway,
      async createCharge(order, signal) {
        await db().$executeRaw`
          UPDATE charges SET lease = gen_random_uuid() WHERE id = ${charge.id}::uuid`
        return gateway.createCharge(order, signal)
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
