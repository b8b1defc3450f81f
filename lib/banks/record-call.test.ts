import { describe, expect, test } from 'vitest'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { endRest, readRestsAlways, restConnection } from '#lib/testing/connection.ts'

function openBank() {
  const bank = new StubBank()
  const connection = { id: newId(), gateway: bank }
  const where = { connectionId: connection.id }
  const listCalls = () => db().gatewayCall.findMany({ where, orderBy: { id: 'asc' } })
  return { bank, connection, listCalls }
}

test('calls about no account are journaled, without account, mode and subject', async () => {
  const { bank, connection, listCalls } = openBank()
  bank.getBalance = async () => ({ outcome: 'ok', value: { available: 4_200 } })
  const calls = withConnectionJournal(connection)
  expect(await calls.getBalance?.()).toEqual({ outcome: 'ok', value: { available: 4_200 } })
  await calls.checkHealth()
  const about = { accountId: null, mode: null, subjectId: null, finishedAt: expect.any(Date) }
  expect(await listCalls()).toMatchObject([
    { ...about, operation: 'getBalance', outcome: 'ok', response: { available: 4_200 } },
    { ...about, operation: 'checkHealth', outcome: 'ok', response: null },
  ])
})

test('a list is journaled as the number of its items', async () => {
  const { bank, connection, listCalls } = openBank()
  const [since, paidAt] = [new Date('2026-11-20T12:00:00Z'), new Date('2026-11-20T13:00:00Z')]
  for (const endToEndId of ['E1', 'E2', 'E3'])
    bank.payments.push({ endToEndId, amount: 100, paidAt, txid: null })
  const page = await withConnectionJournal(connection).listPayments?.(since, null)
  expect(page).toMatchObject({ value: { items: [{ endToEndId: 'E1' }, { endToEndId: 'E2' }] } })
  expect(await listCalls()).toMatchObject([
    {
      operation: 'listPayments',
      request: { since: since.toISOString() },
      response: { count: 2, isLastPage: false },
    },
  ])
})

test('the secret in the address of notifications is not stored', async () => {
  const { bank, connection, listCalls } = openBank()
  bank.registerWebhook = async address => ({ outcome: 'unknown', reason: `no answer: ${address}` })
  await withConnectionJournal(connection).registerWebhook?.('https://pay.example/hook?hmac=5ecret')
  const [call] = await listCalls()
  expect(call).toMatchObject({ request: { host: 'pay.example' }, outcome: 'unknown' })
  expect(JSON.stringify(call)).not.toContain('5ecret')
})

test('a call that hangs is aborted and unknown', async () => {
  const { bank, connection, listCalls } = openBank()
  bank.hang()
  const calls = withConnectionJournal(connection, { timeoutMs: 20 })
  expect(await calls.checkHealth()).toMatchObject({ outcome: 'unknown' })
  expect(await listCalls()).toMatchObject([{ response: { code: 'timeout' } }])
})

describe('a check of the connection', () => {
  const stateOf = (connectionId: string) =>
    db().connectionState.findUnique({ where: { connectionId } })
  const LOST = { outcome: 'unknown', reason: 'lost' } as const
  const reason = 'CPF 123.456.789-09 bloqueado'
  const BLOCKED = { outcome: 'blocked', code: 'document', reason } as const

  test('is no failure of it, however often it fails', async () => {
    const { bank, connection } = openBank()
    Object.assign(bank, { failuresMax: 1, checkHealth: async () => LOST })
    for (let count = 0; count < 3; count++) await withConnectionJournal(connection).checkHealth()
    expect(await stateOf(connection.id)).toMatchObject({ failures: 0, openedAt: null })
  })

  test('in a rest is made, and is no probe: the rest goes on', async () => {
    const { bank, connection, listCalls } = openBank()
    bank.failuresMax = 1
    await restConnection(connection.id)
    await endRest(connection.id)
    const before = await stateOf(connection.id)
    expect(await withConnectionJournal(connection).checkHealth()).toMatchObject({ outcome: 'ok' })
    bank.checkHealth = async () => LOST
    await withConnectionJournal(connection).checkHealth()
    expect(await listCalls()).toHaveLength(2)
    expect(await stateOf(connection.id)).toEqual(before)
  })

  test('stores what the bank blocks, without private texts, until one succeeds', async () => {
    const { bank, connection } = openBank()
    const check = () => withConnectionJournal(connection).checkHealth()
    bank.checkHealth = async () => BLOCKED
    await check()
    expect(await stateOf(connection.id)).toMatchObject({
      blocks: { checkHealth: { code: 'document', reason: 'CPF *** bloqueado' } },
    })
    bank.checkHealth = async () => ({ outcome: 'ok', value: null })
    await check()
    expect(await stateOf(connection.id)).toMatchObject({ blocks: {} })
  })
})

test('a list waits in a rest, and is neither a probe nor a failure', async () => {
  readRestsAlways()
  const { bank, connection, listCalls } = openBank()
  const where = { connectionId: connection.id }
  const stateOf = () => db().connectionState.findUnique({ where })
  bank.failuresMax = 1
  await restConnection(connection.id)
  const list = () => withConnectionJournal(connection).listPayments?.(new Date(), null)
  expect(await list()).toMatchObject({ outcome: 'retryable' })
  expect(await listCalls()).toEqual([])
  await endRest(connection.id)
  const before = await stateOf()
  expect(await list()).toMatchObject({ outcome: 'ok' })
  Object.assign(bank, { listPayments: async () => ({ outcome: 'unknown', reason: 'lost' }) })
  expect(await list()).toMatchObject({ outcome: 'unknown' })
  expect(await stateOf()).toEqual(before)
})

test('a gateway declares which lists it has, and calls that stay in the process are not stored', async () => {
  const { connection, listCalls } = openBank()
  const calls = withConnectionJournal({ ...connection, gateway: simulator })
  expect(await calls.checkHealth()).toEqual({ outcome: 'ok', value: null })
  const { getBalance, listPayments, listSentPayouts, registerWebhook } = calls
  expect([getBalance, listPayments, listSentPayouts, registerWebhook]).toEqual(
    Array(4).fill(undefined),
  )
  expect(await listCalls()).toEqual([])
})

test('a call has an account, a mode and a subject, or none of them', async () => {
  const call = { id: newId(), gateway: 'bank', operation: 'getBalance', request: {} }
  await expect(db().gatewayCall.create({ data: { ...call, mode: 'live' } })).rejects.toThrow(
    'gateway_calls_subject_complete',
  )
})
