import { isValidPixPayload } from '@brazilian-utils/brazilian-utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { crc16 } from './br-code.ts'
import { Client } from './client.ts'
import { makeHexId } from './formats.ts'
import { type RunningBank, startBank } from './start.ts'

let bank: RunningBank
let client: Client

beforeAll(async () => {
  bank = await startBank({ kind: 'api-pix', settleMs: null, openingBalance: 1_000 })
  client = new Client(bank)
})

afterAll(async () => {
  client.close()
  await bank.stop()
})

function terms(original = '12.34', expiracao = 3600) {
  return { calendario: { expiracao }, valor: { original }, chave: bank.keys[0] }
}

async function openCharge(original?: string): Promise<string> {
  const txid = makeHexId()
  expect((await client.call('PUT', `/v2/cob/${txid}`, terms(original))).status).toBe(201)
  return txid
}

function problemOf(body: { type: string; status: number }) {
  return [body.status, body.type.split('/').at(-1)]
}

test('a charge has a code that others read, and its checksum is the known one', async () => {
  const { status, body } = await client.call('PUT', `/v2/cob/${makeHexId()}`, terms())
  expect(status).toBe(201)
  expect(body).toMatchObject({ status: 'ATIVA', revisao: 0, valor: { original: '12.34' } })
  expect(body.pixCopiaECola).toContain(body.location)
  expect(isValidPixPayload(body.pixCopiaECola)).toBe(true)
  expect(crc16('123456789')).toBe(0x29b1)
})

test('the same call revises an active charge, only if something changed, and no other', async () => {
  const txid = await openCharge()
  const put = (original: string) => client.call('PUT', `/v2/cob/${txid}`, terms(original))
  expect((await put('12.34')).body.revisao).toBe(0)
  expect((await put('20.00')).body.revisao).toBe(1)
  const first = await client.call('GET', `/v2/cob/${txid}?revisao=0`)
  expect(first.body.valor.original).toBe('12.34')
  await bank.run('pay', { txid })
  expect(problemOf((await put('30.00')).body)).toEqual([400, 'CobOperacaoInvalida'])
})

test('a removed charge takes neither changes nor payments', async () => {
  const txid = await openCharge()
  const remove = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
  const mixed = await client.call('PATCH', `/v2/cob/${txid}`, { ...remove, chave: bank.keys[0] })
  expect(mixed.status).toBe(400)
  expect((await client.call('PATCH', `/v2/cob/${txid}`, remove)).body).toMatchObject(remove)
  expect((await client.call('PATCH', `/v2/cob/${txid}`, remove)).status).toBe(400)
  await expect(bank.run('pay', { txid })).rejects.toThrow('REMOVIDA')
})

test('a payment concludes its charge and is in the book with its fee', async () => {
  const txid = await openCharge('100.00')
  const [pix] = await bank.run('pay', { txid })
  const { body } = await client.call('GET', `/v2/cob/${txid}`)
  expect(body.status).toBe('CONCLUIDA')
  expect(body.pix).toMatchObject([{ endToEndId: pix?.e2eid, txid, valor: '100.00' }])
  expect((await client.call('GET', `/v2/pix/${pix?.e2eid}`)).body.valor).toBe('100.00')
  const { entries } = await bank.run('readBook')
  expect(entries.slice(-2)).toMatchObject([
    { kind: 'pix', amount: 10_000 },
    { kind: 'payment_fee', amount: -119 },
  ])
})

test('on command, a charge is paid twice, with another amount, late, or without its txid', async () => {
  const twice = await openCharge()
  await expect(bank.run('pay', { txid: twice, copies: 2 })).rejects.toThrow()
  await bank.run('pay', { txid: twice, copies: 2, isForced: true })
  expect((await client.call('GET', `/v2/cob/${twice}`)).body.pix).toHaveLength(2)

  const wrong = await openCharge()
  await bank.run('pay', { txid: wrong, amount: 1 })
  expect((await client.call('GET', `/v2/cob/${wrong}`)).body.pix[0].valor).toBe('0.01')

  const lost = await openCharge()
  const [pix] = await bank.run('pay', { txid: lost, dropsTxid: true, secondsAgo: 60 })
  expect((await client.call('GET', `/v2/cob/${lost}`)).body.status).toBe('ATIVA')
  const { body } = await client.call('GET', `/v2/pix/${pix?.e2eid}`)
  expect(body).not.toHaveProperty('txid')
  expect(Date.parse(body.horario)).toBeLessThanOrEqual(Date.now() - 60_000)

  const expired = makeHexId()
  await client.call('PUT', `/v2/cob/${expired}`, terms('5.00', 1))
  await bank.run('change', { clockOffsetMs: 2_000 })
  await expect(bank.run('pay', { txid: expired })).rejects.toThrow('expired')
  await bank.run('pay', { txid: expired, isForced: true })
  await bank.run('change', { clockOffsetMs: 0 })
})

