import { afterAll, beforeAll, expect, test } from 'vitest'
import { Client } from './client.ts'
import { makeHexId } from './formats.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { type RunningBank, startBank } from './start.ts'

const PATH = '/v2/gn/relatorios'
const DAY_MS = 86_400_000
const DAY = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Sao_Paulo' })
const dayAgo = (days: number) => DAY.format(Date.now() - days * DAY_MS)
const FLAGS = { pixRecebido: true, tarifaPixRecebido: true, saldoDiaAnterior: true, saldoDia: true }

let bank: RunningBank
let client: Client
let receiver: Receiver
let key: string
beforeAll(async () => {
  bank = await startBank({ kind: 'efi', openingBalance: 100_000, settleMs: null })
  key = bank.keys[0] ?? ''
  client = new Client(bank)
  receiver = await openReceiver(bank)
})
afterAll(async () => {
  client.close()
  await receiver.close()
  await bank.stop()
})

const order = (dataMovimento: string, tipoRegistros: object = FLAGS) =>
  client.call('POST', `${PATH}/extrato-conciliacao`, { dataMovimento, tipoRegistros })

test('a report has the ordered records of its day, with balances and counts', async () => {
  await bank.run('change', { clockOffsetMs: -2 * DAY_MS })
  await bank.run('pay', { key, amount: 10_000 })
  await bank.run('change', { clockOffsetMs: -DAY_MS })
  const [pix] = await bank.run('pay', { key, amount: 5_000 })
  const webhookUrl = receiver.url
  await client.call('PUT', `/v2/webhook/${key}`, { webhookUrl })
  const body = { valor: '10.00', pagador: { chave: key }, favorecido: { chave: 'a@b.co' } }
  await client.call('PUT', `/v3/gn/pix/${makeHexId()}`, body)
  await bank.run('change', { clockOffsetMs: 0 })
  await bank.run('pay', { key, amount: 700 })

  const { status, body: ordered } = await order(dayAgo(1))
  expect([status, ordered.status]).toEqual([202, 'AGUARDANDO_PROCESSAMENTO'])
  const path = `${PATH}/${ordered.id}`
  expect((await client.call('GET', path)).body).toMatchObject({ status: 'EM_PROCESSAMENTO' })
  const { text, headers } = await client.call('GET', path)
  expect(headers['content-type']).toContain('text/csv')
  const lines = text.trimEnd().split('\n')
  expect(lines[0]).toMatch(RegExp(`^CA;.*;${dayAgo(0)};${dayAgo(1)};Extrato .*;1\\.0$`))
  expect(lines.slice(1, 3)).toEqual([`SD0;1098.81;${dayAgo(2)}`, `SD1;1138.21;${dayAgo(1)}`])
  expect(lines[3]).toMatch(RegExp(`^PR;\\d+;${pix?.e2eid};;50.00;52998224725;;;.*Z$`))
  expect(lines[4]).toMatch(RegExp(`^TPR;\\d+;${pix?.e2eid};0.60;.*Z$`))
  expect(lines.slice(5)).toEqual(['T;2;1;0;0;0;1;0;0;0;0;0;0'])
})

test('a report that was made is given again; one in the making is ordered anew', async () => {
  const flags = { pixRecebido: true }
  const [first, second] = [await order(dayAgo(3), flags), await order(dayAgo(3), flags)]
  expect(second.body.id).not.toBe(first.body.id)
  await client.call('GET', `${PATH}/${second.body.id}`)
  expect((await order(dayAgo(3), flags)).body).toMatchObject({
    id: second.body.id,
    status: 'CONCLUIDO',
  })
  expect((await order(dayAgo(3), { saldoDia: true })).body.status).not.toBe('CONCLUIDO')
})

test('today, an unknown record and an unknown report are refused', async () => {
  expect((await order(dayAgo(0))).status).toBe(400)
  expect((await order(dayAgo(1), { pixPerdido: true })).body.nome).toBe('json_invalido')
  expect((await client.call('GET', `${PATH}/none`)).status).toBe(404)
})
