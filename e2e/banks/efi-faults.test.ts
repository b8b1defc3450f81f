import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EfiAccount, newPayout, PAYEE, PAYING_KEY } from '#e2e/banks/efi-account.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import type { PayoutOrder } from '#lib/banks/gateway.ts'

let account: EfiAccount
let order: PayoutOrder
/** Cents that had left the account before the test. */
let paidBefore: number
beforeAll(async () => {
  account = await EfiAccount.open()
})
afterAll(() => account.close())
beforeEach(async () => {
  order = newPayout()
  paidBefore = await account.readPaidOut()
  // The token is known: a fault meets the payout itself.
  await account.gateway.getBalance?.(AbortSignal.timeout(10_000))
})
afterEach(() => account.bank.run('clearFaults'))

const PATIENT_MS = 10_000
const IMPATIENT_MS = 700
const LATE_MS = 1_500
const readPaid = async () => (await account.readPaidOut()) - paidBefore

describe('a payout that is sent again until it is known is paid once, after', () => {
  test.each<[string, Fault, number]>([
    ['a response that was lost', { kind: 'reset', hasActed: true }, PATIENT_MS],
    ['a connection that was reset before', { kind: 'reset' }, PATIENT_MS],
    ['a connection that was closed without a byte', { kind: 'half-close' }, PATIENT_MS],
    ['one that was closed after acting', { kind: 'half-close', hasActed: true }, PATIENT_MS],
    ['half a body', { kind: 'half-body' }, PATIENT_MS],
    ['a 503 in HTML', { kind: 'respond' }, PATIENT_MS],
    ['a 503 in HTML after acting', { kind: 'respond', hasActed: true }, PATIENT_MS],
    ['a 500', { kind: 'respond', hasActed: true, ...reply(500, 'erro_aplicacao') }, PATIENT_MS],
    ['a 200 in HTML', { kind: 'respond', hasActed: true, status: 200 }, PATIENT_MS],
    ['an empty 201', { kind: 'respond', hasActed: true, status: 201, body: '{}' }, PATIENT_MS],
    ['no response', { kind: 'hang' }, IMPATIENT_MS],
    ['no response after acting', { kind: 'hang', hasActed: true }, IMPATIENT_MS],
    ['a late one', { kind: 'delay', delayMs: LATE_MS, hasActed: true }, IMPATIENT_MS],
    ['an act after the time-out', { kind: 'delay', delayMs: LATE_MS }, IMPATIENT_MS],
  ])('%s', async (_, fault, timeoutMs) => {
    await account.fail(fault)
    expect(await account.send(order, timeoutMs)).toMatchObject({ outcome: 'unknown' })
    // After a delay, the repeated request may reach the bank before the first one.
    expect(await account.send(order)).toMatchObject({ outcome: 'ok', value: { state: 'taken' } })
    await expect.poll(() => account.bank.run('countFaults')).toBe(0)
    await account.settle()
    expect(await account.find(order)).toMatchObject({ outcome: 'ok', value: { state: 'done' } })
    expect(await readPaid()).toBe(order.amount)
  })

  test('a token that the bank has revoked', async () => {
    await account.bank.run('revokeTokens')
    expect(await account.send(order)).toMatchObject({ outcome: 'ok', value: { state: 'taken' } })
    expect(await readPaid()).toBe(order.amount)
  })

  test('a duplicate, whose state is that of the first', async () => {
    await account.send(order)
    const again = await account.send(order)
    expect(again).toEqual(await account.find(order))
    await account.settle()
    expect(await account.send(order)).toMatchObject({ value: { state: 'done' } })
    expect(await readPaid()).toBe(order.amount)
  })
})

