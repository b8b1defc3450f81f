import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { type BankResponse, problem, StandardBank } from '#lib/testing/standard-bank.ts'

let bank: StandardBank
beforeEach(async () => {
  bank = await new StandardBank().open()
})
afterEach(() => bank.close())

const PAYING_KEY = 'caixa@example.com'
const open = (changes: object = {}) =>
  openEfi(
    bank.connection({ kind: 'efi', profile: null, payingKey: PAYING_KEY, ...changes }),
    lookup as LookupFunction,
  )
const openPayer = () => open() ?? expect.unreachable()
const signal = () => AbortSignal.timeout(10_000)
const newOrder = (amount = 1_000) => ({
  id: removeHyphens(newId()),
  amount,
  dictKey: 'ana@example.com',
  ownerDoc: null,
})
const balance = (saldo: unknown): BankResponse => ({ status: 200, body: { saldo } })
const sends = () => bank.requests.filter(({ path }) => path.startsWith('/v3/gn/pix/'))

test.each<[string, object]>([
  ['an environment', { environment: null }],
  ['a key to receive with or to pay from', { receivingKeys: [], payingKey: null }],
])('a connection without %s is not served', (_, changes) => {
  expect(open(changes)).toBeNull()
})

test.each<[string, object]>([
  [
    'credentials must be given: client_id, client_secret, and p12 or certificate and private_key',
    { credentials: null },
  ],
  ['profile must be absent or efi', { profile: 'itau' }],
  [
    'settings must have an api_url that ends in /v2',
    { settings: { api_url: 'https://a.example' } },
  ],
])('a connection is refused: %s', (message, changes) => {
  expect(() => open(changes)).toThrow(message)
})

test('each key that receives or pays is registered for notices, without demanding mTLS', async () => {
  await openPayer().registerWebhook?.('https://troco.example/notices', signal())
  const registered = bank.requests.filter(({ method }) => method === 'PUT')
  expect(registered.map(({ path }) => decodeURIComponent(path))).toEqual([
    '/v2/webhook/pix@example.com',
    `/v2/webhook/${PAYING_KEY}`,
  ])
  for (const { headers } of registered) expect(headers['x-skip-mtls-checking']).toBe('true')
})

test('an address that requires a certificate is registered with the check of mTLS', async () => {
  await openPayer().registerWebhook?.('https://troco.example/notices', signal(), {
    isCertificateRequired: true,
  })
  const registered = bank.requests.filter(({ method }) => method === 'PUT')
  expect(registered).toHaveLength(2)
  for (const { headers } of registered) expect(headers).not.toHaveProperty('x-skip-mtls-checking')
})

test('only the given keys are registered, so that an address of another program stays', async () => {
  await openPayer().registerWebhook?.('https://troco.example/notices', signal(), {
    keys: [PAYING_KEY],
  })
  const registered = bank.requests.filter(({ method }) => method === 'PUT')
  expect(registered.map(({ path }) => decodeURIComponent(path))).toEqual([
    `/v2/webhook/${PAYING_KEY}`,
  ])
})

test('notices name payouts, charges, payments and refunds; anything else is no notice', () => {
  const { parseWebhook } = openPayer()
  const id = removeHyphens(newId())
  const payment = (endToEndId: string) => ({ kind: 'payment', id: endToEndId })
  const pix = [
    { endToEndId: 'E1', tipo: 'SOLICITACAO', gnExtras: { idEnvio: id }, devolucoes: [{}] },
    { endToEndId: 'E2', txid: 'abc', gnExtras: { pagador: { nome: 'Ana' } } },
    { endToEndId: 'E3', txid: 'def', devolucoes: [{ id: 'r1' }] },
    { endToEndId: 'E4' },
    null,
  ]
  const notices = [
    ...[
      { kind: 'payout', id },
      { kind: 'return', id },
    ],
    { kind: 'charge', id: 'abc' },
    payment('E2'),
    ...[
      { kind: 'charge', id: 'def' },
      { kind: 'payment_return', id: 'E3' },
      { kind: 'refund', id: 'r1' },
    ],
    payment('E4'),
  ]
  expect(parseWebhook?.(JSON.stringify({ pix }))).toEqual(notices)
  expect(parseWebhook?.(JSON.stringify(pix))).toEqual(notices)
  // Nested more deeply than JSON.stringify can follow.
  const nested = `{"pix":[{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`
  for (const body of ['', '{"evento":"teste_webhook"}', 'null', '{"pix":"x"}', nested])
    expect(parseWebhook?.(body)).toEqual([])
})

test.each<[string, BankResponse, object]>([
  ['may be negative', balance('-5.00'), { outcome: 'ok', value: { available: -500 } }],
  ['does not come', { status: 503, text: '<html>' }, { outcome: 'unknown' }],
  ['is no amount', balance('muito'), { outcome: 'unknown' }],
  ['may not be read', { status: 403, body: {} }, { outcome: 'blocked', code: 'scope' }],
  ['is refused', problem(422, 'Recusado'), { outcome: 'rejected' }],
])('a balance %s', async (_, response, expected) => {
  bank.script.push(response)
  expect(await openPayer().getBalance?.(signal())).toMatchObject(expected)
})

test('an id that Efí would not take is not sent', async () => {
  const order = { ...newOrder(), id: newId() }
  await expect(openPayer().sendPayout(order, signal())).rejects.toThrow('cannot be the id')
  expect(sends()).toEqual([])
})
