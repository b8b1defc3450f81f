import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { addEndpoint, createPaidCharge, deliverForMerchant } from '#lib/testing/deliveries.ts'
import { type Api, inOwnDatabase, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import type { Attempt } from '#lib/webhooks/wire.ts'

inOwnDatabase()

const DELIVERIES = '/webhooks/deliveries'
const ROLES = ['owner', 'finance', 'developer', 'viewer'] as const
const MASK = '***.982.247-**'

/** Repeats the request as some receivers do, in a form that no mask of texts would find. */
const encode = (text: string) => Buffer.from(text).toString('base64')

let api: Api
let receiver: Receiver
let merchant: Account
let secret: string
let delivery: string
let charge: string
beforeAll(async () => {
  api = await startApi()
  receiver = await openReceiver((_, response) =>
    response.writeHead(200, { 'x-echo': encode(CANARY.document) }).end(encode(CANARY.document)),
  )
  merchant = await makeMerchant()
  secret = (await addEndpoint(merchant, receiver.url)).secret
  charge = await createPaidCharge(merchant)
  await deliverForMerchant(merchant)
  delivery = (await db().delivery.findFirstOrThrow({ where: { accountId: merchant.id } })).id
})
afterAll(async () => {
  await receiver.close()
  await api.close()
})

async function request(role: Role, method: string, path: string) {
  const root = path.endsWith('/document') ? `/dashboard${DELIVERIES}` : DELIVERIES
  const headers = pageHeaders(await signIn(merchant, role), merchant.id)
  return call(api.url, method, `${root}/${path}`, { headers, key: 'one-key' })
}

const signatureOf = ({ request_headers: headers }: Attempt, body: string) =>
  createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
    .digest('base64')

const listReveals = () =>
  db().auditRecord.findMany({
    where: { accountId: merchant.id, action: 'charge.document_revealed' },
    orderBy: { id: 'asc' },
  })

describe('a delivery that sent a full document', () => {
  test.each(ROLES)('shows the role %s nothing that contains or confirms it', async role => {
    const { status, text, body } = await request(role, 'GET', delivery)
    expect([status, body.data.is_masked]).toEqual([200, true])
    const [attempt] = body.data.attempts
    expect(JSON.parse(attempt.request_body).transaction.client_doc).toBe(MASK)
    // A member who knows the secret can compute the signature of every guess.
    // The document in `payer` is masked for every receiver.
    const guess = attempt.request_body
      .replaceAll(MASK, CANARY.formattedDocument)
      .replace(`"document":"${CANARY.formattedDocument}"`, `"document":"${MASK}"`)
    expect(receiver.calls[0]?.text).toBe(guess)
    expect(receiver.calls[0]?.headers['webhook-signature']).toContain(signatureOf(attempt, guess))
    expect(text).not.toContain(signatureOf(attempt, guess))
    expect(Object.keys(attempt.request_headers)).not.toContain('webhook-signature')
    expect(text).not.toContain(encode(CANARY.document))
    expect([attempt.response_status, attempt.response_body, attempt.response_headers]).toEqual([
      200,
      null,
      null,
    ])
  })

  test.each(['owner', 'finance'] as const)(
    'is revealed to the role %s as it was sent, with an audit record each time',
    async role => {
      const before = (await listReveals()).length
      for (let count = 0; count < 2; count++) {
        const { status, body } = await request(role, 'POST', `${delivery}/document`)
        expect([status, body.data.is_masked]).toEqual([200, false])
        const [attempt] = body.data.attempts
        expect(attempt.request_body).toBe(receiver.calls[0]?.text)
        expect(attempt.request_headers['webhook-signature']).toContain(
          signatureOf(attempt, attempt.request_body),
        )
        expect(attempt.response_body).toBe(encode(CANARY.document))
      }
      const records = await listReveals()
      expect(records).toHaveLength(before + 2)
      expect(records.at(-1)).toMatchObject({
        target: charge,
        actorType: 'user',
        after: { mode: 'test', delivery },
      })
      expect(await db().idempotencyKey.count({ where: { accountId: merchant.id } })).toBe(0)
    },
  )

  test.each(['developer', 'viewer'] as const)('is not revealed to the role %s', async role => {
    const before = (await listReveals()).length
    expect((await request(role, 'POST', `${delivery}/document`)).status).toBe(403)
    expect(await listReveals()).toHaveLength(before)
  })

  test('shows no signature once its body is pruned, also beside a later masked body', async () => {
    const other = await createPaidCharge(merchant)
    await deliverForMerchant(merchant)
    const where = { accountId: merchant.id, subjectId: other }
    const { id: deliveryId } = await db().delivery.findFirstOrThrow({ where })
    const key = { accountId: merchant.id, deliveryId }
    const [first] = await db().deliveryAttempt.findMany({ where: key })
    const requestBody = (first?.requestBody ?? '').replaceAll(CANARY.formattedDocument, MASK)
    await db().deliveryAttempt.updateMany({ where: key, data: { requestBody: null } })
    await db().deliveryAttempt.create({
      data: { ...key, number: 2, requestHeaders: {}, requestBody, durationMs: 1 },
    })
    const { body } = await request('developer', 'GET', deliveryId)
    expect(body.data.attempts.map(({ request_body }: Attempt) => request_body)).toEqual([
      requestBody,
      requestBody,
    ])
    expect(JSON.stringify(body)).not.toContain('webhook-signature')
  })
})

test('a delivery that sent a masked document shows its signature and its response', async () => {
  await db().webhookEndpoint.updateMany({
    where: { accountId: merchant.id },
    data: { fullDocuments: false },
  })
  const subjectId = await createPaidCharge(merchant)
  await deliverForMerchant(merchant)
  const { id } = await db().delivery.findFirstOrThrow({
    where: { accountId: merchant.id, subjectId },
  })
  const { body } = await request('developer', 'GET', id)
  const [attempt] = body.data.attempts
  expect(attempt.request_headers['webhook-signature']).toContain(
    signatureOf(attempt, attempt.request_body),
  )
  expect([body.data.is_masked, attempt.response_body]).toEqual([false, encode(CANARY.document)])
  const before = (await listReveals()).length
  expect((await request('owner', 'POST', `${id}/document`)).body.data.is_masked).toBe(false)
  expect(await listReveals()).toHaveLength(before)
})
