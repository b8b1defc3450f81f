import { beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { spiRefusal } from '#lib/banks/gateway.ts'
import { withJournal } from '#lib/banks/record-call.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { REFUSAL, StubBank } from '#lib/testing/bank.ts'
import { endRest, restConnection } from '#lib/testing/connection.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { paidState } from '#lib/testing/payments.ts'

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})

const subject = () => ({
  accountId: merchant.id,
  id: newId(),
  mode: 'test' as const,
  connectionId: SIMULATOR_CONNECTION_ID,
})
const callsOf = (id: string) =>
  db().gatewayCall.findMany({ where: { subjectId: id }, orderBy: { id: 'asc' } })
const payout = (id: string, dictKey = 'ana.beatriz@example.com') => ({
  id: removeHyphens(id),
  amount: 5_000,
  dictKey,
  ownerDoc: null,
})

test('a call is stored before it starts, and its outcome when it ends', async () => {
  const order = subject()
  const bank = new StubBank()
  let callsDuring: unknown
  bank.stall('before', async () => {
    callsDuring = await callsOf(order.id)
  })
  expect(await withJournal(bank, [order]).sendPayout(payout(order.id))).toMatchObject({
    outcome: 'ok',
  })
  const expectedCall = {
    accountId: merchant.id,
    mode: 'test',
    connectionId: SIMULATOR_CONNECTION_ID,
    gateway: 'stub bank',
    operation: 'sendPayout',
    request: { id: removeHyphens(order.id), amount: 5_000, dictKey: 'a***@example.com' },
  }
  expect(callsDuring).toMatchObject([
    { ...expectedCall, outcome: null, response: null, finishedAt: null },
  ])
  expect(await callsOf(order.id)).toMatchObject([
    { ...expectedCall, outcome: 'ok', response: { state: 'taken' }, finishedAt: expect.any(Date) },
  ])
})

test('a crash during a call leaves a row without an outcome', async () => {
  const order = subject()
  const bank = new StubBank()
  let signalArrival = () => {}
  const arrival = new Promise<void>(resolve => {
    signalArrival = resolve
  })
  bank.stall('before', () => {
    signalArrival()
    return new Promise(() => {})
  })
  // Not awaited, like a call of a process that was killed.
  void withJournal(bank, [order]).sendPayout(payout(order.id))
  await arrival
  expect(await callsOf(order.id)).toMatchObject([{ outcome: null, finishedAt: null }])
})

test('a call that times out is unknown, even if the response arrives later', async () => {
  const order = subject()
  const bank = new StubBank()
  let respond = () => {}
  bank.stall('after', () => new Promise<void>(resolve => (respond = resolve)))
  const lost = await withJournal(bank, [order], { timeoutMs: 50 }).sendPayout(payout(order.id))
  expect(lost).toEqual({ outcome: 'unknown', reason: 'no response in time' })
  respond()
  expect(await callsOf(order.id)).toMatchObject([
    { outcome: 'unknown', response: { reason: 'no response in time', code: 'timeout' } },
  ])
  expect(await withJournal(bank, [order]).getPayout(payout(order.id))).toEqual({
    outcome: 'ok',
    value: { state: 'taken' },
  })
  const calls = await callsOf(order.id)
  expect(calls.map(call => [call.operation, call.outcome])).toEqual([
    ['sendPayout', 'unknown'],
    ['getPayout', 'ok'],
  ])
})

test("a refusal is stored with its code and the bank's text", async () => {
  const order = subject()
  const value = { state: 'refused', ...spiRefusal('AC07', 'Conta encerrada') } as const
  const refusePayout = async () => ({ outcome: 'ok', value }) as const
  const bank = Object.assign(new StubBank(), { getPayout: refusePayout })
  await withJournal(bank, [order]).getPayout(payout(order.id))
  expect((await callsOf(order.id))[0]?.response).toEqual({
    state: 'refused',
    code: 'account_closed',
    bankText: 'Conta encerrada',
  })
})

test("a call that throws is unknown, and only the error's code is stored", async () => {
  const order = subject()
  const bank = new StubBank()
  bank.setScript(removeHyphens(order.id), { sends: ['throws after'] })
  expect(await withJournal(bank, [order]).sendPayout(payout(order.id))).toEqual({
    outcome: 'unknown',
    reason: 'ECONNRESET',
  })
  expect(await callsOf(order.id)).toMatchObject([
    { outcome: 'unknown', response: { reason: 'ECONNRESET' } },
  ])
})

test.each([
  ['rejected', { outcome: 'rejected', ...REFUSAL }, { bankText: REFUSAL.bankText }],
  ['down', { outcome: 'retryable', reason: 'down' }, { reason: 'down' }],
  [
    'lost after',
    { outcome: 'unknown', reason: 'the connection broke' },
    { reason: 'the connection broke' },
  ],
] as const)(
  'the outcome of "%s" is stored as the bank reported it',
  async (behavior, result, response) => {
    const order = subject()
    const bank = new StubBank()
    bank.setScript(removeHyphens(order.id), { sends: [behavior] })
    expect(await withJournal(bank, [order]).sendPayout(payout(order.id))).toEqual(result)
    expect(await callsOf(order.id)).toMatchObject([{ outcome: result.outcome, response }])
  },
)

