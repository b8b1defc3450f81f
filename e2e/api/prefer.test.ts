import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeToken, startApiWithMerchant } from '#lib/testing/fixtures.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

let api: Api
let accountId: string
let token: string
beforeAll(async () => {
  const started = await startApiWithMerchant()
  api = started.api
  accountId = started.merchant.id
  token = started.token
})
afterAll(() => api.close())

const WHOLE = { prefer: 'return=representation' }
const MINIMAL_KEYS = ['transaction_id', 'br_code', 'amount', 'status', 'metadata']

function create(
  headers: Record<string, string>,
  { key, caller = token }: { key?: string; caller?: string } = {},
) {
  return call(api.url, 'POST', '/transactions', { token: caller, key, headers, body: CHARGE })
}

test('with return=representation, the response is what GET returns and the URL of the QR code', async () => {
  const { status, headers, body } = await create(WHOLE)
  expect([status, headers.get('preference-applied')]).toEqual([200, 'return=representation'])
  const { qr_code_url, ...charge } = body.data
  const path = `/transactions/${charge.transaction_id}`
  expect((await call(api.url, 'GET', path, { token })).body.data).toEqual(charge)
  expect(new URL(qr_code_url).pathname).toBe(`/api${path}/qr.svg`)
  expect(charge.payment_url).toMatch(/\/pay\//)
})

test.each([
  ['return=minimal', false],
  ['respond-async, wait=10', false],
  ['return=minimal, return=representation', false],
  ['return', false],
  ['returns=representation', false],
  ['Return = "Representation"; x=1', true],
  ['wait=10, return=representation', true],
])('Prefer: %s', async (prefer, isWhole) => {
  const { status, headers, body } = await create({ prefer })
  expect([status, headers.has('preference-applied')]).toEqual([200, isWhole])
  if (!isWhole) expect(Object.keys(body.data)).toEqual(MINIMAL_KEYS)
  expect('payment_url' in body.data).toBe(isWhole)
})

test('a refusal applies no preference', async () => {
  const options = { token, headers: WHOLE, body: { ...CHARGE, amount: 1 } }
  const { status, headers } = await call(api.url, 'POST', '/transactions', options)
  expect([status, headers.has('preference-applied')]).toEqual([422, false])
})

test('each repetition gets the form that it prefers, as the charge was when it was created', async () => {
  const key = newId()
  const first = await create(WHOLE, { key })
  const { transaction_id: id } = first.body.data
  await call(api.url, 'POST', `/sandbox/transactions/${id}`, { token, body: { outcome: 'paid' } })
  const whole = await create(WHOLE, { key })
  expect([whole.text, whole.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
  expect(whole.headers.get('preference-applied')).toBe('return=representation')
  const minimal = await create({}, { key })
  expect(Object.keys(minimal.body.data)).toEqual(MINIMAL_KEYS)
  expect(minimal.body.data).toMatchObject({ transaction_id: id, status: 'pending' })
})

test('requests at the same time create one charge, and each gets its own form', async () => {
  const key = newId()
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, nth) => create(nth % 2 ? WHOLE : {}, { key })),
  )
  expect(new Set(responses.map(({ body }) => body.data.transaction_id)).size).toBe(1)
  expect(responses.map(({ body }) => 'payment_url' in body.data)).toEqual(
    responses.map((_, nth) => nth % 2 === 1),
  )
})

test('without payers:read the document is masked, in repetitions too', async () => {
  const caller = await makeToken(accountId, {
    permissions: PERMISSIONS.filter(name => name !== 'payers:read'),
  })
  const key = newId()
  for (const { body } of [
    await create(WHOLE, { key, caller }),
    await create(WHOLE, { key, caller }),
  ])
    expect(body.data.client_doc).toMatch(/^\*\*\*\./)
})
