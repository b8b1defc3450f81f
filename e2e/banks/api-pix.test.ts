import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newOrder, worldOf } from '#e2e/banks/bank-world.ts'
import { credentialsAt, openAt } from '#e2e/banks/open.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import { completeSettings, type Quirks } from '#e2e/psp/settings.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import type { Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { testConformity } from '#lib/testing/gateway-conformity.ts'

// Its connections are no longer served when the bank has ended.
inOwnDatabase()

let bank: RunningBank
let gateway: Gateway
beforeAll(async () => {
  bank = await startBank()
})
afterAll(() => bank.stop())
beforeEach(async () => {
  await bank.run('clearFaults')
  ;({ gateway } = await openAt(bank))
})

testConformity(
  'API Pix at the test bank',
  async () => ({ gateway, payee: null, world: worldOf(bank) }),
  { hasPayouts: false },
)

const signal = () => AbortSignal.timeout(10_000)
const addFault = (fault: Fault) => bank.run('addFault', fault)
const PUT = { method: 'PUT', path: '/v2/cob' }
const create = (order = newOrder(), aborted = signal()) => gateway.createCharge(order, aborted)

function expectOk<Value>(result: GatewayResult<Value>): Value {
  expect(result).toMatchObject({ outcome: 'ok' })
  return (result as { value: Value }).value
}
async function stateOf(txid: string) {
  return expectOk(await gateway.getCharges([txid], signal())).states.get(txid)
}
async function chargesOf(txid: string) {
  return (await bank.run('readRecords')).charges.filter(charge => charge.txid === txid)
}
async function openCharge(changes = {}): Promise<string> {
  const order = newOrder(changes)
  expectOk(await create(order))
  return order.txid
}
/** A charge that was paid; returns the end-to-end id. */
async function pay(txid: string, order: object = {}): Promise<string> {
  const [payment] = await bank.run('pay', { txid, ...order })
  return payment?.e2eid ?? ''
}
/** Requests of the bank since there were that many. */
async function countTokens(after: number): Promise<number> {
  const exchanges = await bank.run('readTraffic', { after })
  return exchanges.filter(({ target }) => target === '/oauth/token').length
}
const countTraffic = async () => (await bank.run('readTraffic', {})).length

const LOST: Fault[] = [
  { kind: 'half-close' },
  { kind: 'reset' },
  { kind: 'half-body' },
  { kind: 'respond' },
  { kind: 'respond', status: 500 },
  { kind: 'respond', status: 200 },
]
const LOST_EITHER_WAY = LOST.flatMap(fault => [
  { ...fault, hasActed: false },
  { ...fault, hasActed: true },
])

describe('a lost response', () => {
  test.each(LOST_EITHER_WAY)(
    'to a new charge is unknown, and repeating it finds one: %o',
    async fault => {
      await addFault({ ...PUT, ...fault })
      const order = newOrder()
      expect(await create(order)).toMatchObject({ outcome: 'unknown' })
      const hasActed = fault.hasActed || fault.kind === 'half-body'
      expect(await chargesOf(order.txid)).toHaveLength(hasActed ? 1 : 0)
      const { brCode } = expectOk(await create(order))
      expect(expectOk(await create(order)).brCode).toBe(brCode)
      expect(await chargesOf(order.txid)).toHaveLength(1)
      expect(await stateOf(order.txid)).toEqual({ state: 'open' })
    },
  )

  test.each(LOST_EITHER_WAY)(
    'to a refund is unknown, and repeating it moves no more: %o',
    async fault => {
      const endToEndId = await pay(await openCharge())
      const refund = { id: removeHyphens(newId()), endToEndId, amount: 500 }
      await addFault({ method: 'PUT', path: '/v2/pix', ...fault })
      expect(await gateway.refundCharge(refund, signal())).toMatchObject({ outcome: 'unknown' })
      expect(['taken', 'done']).toContain(
        expectOk(await gateway.refundCharge(refund, signal())).state,
      )
      await gateway.refundCharge(refund, signal())
      const { payments } = await bank.run('readRecords')
      expect(payments.find(({ e2eid }) => e2eid === endToEndId)?.refunds).toHaveLength(1)
    },
  )

  test('to a removal is unknown, and repeating it reports the state', async () => {
    const [open, paid] = [await openCharge(), await openCharge()]
    await pay(paid)
    await addFault({ kind: 'reset', hasActed: true, method: 'PATCH', times: 2 })
    for (const txid of [open, paid])
      expect(await gateway.cancelCharge(txid, signal())).toMatchObject({ outcome: 'unknown' })
    expect(expectOk(await gateway.cancelCharge(open, signal()))).toEqual({ state: 'cancelled' })
    expect(expectOk(await gateway.cancelCharge(paid, signal()))).toMatchObject({ state: 'paid' })
  })

  test('to a question leaves it for later', async () => {
    const txid = await openCharge()
    await addFault({ kind: 'half-body', method: 'GET', path: '/v2/cob' })
    expect(await gateway.getCharges([txid], signal())).toMatchObject({ outcome: 'unknown' })
    expect(await stateOf(txid)).toEqual({ state: 'open' })
  })
})