test('refunds hold the money, end on command, and never exceed the payment', async () => {
  const [pix] = await bank.run('pay', { txid: await openCharge('50.00') })
  const path = `/v2/pix/${pix?.e2eid}/devolucao`
  const { balance } = await bank.run('readBook')
  const put = (id: string, valor: string) => client.call('PUT', `${path}/${id}`, { valor })
  expect((await put('a1', '30.00')).body).toMatchObject({ id: 'a1', status: 'EM_PROCESSAMENTO' })
  expect((await bank.run('readBook')).balance).toBe(balance - 3_000)
  expect(problemOf((await put('a1', '30.00')).body)).toEqual([400, 'PixDevolucaoInvalida'])
  expect((await put('a2', '20.01')).status).toBe(400)
  await bank.run('settle')
  expect((await client.call('GET', `${path}/a1`)).body.status).toBe('DEVOLVIDO')

  await bank.run('change', { refundFailure: 'Conta encerrada' })
  await put('a3', '20.00')
  await bank.run('settle')
  await bank.run('change', { refundFailure: null })
  const failed = await client.call('GET', `${path}/a3`)
  expect(failed.body).toMatchObject({ status: 'NAO_REALIZADO', motivo: 'Conta encerrada' })
  expect((await bank.run('readBook')).balance).toBe(balance - 3_000)
  expect((await client.call('GET', `${path}/a9`)).status).toBe(404)
})

test('lists have pages, both limits and filters', async () => {
  const inicio = new Date().toISOString()
  const txids = [await openCharge(), await openCharge(), await openCharge()]
  await bank.run('pay', { txid: txids[0] ?? '' })
  const fim = new Date(Date.now() + 1_000).toISOString()
  const read = (path: string, more: Record<string, string>) =>
    client.call('GET', `${path}?${new URLSearchParams({ inicio, fim, ...more })}`)
  const second = await read('/v2/cob', {
    'paginacao.itensPorPagina': '2',
    'paginacao.paginaAtual': '1',
  })
  expect(second.body.cobs).toHaveLength(1)
  expect(second.body.parametros.paginacao).toMatchObject({
    quantidadeDePaginas: 2,
    quantidadeTotalDeItens: 3,
  })
  expect((await read('/v2/cob', { status: 'CONCLUIDA' })).body.cobs).toHaveLength(1)
  expect((await read('/v2/pix', { txid: txids[0] ?? '' })).body.pix).toHaveLength(1)
  expect((await read('/v2/pix', { fim: '2020-01-01T00:00:00Z' })).status).toBe(400)
  expect((await client.call('GET', '/v2/pix')).status).toBe(400)
  await bank.run('change', { quirks: { refusesMilliseconds: true } })
  expect((await read('/v2/pix', {})).status).toBe(400)
  await bank.run('change', { quirks: { refusesMilliseconds: false } })
})

test('on command, lists are limited in their period and pages', async () => {
  await openCharge()
  await openCharge()
  const read = async (fim: string, page: number) => {
    const paging = { 'paginacao.paginaAtual': `${page}`, 'paginacao.itensPorPagina': '1' }
    const query = new URLSearchParams({ inicio: '2020-01-01T00:00:00Z', fim, ...paging })
    const { status, body } = await client.call('GET', `/v2/cob?${query}`)
    return status === 200 ? body.parametros.paginacao.quantidadeDePaginas : status
  }
  await bank.run('change', { listMs: 86_400_000, listPages: 1 })
  expect(await read('2020-01-02T00:00:00Z', 0)).toBe(1)
  expect(await read('2020-01-02T00:00:01Z', 0)).toBe(400)
  expect(await read('2020-01-02T00:00:00Z', 1)).toBe(400)
  await bank.run('change', { listMs: null })
  expect(await read('2090-01-01T00:00:00Z', 0)).toBeGreaterThan(1)
  await bank.run('change', { quirks: { hidesPages: true } })
  expect(await read('2090-01-01T00:00:00Z', 0)).toBe(1)
  await bank.run('change', { listPages: null, quirks: { hidesPages: false } })
})

test('this kind has no payouts and reports a violation by its property', async () => {
  expect((await client.call('PUT', '/v3/gn/pix/a1', {})).status).toBe(404)
  const { body } = await client.call('PUT', `/v2/cob/${makeHexId()}`, terms('0.00'))
  expect(body.violacoes[0].propriedade).toBe('valor.original')
  const alien = { ...terms(), chave: 'other@example.com' }
  expect((await client.call('PUT', `/v2/cob/${makeHexId()}`, alien)).status).toBe(400)
})

test('a charge uses a location that was made before, and gives it up', async () => {
  const { body: location } = await client.call('POST', '/v2/loc', { tipoCob: 'cob' })
  const using = { ...terms(), loc: { id: location.id } }
  const { body } = await client.call('PUT', `/v2/cob/${makeHexId()}`, using)
  expect(body.location).toBe(location.location)
  expect((await client.call('PUT', `/v2/cob/${makeHexId()}`, using)).status).toBe(400)
  await client.call('DELETE', `/v2/loc/${location.id}/txid`)
  expect((await client.call('GET', `/v2/loc/${location.id}`)).body).not.toHaveProperty('txid')
})

test('quirks change the shape of responses', async () => {
  const put = () => client.call('PUT', `/v2/cob/${makeHexId()}`, terms())
  const quirks = { createdStatus: 200, code: 'brcode', hasNulls: true, hasNumbersAsText: true }
  await bank.run('change', { quirks: quirks as never })
  const { status, body } = await put()
  expect([status, body.revisao, body.loc.criacao]).toEqual([200, '0', expect.any(String)])
  expect(body.brcode).toMatch(/^000201/)
  await bank.run('change', { quirks: { code: 'none' } })
  expect((await put()).body).not.toHaveProperty('pixCopiaECola')
  await bank.run('change', { quirks: { code: 'contradicting' } })
  const other = (await put()).body
  expect(other.pixCopiaECola).not.toContain(other.location)
  const standard = { createdStatus: 201, code: 'pixCopiaECola' } as const
  await bank.run('change', { quirks: { ...standard, hasNulls: false, hasNumbersAsText: false } })
})
