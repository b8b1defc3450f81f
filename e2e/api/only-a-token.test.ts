import { Webhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '#lib/testing/call.ts'
import { deliverDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'

inOwnDatabase()

let api: Api
let receiver: Receiver
beforeAll(async () => {
  api = await startApi()
  receiver = await openReceiver()
})
afterAll(async () => {
  await receiver.close()
  await api.close()
})

test('who holds only a token gets from nothing to verified events, a refund and a statement that adds up', async () => {
  const token = await makeToken((await makeMerchant()).id)
  const post = async (path: string, body: object) => {
    const response = await call(api.url, 'POST', path, { token, body })
    expect(response.status, response.text).toBe(200)
    return response.body.data
  }
  const read = async (path: string) => (await call(api.url, 'GET', path, { token })).body

  const { id, secret } = await post('/webhooks/endpoints', {
    url: `${receiver.url}/hook`,
    event_types: ['transaction.paid'],
  })
  await post(`/webhooks/endpoints/${id}/test`, { type: 'troco.ping' })
  const { transaction_id: charge } = await post('/transactions', { ...CHARGE, amount: 5_000 })
  await post(`/sandbox/transactions/${charge}`, { outcome: 'paid' })
  // Does what the worker of a server does.
  await deliverDue()

  expect(receiver.calls).toHaveLength(2)
  const events = receiver.calls.map(({ text, headers }) => {
    const signed = headers as Record<string, string>
    expect(() => new Svix(secret).verify(text, signed)).not.toThrow()
    return new Webhook(secret).verify(text, signed)
  })
  expect(events).toMatchObject([
    { type: 'troco.ping', mode: 'test' },
    { type: 'transaction.paid', mode: 'test', transaction: { transaction_id: charge } },
  ])
  const [forged] = receiver.calls
  const tampered = forged?.text.replace('troco.ping', 'troco.pong') ?? ''
  const headers = forged?.headers as Record<string, string>
  expect(() => new Svix(secret).verify(tampered, headers)).toThrow()
  const { data: deliveries } = await read(`/webhooks/deliveries?endpoint_id=${id}`)
  expect(deliveries).toMatchObject([{ status: 'delivered', subject_id: charge }])
  const { data: delivery } = await read(`/webhooks/deliveries/${deliveries[0].id}`)
  expect(delivery.attempts).toMatchObject([{ number: 1, response_status: 200, problem: null }])

  await post(`/transactions/${charge}/refunds`, { amount: 1_200 })
  const { data: entries, opening_balance, closing_balance } = await read('/statement?limit=100')
  const sum = entries.reduce((total: number, { amount }: { amount: number }) => total + amount, 0)
  expect(opening_balance + sum).toBe(closing_balance)
  const { balance } = await read('/account')
  expect([closing_balance, balance]).toEqual([3_800, 3_800])
})