describe('a delay', () => {
  test('below the time-out changes nothing', async () => {
    await addFault({ kind: 'delay', delayMs: 300, ...PUT })
    expect(await create()).toMatchObject({ outcome: 'ok' })
  })

  test.each([false, true])(
    'above the time-out is unknown; the bank has acted: %s',
    async hasActed => {
      await addFault({ kind: 'delay', delayMs: 3_600_000, hasActed, ...PUT })
      const [order, timeOut] = [newOrder(), new AbortController()]
      const created = create(order, timeOut.signal)
      await expect.poll(() => bank.run('countFaults')).toBe(0)
      if (hasActed) await expect.poll(() => chargesOf(order.txid)).toHaveLength(1)
      timeOut.abort()
      expect(await created).toMatchObject({ outcome: 'unknown' })
      expectOk(await create(order))
      expect(await chargesOf(order.txid)).toHaveLength(1)
    },
  )
})

test('a rate limit is respected, and nothing has happened', async () => {
  await addFault({ kind: 'respond', status: 429, headers: { 'retry-after': '7' }, times: 4 })
  const wait = { outcome: 'retryable', retryAfterMs: 7_000, isRateLimit: true }
  const order = newOrder()
  const refund = { id: 'a1', endToEndId: 'E1', amount: 1 }
  // The first call fails for want of a token, and the others find none either.
  for (const call of [
    () => create(order),
    () => gateway.getCharges([order.txid], signal()),
    () => gateway.refundCharge(refund, signal()),
    () => gateway.checkHealth(signal()),
  ])
    expect(await call()).toMatchObject(wait)
  expect(await chargesOf(order.txid)).toEqual([])
  expectOk(await create(order))
  await addFault({ ...PUT, kind: 'respond', status: 429, headers: { 'retry-after': '9' } })
  expect(await create()).toMatchObject({ ...wait, retryAfterMs: 9_000 })
})

describe('a token', () => {
  test('that the bank revoked is renewed once, by one request of all callers', async () => {
    const txid = await openCharge()
    await bank.run('revokeTokens')
    const before = await countTraffic()
    const states = await Promise.all(Array.from({ length: 6 }, () => stateOf(txid)))
    expect(states).toEqual(Array(6).fill({ state: 'open' }))
    expect(await countTokens(before)).toBe(1)
  })

  test('that is refused again blocks, and is asked for twice at most', async () => {
    const before = await countTraffic()
    await addFault({ kind: 'respond', status: 401, body: '{}', times: 2, ...PUT })
    expect(await create()).toMatchObject({ outcome: 'blocked', code: 'credentials' })
    expect(await countTokens(before)).toBe(2)
    expect(await create()).toMatchObject({ outcome: 'ok' })
  })

  test('that the bank does not issue is retried, or blocked if it refuses the client', async () => {
    await addFault({ kind: 'respond', path: '/oauth/token' })
    expect(await create()).toMatchObject({ outcome: 'retryable' })
    await bank.run('change', { clientSecret: 'changed' })
    expect(await create()).toMatchObject({ outcome: 'blocked', code: 'credentials' })
    await bank.run('change', { clientSecret: bank.clientSecret })
    expect(await create()).toMatchObject({ outcome: 'ok' })
  })

  test('without a scope blocks for the scope', async () => {
    const { scopes } = completeSettings({})
    await bank.run('change', { scopes: scopes.filter(scope => scope !== 'pix.read') })
    const health = await gateway.checkHealth(signal())
    await bank.run('change', { scopes })
    expect(health).toMatchObject({ outcome: 'blocked', code: 'scope' })
  })
})

describe('a payment', () => {
  test('of another amount, and a second one, are reported as they are', async () => {
    const [wrong, twice] = [await openCharge(), await openCharge()]
    const wrongId = await pay(wrong, { amount: 1_499 })
    await pay(twice, { copies: 2, isForced: true })
    const payment = { endToEndId: wrongId, amount: 1_499, txid: wrong }
    expect(await stateOf(wrong)).toMatchObject({ state: 'paid', payments: [payment] })
    expect(await stateOf(twice)).toMatchObject({ payments: [{ amount: 1_500 }, { amount: 1_500 }] })
  })

  test('without txid leaves its charge open, and is in the list', async () => {
    const txid = await openCharge()
    const endToEndId = await pay(txid, { dropsTxid: true })
    expect(await stateOf(txid)).toEqual({ state: 'open' })
    const list = () =>
      gateway.listPayments?.(new Date(Date.now() - 10_000), null, signal()).then(expectOk)
    // A list ends with a whole second.
    await expect
      .poll(async () => (await list())?.items)
      .toContainEqual(expect.objectContaining({ endToEndId, txid: null }))
  })
})

