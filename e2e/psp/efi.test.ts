import { afterAll, beforeAll, expect, test } from 'vitest'
import { Client } from './client.ts'
import { makeHexId, toReais } from './formats.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { type RunningBank, startBank } from './start.ts'

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

const payeeKey = '+5511998765432'

function send(idEnvio: string, favorecido: Record<string, string> = { chave: payeeKey }) {
  const body = { valor: '10.00', pagador: { chave: key }, favorecido }
  return client.call('PUT', `/v3/gn/pix/${idEnvio}`, body)
}

async function readPayout(idEnvio: string) {
  return (await client.call('GET', `/v2/gn/pix/enviados/id-envio/${idEnvio}`)).body
}

test('sending needs a webhook, which is tried without and with a certificate', async () => {
  expect((await send(makeHexId())).body.nome).toBe('chave_invalida')
  const path = `/v2/webhook/${key}`
  receiver.status = 500
  const refused = await client.call('PUT', path, { webhookUrl: receiver.url })
  expect(refused.body.nome).toBe('webhook_invalido')
  receiver.status = 200
  expect((await client.call('PUT', path, { webhookUrl: receiver.url })).status).toBe(201)
  expect(receiver.notices.map(({ caller }) => caller)).toEqual([null, 'notices', null, 'notices'])
  expect((await client.call('GET', path)).body).toMatchObject({ chave: key })
  const list = await client.call('GET', '/v2/webhook')
  expect(list.body.webhooks).toHaveLength(1)
})

test('a payout takes its amount at once, and its fee when it is made', async () => {
  const id = makeHexId()
  const { status, body } = await send(id)
  expect([status, body.status, body.idEnvio]).toEqual([201, 'EM_PROCESSAMENTO', id])
  expect((await client.call('GET', '/v2/gn/saldo?bloqueios=true')).body).toEqual({
    saldo: '990.00',
    bloqueios: { judicial: '0.00', med: '0.00', total: '0.00' },
  })
  await bank.run('settle')
  expect(await readPayout(id)).toMatchObject({ status: 'REALIZADO', endToEndId: body.e2eId })
  expect((await client.call('GET', '/v2/gn/saldo')).body).toEqual({ saldo: '989.50' })
  await bank.run('change', { quirks: { hasPayeeIdentity: true } })
  expect((await readPayout(id)).favorecido.identificacao.cpf).toBe('***982247**')
  await bank.run('change', { quirks: { hasPayeeIdentity: false } })
  const byE2eId = await client.call('GET', `/v2/gn/pix/enviados/${body.e2eId}`)
  expect(byE2eId.body.idEnvio).toBe(id)
})

test('an id pays once, whatever is sent again', async () => {
  const id = makeHexId()
  await send(id)
  const { balance } = await bank.run('readBook')
  const again = await send(id, { chave: 'other@example.com' })
  expect([again.status, again.body.nome]).toEqual([409, 'id_envio_duplicado'])
  await bank.run('settle')
  expect((await bank.run('readBook')).balance).toBe(balance - 50)
})

test('a payout fails by the payee or for lack of balance, and gives its amount back', async () => {
  const { balance } = await bank.run('readBook')
  const failure = { codigo: 'AC03', motivo: 'Conta inexistente' }
  await bank.run('change', { payees: { [payeeKey]: { failure } } })
  const [rejected, uncovered] = [makeHexId(), makeHexId()]
  await send(rejected)
  const all = { valor: '9999.00', pagador: { chave: key }, favorecido: { chave: 'a@b.com' } }
  await client.call('PUT', `/v3/gn/pix/${uncovered}`, all)
  await bank.run('settle')
  expect(await readPayout(rejected)).toMatchObject({ status: 'NAO_REALIZADO' })
  expect(await readPayout(uncovered)).toMatchObject({ status: 'NAO_REALIZADO' })
  expect((await bank.run('readBook')).balance).toBe(balance)
  await bank.run('waitForNotices')
  const errors = receiver.notices.flatMap(({ body }) => body.pix?.[0].gnExtras?.erro?.codigo ?? [])
  expect(errors).toEqual(['AC03', 'AM04'])
})

test('a payee returns a part later, and the payout stays made', async () => {
  await bank.run('change', { payees: { [payeeKey]: {} } })
  const id = makeHexId()
  await send(id)
  await bank.run('settle')
  await bank.run('returnPayout', { idEnvio: id, amount: 400 })
  const payout = await readPayout(id)
  expect(payout).toMatchObject({ status: 'REALIZADO', devolucoes: [{ valor: '4.00' }] })
})

