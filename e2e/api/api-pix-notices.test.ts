import { existsSync } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { correct } from '#e2e/psp/corrections.ts'
import { DocumentJudge } from '#e2e/psp/judge-document.ts'
import { DOCUMENT_FILE, readOpenApi } from '#e2e/psp/openapi.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { simulateRefund } from '#lib/charges/refunds/refund.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { deliverDue, makeRetriesDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { ok, openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { readSigningSecrets } from '#lib/webhooks/secrets.ts'

inOwnDatabase()

let api: Api
let merchant: Account
let key: string
let apiToken: string
let access: string
let receiver: Receiver

beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  key = accountKey(merchant.id, 'test')
  const { id, token } = await issueToken(
    { accountId: merchant.id, mode: 'test', name: 'ERP', permissions: [...PERMISSIONS] },
    { type: 'system' },
  )
  apiToken = token
  const authorization = `Basic ${Buffer.from(`${id}:${token}`).toString('base64')}`
  const body = { grant_type: 'client_credentials' }
  const issued = await call(api.url, 'POST', '/pix/oauth/token', {
    headers: { authorization },
    body,
  })
  access = issued.body.access_token
  receiver = await openReceiver()
  await send('PUT', `/webhook/${key}`, { webhookUrl: `${receiver.url}/notificacoes` })
})