describe('the clock of the bank', () => {
  test.each([
    ['90 s behind', -90_000, false],
    ['90 s ahead', 90_000, false],
    ['30 s behind', -30_000, true],
    ['right', 0, true],
  ])('%s', async (_, clockOffsetMs, isTrusted) => {
    await bank.run('change', { clockOffsetMs })
    const opened = await create(newOrder({ expiresInSeconds: 600 }))
    await bank.run('change', { clockOffsetMs: 0 })
    const { payableForMs } = expectOk(opened)
    if (!isTrusted) return expect(payableForMs).toBeUndefined()
    const leftMs = 600_000 + clockOffsetMs
    expect(payableForMs).toBeLessThanOrEqual(leftMs)
    expect(payableForMs).toBeGreaterThan(leftMs - 20_000)
  })
})

describe('a bank that deviates', () => {
  const standard = { createdStatus: 201, code: 'pixCopiaECola' } as const
  const none = { hasNulls: false, hasNumbersAsText: false, refusesMilliseconds: false }
  afterEach(() => bank.run('change', { quirks: { ...standard, ...none } }))

  test.each([
    { createdStatus: 200 as const },
    { code: 'brcode' as const },
    { code: 'none' as const },
    { hasNulls: true },
    { hasNumbersAsText: true },
    { refusesMilliseconds: true },
    { createdStatus: 200, code: 'none', hasNulls: true, hasNumbersAsText: true } as const,
  ])('is read: %o', async quirks => {
    await bank.run('change', { quirks })
    const order = newOrder()
    const { brCode } = expectOk(await create(order))
    const { location } = await locationOf(order.txid)
    expect(brCode).toContain(location)
    const endToEndId = await pay(order.txid)
    expect(await stateOf(order.txid)).toMatchObject({ payments: [{ endToEndId, amount: 1_500 }] })
    const refund = { id: removeHyphens(newId()), endToEndId, amount: 300 }
    expectOk(await gateway.refundCharge(refund, signal()))
    await bank.run('settle')
    expect(expectOk(await gateway.getRefund(refund, signal()))).toMatchObject({ state: 'done' })
    expectOk(await gateway.checkHealth(signal()))
  })

  test('with the code of another charge is not believed', async () => {
    await bank.run('change', { quirks: { code: 'contradicting' } })
    const reason = 'a code of another location'
    expect(await create()).toEqual({ outcome: 'unknown', reason })
  })

  async function locationOf(txid: string) {
    const exchanges = await bank.run('readTraffic', {})
    const put = exchanges.find(({ method, target }) => method === 'PUT' && target.endsWith(txid))
    return JSON.parse(put?.responseBody ?? '{}') as { location: string }
  }
})

/** How the banks of these profiles deviate, as integrators report. */
const DEVIATIONS: Record<string, Partial<Quirks>> = {
  'banco-do-brasil': { createdStatus: 200 },
  sicoob: { code: 'brcode', hasNulls: true },
  santander: { refusesMilliseconds: true },
  sicredi: { createdStatus: 200 },
  bradesco: { createdStatus: 200 },
}
/** Headers and query parameters that only some banks require. */
const SHOWS: Record<string, RegExp> = {
  'banco-do-brasil': /gw-dev-app-key=key-of-the-app/,
  itau: /"x-correlationid":"[\da-f-]{36}"/,
  sicoob: /"client_id":"Client_Id_test"/,
}

test.each(Object.entries(PROFILES))('the profile %s works', async (profile, { tokenAuth }) => {
  const { quirks } = completeSettings({})
  const credentials = JSON.stringify({ ...credentialsAt(bank), app_key: 'key-of-the-app' })
  await bank.run('change', { tokenAuth, quirks: { ...quirks, ...DEVIATIONS[profile] } })
  const opened = await openAt(bank, { profile, credentials })
  gateway = opened.gateway
  const before = await countTraffic()
  await pay(await openCharge())
  expectOk(await gateway.checkHealth(signal()))
  await bank.run('change', { tokenAuth: 'basic', quirks })
  const exchanges = await bank.run('readTraffic', { after: before })
  for (const { method, target, requestHeaders } of exchanges)
    if (target !== '/oauth/token')
      expect(`${method} ${target} ${JSON.stringify(requestHeaders)}`).toMatch(SHOWS[profile] ?? /./)
})