test.each([
  ['payeeKeyInvalid', 400, 'chave_invalida'],
  ['payoutDenied', 422, 'pagamento_negado'],
  ['bucketEmpty', 429, 'BaldeFichasVazio'],
] as const)('the setting %s refuses a payout with %i %s', async (refusal, status, nome) => {
  await bank.run('change', { payees: { [payeeKey]: { refusal } } })
  const { body, ...answer } = await send(makeHexId())
  expect([answer.status, body.nome]).toEqual([status, nome])
  expect('retry-after' in answer.headers).toBe(status === 429)
  await bank.run('change', { payees: { [payeeKey]: {} } })
})

test("another owner's document and an unknown property are refused", async () => {
  await bank.run('change', { payees: { [payeeKey]: { document: '52998224725' } } })
  const alien = await send(makeHexId(), { chave: payeeKey, cpf: '11144477735' })
  expect(alien.body.nome).toBe('chave_nao_pertence_ao_documento')
  const unknown = await send(makeHexId(), { chave: payeeKey, apelido: 'x' })
  expect(unknown.body).toMatchObject({
    ...{
      nome: 'json_invalido',
      erros: [{ chave: 'apelido', caminho: '.body.favorecido.apelido' }],
    },
  })
})

test('errors have the shapes of this bank', async () => {
  const terms = { calendario: { expiracao: 60 }, valor: { original: '5.00' }, chave: key }
  const txid = makeHexId()
  const put = (body: object) => client.call('PUT', `/v2/cob/${txid}`, body)
  expect((await put({ ...terms, chave: 'other@example.com' })).body.nome).toBe('chave_invalida')
  expect((await put({ ...terms, valor: { original: '0.00' } })).body.nome).toBe('valor_invalido')
  expect((await put(terms)).status).toBe(201)
  const again = await put(terms)
  expect([again.status, again.body.nome]).toEqual([409, 'txid_duplicado'])
  const missing = await client.call('GET', `/v2/cob/${makeHexId()}`)
  expect([missing.status, missing.body.nome]).toEqual([400, 'cobranca_nao_encontrada'])
  expect((await readPayout('unknown')).type).toMatch('PixEnviadoNaoEncontrado')
  await bank.run('change', { isAccountBlocked: true })
  expect((await send(makeHexId())).body.nome).toBe('documento_bloqueado')
  await bank.run('change', { isAccountBlocked: false })
})

test('settings of the account add payer and fee to notices and refuse payments without txid', async () => {
  const webhook = {
    notificacao: { tarifa: true, pagador: true },
    notificar: { pixSemTxid: true },
  }
  const configure = (txidObrigatorio: boolean) =>
    client.call('PUT', '/v2/gn/config', {
      pix: {
        receberSemChave: false,
        chaves: {
          [key]: {
            recebimento: { txidObrigatorio, qrCodeEstatico: { recusarTodos: false }, webhook },
          },
        },
      },
    })
  expect((await configure(false)).status).toBe(204)
  await bank.run('pay', { key, amount: 10_000 })
  await bank.run('waitForNotices')
  expect(receiver.notices.at(-1)?.body.pix[0]).toMatchObject({
    ...{ valor: '100.00', gnExtras: { tarifa: '1.19', pagador: { nome: 'Maria da Silva' } } },
  })
  await configure(true)
  await expect(bank.run('pay', { key, amount: 100 })).rejects.toThrow('without txid')
  expect((await client.call('GET', '/v2/gn/config')).body.pix.receberSemChave).toBe(false)
})

test('a dispute blocks money, takes one defense in time, and the money if it is accepted', async () => {
  const [pix] = await bank.run('pay', { key, amount: 5_000, isForced: true })
  const { balance } = await bank.run('readBook')
  const id = await bank.run('openDispute', { e2eid: pix?.e2eid ?? '' })
  const saldo = await client.call('GET', '/v2/gn/saldo?bloqueios=true')
  expect(saldo.body).toMatchObject({ saldo: toReais(balance - 5_000), bloqueios: { med: '50.00' } })
  const defend = () => {
    const body = { analise: 'rejeitado', justificativa: 'Entregue' }
    return client.call('POST', `/v2/gn/infracoes/${id}/defesa`, body)
  }
  expect((await defend()).body.status).toBe('EM_DEFESA')
  expect((await defend()).status).toBe(409)
  const days = { inicio: '2020-01-01T00:00:00Z', fim: '2090-01-01T00:00:00Z' }
  const list = await client.call('GET', `/v2/gn/infracoes?${new URLSearchParams(days)}`)
  expect(list.body.infracoes).toMatchObject([{ idInfracao: id, valor: 50 }])
  await bank.run('closeDispute', { id, isAccepted: true })
  expect((await bank.run('readBook')).balance).toBe(balance - 5_000)
  expect((await client.call('GET', `/v2/pix/${pix?.e2eid}`)).body.devolucoes).toHaveLength(1)
})