afterAll(async () => {
  await receiver.close()
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const send = (method: string, path: string, body?: object) =>
  call(api.url, method, `/pix/v2${path}`, { token: access, body })

async function openPaid(): Promise<{ txid: string; e2eid: string }> {
  const txid = removeHyphens(newId())
  const body = { calendario: { expiracao: 3600 }, valor: { original: '37.00' }, chave: key }
  await send('PUT', `/cob/${txid}`, body)
  const { end_to_end_id } = await simulateCharge(merchant.id, txid, 'paid')
  return { txid, e2eid: end_to_end_id ?? '' }
}

async function takeCalls() {
  await deliverDue()
  return receiver.calls.splice(0)
}

test('a payment and the end of each refund go to {webhookUrl}/pix, signed, as the standard has them', async () => {
  const { txid, e2eid } = await openPaid()
  const pix = { endToEndId: e2eid, txid, valor: '37.00', chave: key, horario: expect.any(String) }
  const [paid, ...others] = await takeCalls()
  expect(others).toEqual([])
  expect([paid?.path, JSON.parse(paid?.text ?? '')]).toEqual(['/notificacoes/pix', { pix: [pix] }])

  const endpoint = await db().webhookEndpoint.findFirstOrThrow({
    where: { accountId: merchant.id },
  })
  const owner = { accountId: merchant.id, mode: 'test', endpointId: endpoint.id } as const
  const [secret = ''] = await readSigningSecrets(owner)
  new Webhook(secret).verify(paid?.text ?? '', paid?.headers as Record<string, string>)

  for (const [id, outcome, status] of [
    ['d1', 'completed', 'DEVOLVIDO'],
    ['d2', 'rejected', 'NAO_REALIZADO'],
  ] as const) {
    await send('PUT', `/pix/${e2eid}/devolucao/${id}`, { valor: '1.00' })
    const { id: refundId } = await db().refund.findFirstOrThrow({ where: { externalId: id } })
    await simulateRefund(merchant.id, refundId, { outcome })
    const [notice] = await takeCalls()
    expect(JSON.parse(notice?.text ?? '')).toMatchObject({
      pix: [{ ...pix, devolucoes: [{ id, valor: '1.00', status }] }],
    })
  }
})

test('money that the bank gave back by itself is a devolucao with its nature', async () => {
  const { e2eid } = await openPaid()
  await takeCalls()
  const charge = await db().charge.findFirstOrThrow({ where: { endToEndId: e2eid } })
  const returned = { id: `D${'1'.repeat(31)}`, amount: 100, nature: 'MED_FRAUDE', orderId: null }
  await bookReturns(charge.connectionId, [
    { endToEndId: e2eid, returns: [{ ...returned, returnedAt: new Date() }] },
  ])
  const [notice] = await takeCalls()
  expect(JSON.parse(notice?.text ?? '').pix[0].devolucoes).toEqual([
    {
      id: returned.id,
      rtrId: returned.id,
      valor: '1.00',
      natureza: 'MED_FRAUDE',
      horario: { liquidacao: expect.any(String) },
      status: 'DEVOLVIDO',
    },
  ])
  const { body } = await send('GET', `/pix/${e2eid}`)
  expect(body.devolucoes[0].natureza).toBe('MED_FRAUDE')
})

test('a refused notice is sent again with the same bytes, and an endpoint of Troco’s gets its own form', async () => {
  const own = await call(api.url, 'POST', '/webhooks/endpoints', {
    token: apiToken,
    body: { url: `${receiver.url}/troco`, event_types: ['transaction.paid'] },
  })
  expect(own.status).toBe(200)
  receiver.respondWith((received, response) =>
    received.path.endsWith('/pix') ? response.writeHead(503).end() : ok(received, response),
  )
  await openPaid()
  const first = await takeCalls()
  receiver.respondWith(ok)
  await makeRetriesDue()
  const second = await takeCalls()
  const ofApiPix = first.filter(({ path }) => path === '/notificacoes/pix')
  expect(second.map(({ text }) => text)).toEqual(ofApiPix.map(({ text }) => text))
  const ofTroco = first.find(({ path }) => path === '/troco')
  expect(JSON.parse(ofTroco?.text ?? '')).toMatchObject({ type: 'transaction.paid' })
})

test('what is no payment is never told as one, whatever types the endpoint was given', async () => {
  const { id } = await db().webhookEndpoint.findFirstOrThrow({
    where: { accountId: merchant.id, isApiPix: true },
  })
  const choose = (event_types: string[]) =>
    call(api.url, 'PATCH', `/webhooks/endpoints/${id}`, { token: apiToken, body: { event_types } })
  expect((await choose(['transaction.expired', 'withdrawal.approved'])).status).toBe(200)
  const txid = removeHyphens(newId())
  const body = { calendario: { expiracao: 3600 }, valor: { original: '37.00' }, chave: key }
  await send('PUT', `/cob/${txid}`, body)
  await simulateCharge(merchant.id, txid, 'expired')
  const calls = await takeCalls()
  expect(calls.map(({ text }) => text)).toEqual(['{"pix":[]}'])
  await choose(['transaction.paid', 'transaction.refunded', 'transaction.refund_failed'])
})

test('a test event of the dashboard has the form of API Pix', async () => {
  const { id } = await db().webhookEndpoint.findFirstOrThrow({
    where: { accountId: merchant.id, isApiPix: true },
  })
  for (const [type, count] of [
    ['transaction.paid', 1],
    ['troco.ping', 0],
  ] as const) {
    const options = { token: apiToken, body: { type } }
    await call(api.url, 'POST', `/webhooks/endpoints/${id}/test`, options)
    const [sent] = receiver.calls.splice(0)
    expect(JSON.parse(sent?.text ?? '').pix).toHaveLength(count)
  }
})

test.skipIf(!existsSync(DOCUMENT_FILE))(
  'Banco Central’s document agrees with a notice',
  async () => {
    const judge = new DocumentJudge(correct(readOpenApi(DOCUMENT_FILE), 'api-pix'))
    await openPaid()
    const calls = (await takeCalls()).filter(({ path }) => path === '/notificacoes/pix')
    const verdicts = calls.flatMap(({ path, text }) =>
      judge.judge({
        kind: 'api-pix',
        to: 'receiver',
        at: '',
        method: 'POST',
        target: path,
        route: null,
        requestHeaders: { 'content-type': 'application/json' },
        requestBody: text,
        status: 200,
        responseHeaders: {},
        responseBody: '',
        fault: null,
      }),
    )
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
  },
)