describe('what the bank has under the id is not the payout, if it has', () => {
  test.each<[string, number, string]>([
    ['another amount', 1_235, PAYEE.dictKey],
    ['another key', 1_234, 'bia@example.com'],
  ])('%s, however often it is asked', async (_, amount, key) => {
    await account.payAlone(order.id, amount, key)
    const ask = async () => [await account.send(order), await account.find(order)]
    const contradicted = { outcome: 'unknown', reason: expect.stringContaining('another') }
    expect(await ask()).toMatchObject([contradicted, contradicted])
    await account.settle()
    expect(await ask()).toMatchObject([contradicted, contradicted])
    expect(await readPaid()).toBe(amount)
  })

  test.each<[string, object]>([
    ['no amount', { favorecido: { chave: PAYEE.dictKey }, status: 'REALIZADO' }],
    ['no key', { valor: '12.34', status: 'REALIZADO', endToEndId: 'E1' }],
    ['another id', { idEnvio: 'other', valor: '12.34', favorecido: { chave: PAYEE.dictKey } }],
    ['no status', { valor: '12.34', favorecido: { chave: PAYEE.dictKey } }],
    [
      'no end-to-end id, though it was done',
      { valor: '12.34', favorecido: { chave: PAYEE.dictKey }, status: 'REALIZADO' },
    ],
  ])('%s', async (_, body) => {
    const path = '/v2/gn/pix/enviados'
    await account.fail({ kind: 'respond', path, status: 200, body: JSON.stringify(body) })
    expect(await account.find(order)).toMatchObject({ outcome: 'unknown' })
  })

  test('a status that this version does not know: then it is not final', async () => {
    const body = { valor: '12.34', favorecido: { chave: PAYEE.dictKey }, status: 'EM_ANALISE' }
    const path = '/v2/gn/pix/enviados'
    await account.fail({ kind: 'respond', path, status: 200, body: JSON.stringify(body) })
    expect(await account.find(order)).toEqual({ outcome: 'ok', value: { state: 'taken' } })
  })
})

describe('a duplicate is unknown', () => {
  test.each<[string, Fault]>([
    ['if the bank then does not have it', { kind: 'respond', ...reply(409, 'id_envio_duplicado') }],
    ['in the shape of the standard', { kind: 'respond', ...problem(409, 'id_envio_duplicado') }],
  ])('%s', async (_, fault) => {
    await account.fail(fault)
    expect(await account.send(order)).toMatchObject({ outcome: 'unknown' })
    expect(await readPaid()).toBe(0)
  })

  test.each([403, 429, 503])('if the bank then responds with %i', async status => {
    await account.send(order)
    const path = '/v2/gn/pix/enviados'
    await account.fail({ kind: 'respond', path, status, body: '{}' })
    expect(await account.send(order)).toMatchObject({ outcome: 'unknown' })
    expect(await readPaid()).toBe(order.amount)
  })
})

describe('a key that was refused', () => {
  test("is the payee's while the account's own key has a webhook", async () => {
    await account.setPayee({ refusal: 'payeeKeyInvalid' })
    expect(await account.send(order)).toMatchObject({ outcome: 'rejected', code: 'key_refused' })
    await account.setPayee({})
  })

  test('may be that of the account: without its webhook, nothing is rejected', async () => {
    const path = `/v2/webhook/${PAYING_KEY}`
    await account.client.call('DELETE', path)
    expect(await account.send(order)).toMatchObject({ outcome: 'blocked', code: 'key' })
    await account.client.call('PUT', path, { webhookUrl: account.receiver.url })
    expect(await account.send(order)).toMatchObject({ outcome: 'ok' })
  })

  test.each<[string, number, string]>([
    ['blocked', 403, 'scope'],
    ['retryable', 503, ''],
  ])('is %s if the bank, asked which, responds with %i', async (outcome, status, code) => {
    await account.fail({ kind: 'respond', ...reply(400, 'chave_invalida', 'Chave inválida') })
    await account.fail({ kind: 'respond', path: '/v2/webhook', status, body: '{}' })
    expect(await account.send(order)).toMatchObject({ outcome, ...(code && { code }) })
  })

  test('of the account itself is never paid', async () => {
    const after = (await account.bank.run('readTraffic', {})).length
    const toItself = { ...order, dictKey: PAYING_KEY }
    expect(await account.send(toItself)).toMatchObject({ outcome: 'rejected', code: 'key_refused' })
    expect(await account.countSends(after)).toBe(0)
  })
})

test('a blocked account blocks payouts and rejects none', async () => {
  await account.bank.run('change', { isAccountBlocked: true })
  expect(await account.send(order)).toMatchObject({ outcome: 'blocked', code: 'document' })
  await account.bank.run('change', { isAccountBlocked: false })
  expect(await account.send(order)).toMatchObject({ outcome: 'ok' })
})

test('an empty bucket is retryable after the time that the bank names', async () => {
  await account.setPayee({ refusal: 'bucketEmpty' })
  expect(await account.send(order)).toMatchObject({
    outcome: 'retryable',
    isRateLimit: true,
    retryAfterMs: 2_000,
  })
  await account.setPayee({})
  expect(await readPaid()).toBe(0)
})

/** An error as Efí reports most of them. */
function reply(status: number, nome: string, mensagem = 'Recusado') {
  return { status, body: JSON.stringify({ nome, mensagem }) }
}

/** An error as the standard has it. */
function problem(status: number, name: string) {
  const type = `https://pix.bcb.gov.br/api/v2/error/${name}`
  return { status, body: JSON.stringify({ type, title: name, status, detail: 'Recusado' }) }
}
