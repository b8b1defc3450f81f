import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApiPix, parseNotice } from '#lib/banks/api-pix/adapter.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { problem, StandardBank } from '#lib/testing/standard-bank.ts'

let bank: StandardBank
let gateway: Gateway
beforeEach(async () => {
  bank = await new StandardBank().open()
  const receivingKeys = ['pix@example.com', '+5511987654321']
  const connection = bank.connection({ receivingKeys })
  gateway = openApiPix(connection, lookup as LookupFunction) ?? expect.unreachable()
})
afterEach(() => bank.close())
const register = () =>
  gateway.registerWebhook?.('https://troco.example/hooks', AbortSignal.timeout(10_000))

test('the address is registered for each key', async () => {
  bank.script.push({ status: 204, text: '' })
  expect(await register()).toEqual({ outcome: 'ok', value: null })
  const calls = bank.requests.filter(({ method }) => method === 'PUT')
  expect(calls.map(({ path, body }) => [decodeURIComponent(path), body.webhookUrl])).toEqual([
    ['/v2/webhook/pix@example.com', 'https://troco.example/hooks'],
    ['/v2/webhook/+5511987654321', 'https://troco.example/hooks'],
  ])
})

test('a key that the bank refuses ends the registration', async () => {
  bank.script.push(problem(400, 'WebhookOperacaoInvalida'))
  expect(await register()).toMatchObject({ outcome: 'rejected' })
})

test.each<[string, object[]]>([
  [
    '{"pix":[{"txid":"a","endToEndId":"E1"}]}',
    [
      { kind: 'charge', id: 'a' },
      { kind: 'payment', id: 'E1' },
    ],
  ],
  ['{"pix":[{"endToEndId":"E1","valor":"1.00"}]}', [{ kind: 'payment', id: 'E1' }]],
  ['[{"txid":"a"}]', [{ kind: 'charge', id: 'a' }]],
  [
    '{"pix":[{"txid":"a","devolucoes":[{"id":"r"}]}]}',
    [
      { kind: 'charge', id: 'a' },
      { kind: 'refund', id: 'r' },
    ],
  ],
  ...['', 'ping', '{}', '{"pix":null}', '{"pix":[null,{"txid":{}}]}', '{"evento":"teste"}'].map(
    (body): [string, object[]] => [body, []],
  ),
])('the notice %s is read', (body, expected) => {
  expect(parseNotice(body)).toEqual(expected)
})
