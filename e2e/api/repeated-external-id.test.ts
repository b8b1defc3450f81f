import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

const SETTINGS = {
  city: 'Recife',
  expires_in: 3_600,
  time_zone: 'America/Recife',
  charge_review_above: null,
  repeats_external_ids: true,
}

let api: Api
let merchant: Account
let token: string
/** The transaction_id of each charge, oldest first. */
let ids: string[]
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  const body = { name: merchant.name, ...SETTINGS }
  const changed = await call(api.url, 'PATCH', '/dashboard/account', { headers, body })
  expect(changed.status).toBe(200)
  ids = [await create(), await create()]
  await send('POST', `/sandbox/transactions/${ids[0]}`, { outcome: 'paid' })
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const send = (method: string, path: string, body?: object) =>
  call(api.url, method, path, { token, body })

async function create(): Promise<string> {
  const { body } = await send('POST', '/transactions', { ...CHARGE, external_id: 'repeated' })
  return body.data.transaction_id
}

const readAll = async () =>
  Promise.all(ids.map(async id => (await send('GET', `/transactions/${id}`)).body.data))

test.each([
  ['cancel', 'POST', '/transactions/$id/cancel', undefined],
  ['refund', 'POST', '/transactions/$id/refunds', { amount: 100 }],
  ['description', 'PUT', '/transactions/$id/description', { description: 'November' }],
  ['sandbox action', 'POST', '/sandbox/transactions/$id', { outcome: 'paid' }],
])('a %s by a repeated external_id is 409 and has no effect', async (_, method, path, body) => {
  const before = await readAll()
  const refused = await send(method, path.replace('$id', 'repeated'), body)
  expect(refusal(refused)).toEqual([
    409,
    '{"error":"Several transactions have this external_id: use the transaction_id"}',
    'external_id_ambiguous',
  ])
  expect(refused.headers.get('link')).toContain('/docs/errors#external_id_ambiguous')
  expect(await readAll()).toEqual(before)
})

test('reading by a repeated external_id returns the newest', async () => {
  const { status, body } = await send('GET', '/transactions/repeated')
  expect([status, body.data.transaction_id]).toEqual([200, ids[1]])
})

test('a write by the transaction_id has its effect', async () => {
  const refunded = await send('POST', `/transactions/${ids[0]}/refunds`, { amount: 100 })
  const cancelled = await send('POST', `/transactions/${ids[1]}/cancel`)
  expect([refunded.status, cancelled.status]).toEqual([200, 200])
})
