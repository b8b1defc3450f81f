import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { StandardBank } from '#lib/testing/standard-bank.ts'

const ORDER = { amount: 1_234, dictKey: 'ana@example.com', ownerDoc: null }
const WHOLE = { valor: '12.34', favorecido: { chave: ORDER.dictKey } }
const endToEndId = newEndToEndId()

let bank: StandardBank
let gateway: Gateway
beforeEach(async () => {
  bank = await new StandardBank().open()
  const connection = bank.connection({ kind: 'efi', profile: null, payingKey: 'caixa@example.com' })
  gateway = openEfi(connection, lookup as LookupFunction) ?? expect.unreachable()
})
afterEach(() => bank.close())

const signal = () => AbortSignal.timeout(10_000)
/** Has the bank respond to a payout, or a question about one, with this body. */
const respondWith = (body: string) =>
  Object.assign(bank.script, {
    shift: () => {
      const isBalance = bank.requests.at(-1)?.path === '/v2/gn/saldo'
      return { status: 200, text: isBalance ? '{"saldo":"100.00"}' : body }
    },
  })
const send = () => gateway.sendPayout({ id: removeHyphens(newId()), ...ORDER }, signal())
const find = () => gateway.getPayout({ id: removeHyphens(newId()), ...ORDER }, signal())

test.each<[string, object]>([
  ['rejected, without anything else', { status: 'NAO_REALIZADO' }],
  ['rejected, with amount and key', { ...WHOLE, status: 'NAO_REALIZADO' }],
  ['done, without anything else', { status: 'REALIZADO', endToEndId }],
  ['done, with amount and key', { ...WHOLE, status: 'REALIZADO', endToEndId }],
])('the response to a payout that calls it %s says that it is taken', async (_, body) => {
  respondWith(JSON.stringify(body))
  expect(await send()).toMatchObject({ outcome: 'ok', value: { state: 'taken' } })
})

const garbled = (amount: string) =>
  `{"valor":${amount},"favorecido":{"chave":"ana@example.com"},"status":"REALIZADO",
    "endToEndId":"${endToEndId}"}`

test.each<[string, string, object]>([
  ['part of the key', 'a**@example.com', {}],
  ['no part of the key', '***', {}],
  ['a CPF with punctuation', '***.982.247-**', { dictKey: '52998224725' }],
  ['the end of a phone', '(11) •••••-5432', { dictKey: '+5511998765432' }],
])('a payout that shows %s is that of the order if it has its id', async (_, chave, changes) => {
  const order = { id: removeHyphens(newId()), ...ORDER, ...changes }
  const body = { ...WHOLE, favorecido: { chave }, status: 'REALIZADO', endToEndId }
  respondWith(JSON.stringify({ ...body, idEnvio: order.id }))
  expect(await gateway.getPayout(order, signal())).toMatchObject({ value: { state: 'done' } })
  respondWith(JSON.stringify(body))
  expect(await gateway.getPayout(order, signal())).toMatchObject({ outcome: 'unknown' })
})

test.each<[string, string]>([
  ['an amount beyond all numbers', garbled('1e999')],
  ['a negative amount', garbled('"-12.34"')],
  ['an amount with a comma', garbled('"12,34"')],
  ['an amount that is an object', garbled('{"original":"12.34"}')],
  ['an id that is no text', JSON.stringify({ ...WHOLE, idEnvio: ['x'], status: 'REALIZADO' })],
  [
    'a key that is no text',
    JSON.stringify({ valor: '12.34', favorecido: { chave: {} }, status: 'NAO_REALIZADO' }),
  ],
  ['a receiver that is no object', '{"favorecido":"ana@example.com","status":"NAO_REALIZADO"}'],
])('%s contradicts the payout, sent or asked about', async (_, body) => {
  respondWith(body)
  expect(await send()).toMatchObject({ outcome: 'unknown' })
  expect(await find()).toMatchObject({ outcome: 'unknown' })
})
