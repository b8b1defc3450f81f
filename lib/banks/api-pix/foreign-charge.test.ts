import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import type { ChargeTerms, Gateway } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { StandardBank } from '#lib/testing/standard-bank.ts'

let bank: StandardBank
let gateway: Gateway
beforeEach(async () => {
  bank = await new StandardBank().open()
  gateway = openApiPix(bank.connection(), lookup as LookupFunction) ?? expect.unreachable()
})
afterEach(() => bank.close())

const signal = () => AbortSignal.timeout(10_000)
const order = (): ChargeTerms => ({
  txid: removeHyphens(newId()),
  amount: 1_500,
  expiresInSeconds: 3_600,
  merchantName: 'Padaria',
  merchantCity: 'Recife',
  payerName: 'Ana',
  payerEmail: 'ana@example.com',
  payerDoc: '52998224725',
})
/** From now on each response is about another charge, as from a cache that mixes them up. */
async function mixUp(isPaid: boolean): Promise<void> {
  const other = order()
  await gateway.createCharge(other, signal())
  if (isPaid) bank.pay(other.txid, '15.00')
  const mixed = bank.charges.get(other.txid) ?? expect.unreachable()
  bank.deform = () => mixed
}
async function queryState(txid: string) {
  const result = await gateway.getCharges([txid], signal())
  return result.outcome === 'ok' ? result.value.states.get(txid) : result
}

test('the charge of another txid says nothing about the one that was asked about', async () => {
  const asked = order()
  await gateway.createCharge(asked, signal())
  await mixUp(true)
  expect(await queryState(asked.txid)).toMatchObject({ outcome: 'unknown' })
})

test('a payment of another txid below a charge does not pay it', async () => {
  const asked = order()
  await gateway.createCharge(asked, signal())
  bank.pay(asked.txid, '15.00')
  const foreign = { ...bank.payments[0], txid: removeHyphens(newId()) }
  bank.deform = body => ({ ...body, pix: [foreign] })
  expect(await queryState(asked.txid)).toMatchObject({ outcome: 'unknown' })
})

test('a payment without a txid below a charge pays it', async () => {
  const asked = order()
  await gateway.createCharge(asked, signal())
  bank.pay(asked.txid, '15.00')
  const { txid: _, ...payment } = bank.payments[0] ?? expect.unreachable()
  bank.deform = body => ({ ...body, pix: [payment] })
  expect(await queryState(asked.txid)).toMatchObject({
    state: 'paid',
    payments: [{ endToEndId: payment.endToEndId, txid: asked.txid }],
  })
})

test('the response to a new charge must be about its txid: payers see its code', async () => {
  await mixUp(false)
  expect(await gateway.createCharge(order(), signal())).toMatchObject({ outcome: 'unknown' })
})

test('a removal that removed another charge is unknown', async () => {
  const asked = order()
  await gateway.createCharge(asked, signal())
  await mixUp(false)
  expect(await gateway.cancelCharge(asked.txid, signal())).toMatchObject({ outcome: 'unknown' })
})
