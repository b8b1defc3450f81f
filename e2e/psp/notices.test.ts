import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Client } from './client.ts'
import { makeHexId } from './formats.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { completeSettings } from './settings.ts'
import { type RunningBank, startBank } from './start.ts'

let bank: RunningBank
let client: Client
let receiver: Receiver
let key: string

beforeAll(async () => {
  bank = await startBank({ kind: 'api-pix' })
  key = bank.keys[0] ?? ''
  client = new Client(bank)
  receiver = await openReceiver(bank)
  await client.call('PUT', `/v2/webhook/${key}`, { webhookUrl: receiver.url })
})

afterEach(async () => {
  await bank.run('change', { notices: completeSettings({}).notices })
  receiver.notices.length = 0
})

afterAll(async () => {
  client.close()
  await receiver.close()
  await bank.stop()
})

async function openCharge(original = '5.00'): Promise<string> {
  const txid = makeHexId()
  const terms = { calendario: { expiracao: 600 }, valor: { original }, chave: key }
  await client.call('PUT', `/v2/cob/${txid}`, terms)
  return txid
}

async function payNew(): Promise<string> {
  const [pix] = await bank.run('pay', { txid: await openCharge() })
  return pix?.e2eid ?? ''
}

async function readNotices() {
  await bank.run('waitForNotices')
  return receiver.notices
}

/** Faults of the last two notices, as recorded. */
async function readFaults() {
  const exchanges = await bank.run('readTraffic', {})
  return exchanges.flatMap(({ to, fault }) => (to === 'receiver' ? [fault] : [])).slice(-2)
}

async function readIds(): Promise<string[]> {
  return (await readNotices()).map(({ body }) => body.pix[0].endToEndId)
}

test("a payment with txid is announced once, with the bank's certificate; others are not", async () => {
  const e2eid = await payNew()
  await bank.run('pay', { key, amount: 100 })
  const notices = await readNotices()
  expect(notices).toMatchObject([{ path: '/notices/pix', caller: 'notices' }])
  expect(notices[0]?.body.pix).toMatchObject([{ endToEndId: e2eid, valor: '5.00', chave: key }])
})

test('the end of a refund is announced again', async () => {
  const e2eid = await payNew()
  await client.call('PUT', `/v2/pix/${e2eid}/devolucao/a1`, { valor: '0.01' })
  await expect.poll(() => receiver.notices.length).toBe(2)
  expect(receiver.notices[1]?.body.pix[0].devolucoes[0].status).toMatch(/DEVOLVIDO|NAO_REALIZADO/)
})

test('notices are absent, doubled, or reversed on command', async () => {
  await bank.run('change', { notices: { isAbsent: true } })
  await payNew()
  expect(await readNotices()).toEqual([])
  await bank.run('change', { notices: { isAbsent: false, copies: 2 } })
  const doubled = await payNew()
  expect(await readIds()).toEqual([doubled, doubled])
  receiver.notices.length = 0
  await bank.run('change', { notices: { copies: 1, reorderBatch: 2 } })
  const first = await payNew()
  expect(await readNotices()).toEqual([])
  const second = await payNew()
  expect(await readIds()).toEqual([second, first])
})

test('a lying notice has an amount that the bank does not know', async () => {
  await bank.run('change', { notices: { amountFactor: 10 } })
  const e2eid = await payNew()
  expect((await readNotices())[0]?.body.pix[0].valor).toBe('50.00')
  expect((await client.call('GET', `/v2/pix/${e2eid}`)).body.valor).toBe('5.00')
  await bank.run('sendNotice', { key, body: JSON.stringify({ pix: [{ endToEndId: 'E0' }] }) })
  expect(await readNotices()).toHaveLength(2)
  expect(await readFaults()).toEqual([null, 'command'])
})

test('an early notice arrives before the bank shows the payment', async () => {
  await bank.run('change', { notices: { earlyMs: 0 } })
  const txid = await openCharge()
  const { promise, resolve } = Promise.withResolvers<void>()
  receiver.hold = promise
  const paid = bank.run('pay', { txid })
  await expect.poll(() => receiver.notices.length).toBe(1)
  const e2eid = receiver.notices[0]?.body.pix[0].endToEndId
  expect((await client.call('GET', `/v2/pix/${e2eid}`)).status).toBe(404)
  resolve()
  await paid
  expect((await client.call('GET', `/v2/pix/${e2eid}`)).status).toBe(200)
})

test('a body can be a bare array, and a failed notice is repeated', async () => {
  await bank.run('change', { notices: { body: 'array', retriesMs: [1] } })
  receiver.status = 503
  const e2eid = await payNew()
  await expect.poll(() => receiver.notices.length).toBe(2)
  receiver.status = 200
  expect(receiver.notices.map(({ body }) => body[0].endToEndId)).toEqual([e2eid, e2eid])
  await expect.poll(readFaults).toEqual(['array', 'array'])
})

test('money taken back by the special return mechanism is announced', async () => {
  const e2eid = await payNew()
  await bank.run('takeBack', { e2eid, amount: 500 })
  const refund = (await readNotices())[1]?.body.pix[0].devolucoes[0]
  expect(refund).toMatchObject({ natureza: 'MED_FRAUDE', valor: '5.00', status: 'DEVOLVIDO' })
})

test('a removed webhook is unknown and receives nothing', async () => {
  expect((await client.call('DELETE', `/v2/webhook/${key}`)).status).toBe(204)
  expect((await client.call('GET', `/v2/webhook/${key}`)).status).toBe(404)
  await payNew()
  expect(await readNotices()).toEqual([])
})
