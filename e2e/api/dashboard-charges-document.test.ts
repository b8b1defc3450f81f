import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'

const MASKED = /^\*\*\*\.\d{3}\.\d{3}-\*\*$/

let api: Api
let merchant: Account
let charge: string
let document: string
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  charge = (await openCharge(merchant)).id
  document = (await db().charge.findFirstOrThrow({ where: { id: charge } })).clientDoc
})
afterAll(() => api.close())

async function request(role: Role, method: string, path: string) {
  const headers = pageHeaders(await signIn(merchant, role), merchant.id)
  return call(api.url, method, path, { headers })
}
const reveal = (role: Role, id = charge) =>
  request(role, 'POST', `/dashboard/charges/${id}/document`)
const listRevealRecords = () =>
  db().auditRecord.findMany({
    where: { accountId: merchant.id, action: 'charge.document_revealed' },
  })

describe("a payer's document", () => {
  test.each(['owner', 'finance'] as const)(
    'is shown to the role %s, with an audit record that does not contain it',
    async role => {
      const before = (await listRevealRecords()).length
      const { status, body } = await reveal(role)
      expect([status, body.data]).toEqual([200, { document }])
      const records = await listRevealRecords()
      expect(records).toHaveLength(before + 1)
      expect(records.at(-1)).toMatchObject({
        target: charge,
        actorType: 'user',
        after: { mode: 'test' },
      })
      expect(JSON.stringify(records)).not.toContain(document)
    },
  )

  test('is recorded for every member who reads it, also with the same Idempotency-Key', async () => {
    const before = (await listRevealRecords()).length
    for (const role of ['finance', 'owner', 'owner'] as const) {
      const headers = pageHeaders(await signIn(merchant, role), merchant.id)
      const path = `/dashboard/charges/${charge}/document`
      const response = await call(api.url, 'POST', path, { headers, key: 'one-reveal' })
      expect([response.status, response.body.data]).toEqual([200, { document }])
    }
    expect(await listRevealRecords()).toHaveLength(before + 3)
    expect(await db().idempotencyKey.count({ where: { accountId: merchant.id } })).toBe(0)
  })

  test.each(['developer', 'viewer'] as const)('is not shown to the role %s', async role => {
    const before = (await listRevealRecords()).length
    const response = await reveal(role)
    expect([response.status, response.text.includes(document)]).toEqual([403, false])
    expect(await listRevealRecords()).toHaveLength(before)
  })

  test('returns 404 for charges of other accounts or modes and for unknown ids', async () => {
    const other = await openCharge(await makeMerchant())
    for (const id of [other.id, newId(), 'none'])
      expect((await reveal('owner', id)).status).toBe(404)
    const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id, 'live')
    const path = `/dashboard/charges/${charge}/document`
    expect((await call(api.url, 'POST', path, { headers })).status).toBe(404)
  })

  test('is complete for API tokens and masked for members, in charge, list and events', async () => {
    await fundMerchant(merchant, 2_000)
    const token = await makeToken(merchant.id)
    for (const [path, fieldPath] of [
      [`/transactions/${charge}`, 'data.client_doc'],
      ['/transactions', 'data.0.client_doc'],
      ['/events', 'data.0.transaction.client_doc'],
    ] as const) {
      const readDocument = (body: unknown) =>
        fieldPath.split('.').reduce((value, key) => (value as Record<string, unknown>)[key], body)
      expect(readDocument((await call(api.url, 'GET', path, { token })).body), path).toBe(document)
      for (const role of ['owner', 'viewer'] as const) {
        const { body, text } = await request(role, 'GET', path)
        expect(readDocument(body), path).toMatch(MASKED)
        expect(text).not.toContain(document)
      }
    }
  })

  test('is masked in the response when a member simulates a payment', async () => {
    const { id } = await openCharge(merchant)
    const headers = pageHeaders(await signIn(merchant, 'developer'), merchant.id)
    const options = { headers, body: { outcome: 'paid' } }
    const { status, body, text } = await call(
      api.url,
      'POST',
      `/sandbox/transactions/${id}`,
      options,
    )
    expect([status, text.includes(document)]).toEqual([200, false])
    expect(body.data.client_doc).toMatch(MASKED)
  })
})
