import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Client } from './client.ts'
import { makeHexId } from './formats.ts'
import { type Habits, NO_HABITS } from './habits.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { type RunningBank, startBank } from './start.ts'

let bank: RunningBank
let client: Client
let receiver: Receiver
let key: string

beforeAll(async () => {
  bank = await startBank({ kind: 'efi', openingBalance: 100_000, settleMs: 0 })
  key = bank.keys[0] ?? ''
  client = new Client(bank)
  receiver = await openReceiver(bank)
  await client.call('PUT', `/v2/webhook/${key}`, { webhookUrl: receiver.url })
})

afterEach(() => bank.run('change', { habits: NO_HABITS }))

afterAll(async () => {
  client.close()
  await receiver.close()
  await bank.stop()
})

const turnOn = (habits: Partial<Habits>) => bank.run('change', { habits })

function send(idEnvio: string, chave = 'payee@example.com') {
  const body = { valor: '10.00', pagador: { chave: key }, favorecido: { chave } }
  return client.call('PUT', `/v3/gn/pix/${idEnvio}`, body)
}

const readPayout = (idEnvio: string) =>
  client.call('GET', `/v2/gn/pix/enviados/id-envio/${idEnvio}`)

function list(path: string, sinceMs: number, more = '') {
  const [since, until] = [new Date(Date.now() - sinceMs), new Date(Date.now() + 1_000)]
  return client.call(
    'GET',
    `${path}?inicio=${since.toISOString()}&fim=${until.toISOString()}${more}`,
  )
}

async function receive(amount = 10_000) {
  const [pix] = await bank.run('pay', { key, amount })
  return pix?.e2eid ?? ''
}

test.each([
  ['52998224725', '***982247**'],
  ['11222333000181', '112*******0181'],
  ['+5511998765432', '+55*******5432'],
  ['maria@example.com', 'm***@example.com'],
])('shows only a part of the key %s', async (chave, shown) => {
  await turnOn({ masksKeys: true })
  const id = makeHexId()
  await send(id, chave)
  const { body } = await readPayout(id)
  expect([body.favorecido.chave, body.chave]).toEqual([shown, key])
})

test('writes local times as UTC, and reads periods of lists likewise', async () => {
  const e2eid = await receive()
  const { body } = await client.call('GET', `/v2/pix/${e2eid}`)
  await turnOn({ hasLocalTimes: true })
  const local = await client.call('GET', `/v2/pix/${e2eid}`)
  expect(Date.parse(body.horario) - Date.parse(local.body.horario)).toBe(3 * 3_600_000)
  const idsSince = async (ms: number) =>
    (await list('/v2/pix', ms)).body.pix.map(({ endToEndId }: Record<string, string>) => endToEndId)
  expect(await idsSince(60_000)).not.toContain(e2eid)
  expect(await idsSince(4 * 3_600_000)).toContain(e2eid)
})

test('an empty list is an empty object', async () => {
  await turnOn({ hasEmptyObjects: true })
  const { body } = await list('/v2/cob', 0)
  expect(body.cobs).toEqual({})
  expect((await client.call('GET', `/v2/pix/${await receive()}`)).body.devolucoes).toEqual({})
})

test('a record is missing on each second later page', async () => {
  for (let count = 0; count < 3; count += 1) await receive()
  await turnOn({ shiftsPages: 2 })
  const readTotal = async (page: number) => {
    const more = `&paginacao.itensPorPagina=1&paginacao.paginaAtual=${page}`
    const { body } = await list('/v2/pix', 600_000, more)
    return body.parametros.paginacao.quantidadeTotalDeItens
  }
  const [first, second, third] = [await readTotal(0), await readTotal(1), await readTotal(1)]
  expect([second, third]).toEqual([first, first - 1])
})

test('returns payments on its own: whole, in part and in two parts, for every reason', async () => {
  await turnOn({ returnsPayments: 1 })
  const readReturns = async (e2eid: string) =>
    (await client.call('GET', `/v2/pix/${e2eid}`)).body.devolucoes ?? []
  const natures = new Set()
  const counts: number[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    const e2eid = await receive()
    await expect.poll(() => readReturns(e2eid)).not.toEqual([])
    const returns = await readReturns(e2eid)
    counts.push(returns.length)
    for (const each of returns) natures.add(each.natureza)
  }
  expect(counts.toSorted()).toEqual([1, 1, 1, 2])
  // Efí names no nature of a return that the account itself made.
  const claims = ['MED_OPERACIONAL', 'MED_FRAUDE', 'MED_PIX_AUTOMATICO']
  expect(natures).toEqual(new Set([undefined, ...claims]))
})

test('refuses an order by an unknown name as often as it is told to', async () => {
  await turnOn({ refusesUnnamed: 2 })
  const [id, e2eid] = [makeHexId(), await receive()]
  const refund = () => client.call('PUT', `/v2/pix/${e2eid}/devolucao/${id}`, { valor: '1.00' })
  const [payouts, refunds] = [
    [await send(id), await send(id)],
    [await refund(), await refund()],
  ]
  const name = ({ status, body }: (typeof payouts)[number]) => `${status} ${body.nome}`
  expect(payouts.map(name)).toEqual(Array(2).fill('400 envio_nao_permitido'))
  expect(refunds.map(name)).toEqual(Array(2).fill('400 valor_devolucao_invalido'))
  expect([(await send(id)).status, (await refund()).status]).toEqual([201, 201])
})

test('executes a payout of which it says at first that it has none', async () => {
  await turnOn({ hidesPayouts: 2 })
  const id = makeHexId()
  await send(id)
  const statuses = [await readPayout(id), await readPayout(id), await readPayout(id)]
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 200])
})

test('lets a payout fail that it has reported as paid, and takes the amount back', async () => {
  await turnOn({ failsPayouts: 1 })
  const before = (await bank.run('readBook')).balance
  const id = makeHexId()
  await send(id)
  const readStatus = async () => (await readPayout(id)).body.status
  await expect.poll(readStatus).toBe('NAO_REALIZADO')
  await bank.run('waitForNotices')
  const told = receiver.notices.flatMap(({ body }) => body.pix ?? [])
  const own = told.filter(({ gnExtras }) => gnExtras?.idEnvio === id)
  expect(own.map(({ status }) => status)).toEqual(['REALIZADO', 'NAO_REALIZADO'])
  expect((await bank.run('readBook')).balance).toBe(before - 50)
})

test('limits each third request without naming a pause', async () => {
  await turnOn({ limitsRequests: 3 })
  const answers = []
  while (answers.length < 3) answers.push(await client.call('GET', '/v2/gn/saldo'))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(answers[2]?.headers).not.toHaveProperty('retry-after')
})

test('reports a balance of before', async () => {
  const readBalance = async () => (await client.call('GET', '/v2/gn/saldo')).body.saldo
  const before = await readBalance()
  await turnOn({ balanceBehindMs: 3_600_000 })
  expect(await readBalance()).toBe('1000.00')
  await turnOn(NO_HABITS)
  expect(await readBalance()).toBe(before)
})
