import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'
import { ChargeTimelineRead } from '#lib/dashboard/timeline.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CANARY,
  makeMerchant,
  openCharge,
  runAsOwner,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

const NOT_FOUND = [404, '{"error":"Transaction not found"}', 'transaction_not_found']

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'viewer')
})
afterAll(() => api.close())

const headers = () => pageHeaders(secret, merchant.id)
const callApi = (path: string) =>
  call(api.url, 'GET', `/dashboard/charges/${path}`, { headers: headers() })

/** Returns ids that match no charge of this account and mode. */
async function makeForeignIds(): Promise<string[]> {
  const foreignId = (await openCharge(await makeMerchant())).id
  return [newId(), 'x', "'%00", foreignId].map(encodeURIComponent)
}

describe('GET /dashboard/charges/[id]/timeline', () => {
  const readTimeline = async (id: string): Promise<ChargeTimelineData> => {
    const { status, body } = await callApi(`${id}/timeline`)
    expect(status).toBe(200)
    expectShape(ChargeTimelineRead, body)
    return body.data
  }
  const stepNames = (timeline: ChargeTimelineData) => timeline.steps.map(({ what }) => what)

  test('lists expiry or failure, also when the charge is paid afterwards', async () => {
    const { id } = await openCharge(merchant)
    await simulateCharge(merchant.id, id, 'expired')
    expect(stepNames(await readTimeline(id))).toEqual(['created', 'expired'])
    await runAsOwner(`DELETE FROM events WHERE account_id = '${merchant.id}'`)
    expect(stepNames(await readTimeline(id))).toEqual(['created', 'expired'])
    const failed = await openCharge(merchant)
    await simulateCharge(merchant.id, failed.id, 'failed')
    await simulateCharge(merchant.id, failed.id, 'paid')
    // The bank's clock may run behind: its payment time can precede the failure.
    const paidAt = new Date(Date.now() - 5_000)
    await db().charge.updateMany({ where: { id: failed.id }, data: { paidAt } })
    expect(stepNames(await readTimeline(failed.id)).slice(0, 3)).toEqual([
      'created',
      'failed',
      'paid',
    ])
    expect(stepNames(await readTimeline(failed.id)).toSorted()).toEqual([
      'created',
      'entry',
      'failed',
      'paid',
    ])
  })

  test('masks the payer’s document', async () => {
    const { id } = await openCharge(merchant)
    const { text, body } = await callApi(`${id}/timeline`)
    expect(body.data.charge.client_doc).toMatch(/^\*{3}\.\d{3}\.\d{3}-\*{2}$/)
    expect(text).not.toContain(CANARY.formattedDocument)
  })

  test('404 for an unknown charge and a charge of another account', async () => {
    for (const id of await makeForeignIds()) {
      expect(refusal(await callApi(`${id}/timeline`)), id).toEqual(NOT_FOUND)
    }
  })
})

test('a pending charge is cancelled once, by members who may; a paid one is not', async () => {
  const { id } = await openCharge(merchant, 1_500)
  const as = async (role: Role) => pageHeaders(await signIn(merchant, role), merchant.id)
  const cancel = async (role: Role, chargeId = id) =>
    call(api.url, 'POST', `/dashboard/charges/${chargeId}/cancel`, { headers: await as(role) })
  expect((await cancel('viewer')).status).toBe(403)
  const { status, body } = await cancel('developer')
  expect([status, body.data.status, body.data.cancelled_at !== undefined]).toEqual([
    200,
    'expired',
    true,
  ])
  expect(body.data.client_doc).toContain('***')
  expect((await cancel('finance')).body.data.cancelled_at).toBe(body.data.cancelled_at)
  const paid = await openCharge(merchant, 1_500)
  await simulateCharge(merchant.id, paid.id, 'paid')
  expect((await cancel('owner', paid.id)).status).toBe(409)
  const stranger = pageHeaders(await signIn(await makeMerchant(), 'owner'), merchant.id)
  const path = `/dashboard/charges/${id}/cancel`
  expect((await call(api.url, 'POST', path, { headers: stranger })).status).toBe(401)
})

test('a pending charge is described by members who may, and shows it only then', async () => {
  const { id } = await openCharge(merchant, 1_500)
  const describeAs = async (role: Role, description: unknown) =>
    call(api.url, 'POST', `/dashboard/charges/${id}/description`, {
      headers: pageHeaders(await signIn(merchant, role), merchant.id),
      body: { description },
    })
  const read = async () => (await callApi(`${id}/timeline`)).body.data.charge
  expect(await read()).not.toHaveProperty('description')
  expect((await describeAs('viewer', 'x')).status).toBe(403)
  const { status, body } = await describeAs('developer', '  Mensalidade de março ')
  expect([status, body.data.description]).toEqual([200, 'Mensalidade de março'])
  expect((await read()).description).toBe('Mensalidade de março')
  for (const invalid of [' ', 'x'.repeat(141), 7, 'a\u0000b']) {
    expect((await describeAs('owner', invalid)).status, String(invalid)).toBe(422)
  }
  expect((await describeAs('owner', '')).body.data).not.toHaveProperty('description')
  await describeAs('owner', 'x'.repeat(140))
  await simulateCharge(merchant.id, id, 'paid')
  expect((await describeAs('owner', 'Depois')).status).toBe(409)
  expect((await read()).description).toBe('x'.repeat(140))
})