test("one query about many charges is stored once per charge with that charge's state", async () => {
  const charges = [subject(), subject(), subject()]
  const other = await makeMerchant()
  const foreign = { ...subject(), accountId: other.id }
  const bank = new StubBank()
  const paidAt = new Date('2026-11-21T00:00:00Z')
  const paid = paidState(700, { endToEndId: 'E1', paidAt })
  bank.charges.set(removeHyphens(charges[0]?.id ?? ''), paid)
  bank.charges.set(removeHyphens(foreign.id), { state: 'failed' })
  const all = [...charges, foreign]
  await withJournal(bank, all).getCharges(all.map(({ id }) => removeHyphens(id)))
  const journal = await Promise.all(all.map(({ id }) => callsOf(id)))
  expect(journal.map(calls => calls.length)).toEqual([1, 1, 1, 1])
  expect(journal.flat().map(call => [call.accountId, call.outcome, call.response])).toEqual([
    [merchant.id, 'ok', JSON.parse(JSON.stringify(paid))],
    [merchant.id, 'ok', null],
    [merchant.id, 'ok', null],
    [other.id, 'ok', { state: 'failed' }],
  ])
})

describe('the journal contains no payer data', () => {
  test("neither from the request nor from the bank's response", async () => {
    const charge = subject()
    const bank = new StubBank()
    const payer = {
      payerName: 'Ana Beatriz Rocha',
      payerEmail: 'ana@example.com',
      payerDoc: '52998224725',
    }
    bank.createCharge = async order => ({
      outcome: 'rejected',
      code: 'unspecified',
      params: {},
      bankText: `${order.payerName} (${order.payerDoc}, ${order.payerEmail}) is unknown`,
    })
    await withJournal(bank, [charge]).createCharge({
      txid: removeHyphens(charge.id),
      amount: 1_500,
      expiresInSeconds: 60,
      merchantName: 'Padaria',
      merchantCity: 'Recife',
      ...payer,
    })
    const [call] = await callsOf(charge.id)
    const text = JSON.stringify([call?.request, call?.response])
    for (const secret of Object.values(payer)) expect(text).not.toContain(secret)
    expect(call?.request).toEqual({
      txid: removeHyphens(charge.id),
      amount: 1_500,
      expiresInSeconds: 60,
    })
    expect(call?.response).toEqual({
      code: 'unspecified',
      bankText: '*** (***, ***) is unknown',
    })
  })

  test.each([
    ['52998224725', '***.982.247-**'],
    ['+5511987654321', '+55 (11) *****-4321'],
    ['what is this', '***'],
  ])('the PIX key %s is stored as %s', async (dictKey, maskedKey) => {
    const order = subject()
    const bank = new StubBank()
    bank.sendPayout = async sent => ({
      outcome: 'rejected',
      ...REFUSAL,
      bankText: `No key ${sent.dictKey}`,
    })
    await withJournal(bank, [order]).sendPayout(payout(order.id, dictKey))
    expect(await callsOf(order.id)).toMatchObject([
      { request: { dictKey: maskedKey }, response: { bankText: `No key ${maskedKey}` } },
    ])
  })

  test("the document of a key's owner is hidden where the bank repeats it", async () => {
    const order = subject()
    const bank = new StubBank()
    bank.sendPayout = async sent => ({
      outcome: 'rejected',
      ...REFUSAL,
      bankText: `${sent.ownerDoc} does not own the key`,
    })
    await withJournal(bank, [order]).sendPayout({ ...payout(order.id), ownerDoc: '52998224725' })
    const [call] = await callsOf(order.id)
    expect(call?.response).toMatchObject({ bankText: '***.982.247-** does not own the key' })
    expect(JSON.stringify([call?.request, call?.response])).not.toContain('52998224725')
  })

  test('a private text changes no field but the texts of the bank', async () => {
    const order = subject()
    const bank = new StubBank()
    const journal = withJournal(bank, [order], { hidden: { taken: '***', ':': '***' } })
    await journal.sendPayout(payout(order.id))
    expect(await callsOf(order.id)).toMatchObject([{ outcome: 'ok', response: { state: 'taken' } }])
  })

  test('extra fields of a response are not stored', async () => {
    const order = subject()
    const bank = new StubBank()
    const extra = { state: 'taken', holder: 'Ana Beatriz Rocha' } as const
    bank.getRefund = async () => ({ outcome: 'ok', value: extra })
    await withJournal(bank, [order]).getRefund({
      id: removeHyphens(order.id),
      endToEndId: 'E1',
      amount: 1_000,
    })
    expect(await callsOf(order.id)).toMatchObject([{ response: { state: 'taken' } }])
    expect(JSON.stringify(await callsOf(order.id).then(calls => calls[0]?.response))).toBe(
      '{"state":"taken"}',
    )
  })
})

test("what a bank blocks is kept with the connection without the subject's private texts", async () => {
  const order = { ...subject(), connectionId: newId() }
  const bank = new StubBank()
  bank.sendPayout = async ({ dictKey }) => ({
    outcome: 'blocked',
    code: 'key',
    reason: `No ${dictKey} of 123.456.789-09`,
  })
  await withJournal(bank, [order]).sendPayout(payout(order.id))
  const where = { connectionId: order.connectionId }
  expect(await db().connectionState.findUnique({ where })).toMatchObject({
    blocks: { sendPayout: { reason: 'No a***@example.com of ***' } },
  })
})

test('a probe that could not be journaled leaves its turn to the next call', async () => {
  const order = { ...subject(), connectionId: newId() }
  const bank = Object.assign(new StubBank(), { failuresMax: 1 })
  await restConnection(order.connectionId)
  await endRest(order.connectionId)
  const unknown = { ...order, accountId: 'no uuid' }
  await expect(withJournal(bank, [unknown]).getPayout(payout(order.id))).rejects.toThrow()
  expect(await withJournal(bank, [order]).getPayout(payout(order.id))).toMatchObject({
    outcome: 'ok',
  })
})

test('calls that stay in the process are not stored', async () => {
  const order = subject()
  await withJournal(simulator, [order]).sendPayout(payout(order.id))
  expect(await callsOf(order.id)).toEqual([])
})
