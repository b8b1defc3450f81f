import { readFileSync } from 'node:fs'
import axios from 'axios'
import { EfiPay } from 'sdk-node-apis-efi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeHexId } from './formats.ts'
import { JUDGED_ROUTES, judgeExchange, withoutDisagreements } from './judge-sdk.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { type RunningBank, startBank } from './start.ts'
import { TEST_CLIENT } from './traffic.ts'

const SDK_HOST = 'https://pix-h.api.efipay.com.br'
const DAY = { inicio: '2020-01-01T00:00:00Z', fim: '2090-01-01T00:00:00Z' }

let bank: RunningBank
let receiver: Receiver
let sdk: EfiPay
let key: string
/** Requests of the SDK that went to another host than its own: none may leave this machine. */
const strays: string[] = []

beforeAll(async () => {
  const quirks = { payoutIdName: 'endToEndId' } as never
  bank = await startBank({ kind: 'efi', openingBalance: 100_000, settleMs: null })
  await bank.run('change', { quirks })
  receiver = await openReceiver(bank)
  key = bank.keys[0] ?? ''
  redirectSdk()
  sdk = new EfiPay({
    sandbox: true,
    client_id: bank.clientId,
    client_secret: bank.clientSecret,
    certificate: bank.certificates.p12.plain,
    validateMtls: false,
  })
})

afterAll(async () => {
  await receiver.close()
  await bank.stop()
})

/** The SDK stays as published: its axios exchanges the host, and its agent trusts the bank. */
function redirectSdk(): void {
  const ca = readFileSync(bank.certificates.authority.cert)
  axios.interceptors.request.use(config => {
    if (!config.url?.startsWith(`${SDK_HOST}/`)) strays.push(config.url ?? '')
    config.url = config.url?.replace(SDK_HOST, bank.url)
    config.baseURL = undefined
    config.proxy = false
    config.httpsAgent.options.ca = ca
    return config
  })
}

test('the SDK receives: charges, payments, refunds and locations', async () => {
  const txid = makeHexId()
  const charge = {
    calendario: { expiracao: 3600 },
    devedor: { cpf: '52998224725', nome: 'Maria da Silva' },
    valor: { original: '100.00' },
    chave: key,
    solicitacaoPagador: 'Pedido 1',
    infoAdicionais: [{ nome: 'Pedido', valor: '1' }],
  }
  expect((await sdk.pixCreateCharge({ txid }, charge)).status).toBe('ATIVA')
  await sdk.pixUpdateCharge({ txid }, { valor: { original: '90.00' } })
  await bank.run('pay', { txid, payerText: 'Obrigada' })
  const { pix } = await sdk.pixDetailCharge({ txid })
  const e2eId = pix?.[0]?.endToEndId ?? ''
  await sdk.pixDevolution({ e2eId, id: 'a1' }, { valor: '10.00' })
  await sdk.pixDetailDevolution({ e2eId, id: 'a1' })
  await bank.run('settle')
  expect((await sdk.pixDetailDevolution({ e2eId, id: 'a1' })).status).toBe('DEVOLVIDO')
  await bank.run('change', { refundFailure: 'Conta encerrada' })
  await sdk.pixDevolution({ e2eId, id: 'a2' }, { valor: '10.00' })
  await bank.run('settle')
  await bank.run('pay', { key, amount: 500 })
  await sdk.pixDetailCharge({ txid })
  await sdk.pixDetailReceived({ e2eId })
  const idInfracao = await bank.run('openDispute', { e2eid: e2eId })
  await sdk.medDefense({ idInfracao }, { analise: 'rejeitado', justificativa: 'Entregue' })
  expect((await sdk.medList(DAY)).infracoes).toHaveLength(1)
  const pages = { 'paginacao.paginaAtual': 0, 'paginacao.itensPorPagina': 10 }
  expect((await sdk.pixListCharges({ ...DAY, ...pages, status: 'CONCLUIDA' })).cobs).toHaveLength(1)
  expect((await sdk.pixReceivedList({ ...DAY, ...pages })).pix).toHaveLength(2)

  const { id } = await sdk.pixCreateLocation({ tipoCob: 'cob' })
  const second = { ...charge, loc: { id } }
  await sdk.pixCreateCharge({ txid: makeHexId() }, second)
  await sdk.pixDetailLocation({ id })
  await sdk.pixLocationList({ ...DAY, tipoCob: 'cob' })
  await sdk.pixUnlinkTxidLocation({ id })
})

test('the SDK pays out, reads the balance and changes settings', async () => {
  await sdk.pixConfigWebhook({ chave: key }, { webhookUrl: receiver.url })
  await sdk.pixDetailWebhook({ chave: key })
  await sdk.pixListWebhook(DAY)
  const [idEnvio, failing] = [makeHexId(), makeHexId()]
  const failure = { codigo: 'AC03', motivo: 'Conta inexistente' }
  await bank.run('change', { payees: { 'a@b.com': { failure }, 'c@d.com': { returns: [100] } } })
  const send = (id: string, chave: string) =>
    sdk.pixSend(
      { idEnvio: id },
      {
        valor: '10.00',
        pagador: { chave: key, infoPagador: 'Saque' },
        favorecido: { chave },
      },
    )
  const { endToEndId } = await send(idEnvio, 'c@d.com')
  await send(failing, 'a@b.com')
  await sdk.pixSendDetailId({ idEnvio })
  await bank.run('settle')
  expect((await sdk.pixSendDetailId({ idEnvio })).devolucoes).toHaveLength(1)
  expect((await sdk.pixSendDetailId({ idEnvio: failing })).status).toBe('NAO_REALIZADO')
  await sdk.pixSendDetail({ e2eId: endToEndId })
  await sdk.pixSendList({ ...DAY, status: 'REALIZADO' })
  const ordered = { dataMovimento: '2026-11-01', tipoRegistros: { pixRecebido: true } }
  const { id } = await sdk.createReport(ordered)
  expect(await sdk.detailReport({ id })).toMatchObject({ status: 'EM_PROCESSAMENTO' })
  expect(await sdk.detailReport({ id })).toMatch(/^CA;.*\nT;0;/)
  await sdk.pixResendWebhook({ tipo: 'PIX_ENVIADO', e2eids: [endToEndId] })
  expect((await sdk.getAccountBalance({ bloqueios: true })).bloqueios?.total).toBe('90.00')
  const recebimento = { txidObrigatorio: true, qrCodeEstatico: { recusarTodos: true } }
  await sdk.updateAccountConfig({
    pix: { receberSemChave: false, chaves: { [key]: { recebimento } } },
  })
  await sdk.listAccountConfig()
  expect((await sdk.pixKeysBucket()).baldeA.capacidade).toBeGreaterThan(0)
  await sdk.pixDeleteWebhook({ chave: key })
})

test('the SDK reports a refusal of the bank', async () => {
  await expect(sdk.pixDetailCharge({ txid: makeHexId() })).rejects.toMatchObject({
    nome: 'cobranca_nao_encontrada',
  })
})

test("the SDK's schemas accept every exchange, and every call that Troco uses was made", async () => {
  const exchanges = await bank.run('readTraffic', {})
  const calls = exchanges.filter(({ to }) => to === 'bank')
  expect(calls.flatMap(judgeExchange)).toEqual([])
  const judged = new Set(calls.map(({ method, route }) => `${method} ${route}`))
  expect(JUDGED_ROUTES.filter(route => !judged.has(route))).toEqual([])
  expect(strays).toEqual([])
})

test('the judge objects to a wrong parameter, request and response', async () => {
  const exchanges = await bank.run('readTraffic', {})
  const sound = exchanges.find(({ method, route }) => `${method} ${route}` === 'PUT /v2/cob/:txid')
  if (!sound) throw new Error('No charge was created')
  const wrong = [
    { ...sound, target: `${sound.target}?other=1` },
    { ...sound, requestBody: sound.requestBody.replace('"chave"', '"key"') },
    { ...sound, responseBody: sound.responseBody.replace('"txid"', '"id"') },
  ]
  expect(judgeExchange(sound)).toEqual([])
  expect(wrong.map(exchange => judgeExchange(exchange).length)).toEqual([1, 1, 1])
})

test('a call of a program for which the SDK has no schema is objected to, one of a test is not', async () => {
  const exchanges = await bank.run('readTraffic', {})
  const sound = exchanges.find(({ method, route }) => `${method} ${route}` === 'GET /v2/gn/saldo')
  if (!sound) throw new Error('The balance was not read')
  const other = { ...sound, target: '/v2/gn/other', route: null, status: 404 }
  const byTest = { ...other, requestHeaders: { 'user-agent': TEST_CLIENT } }
  expect(judgeExchange(other)).toEqual([
    'GET /v2/gn/other: no schema of the SDK is about this call',
  ])
  expect(judgeExchange(byTest)).toEqual([])
  expect(judgeExchange({ ...other, kind: 'api-pix' })).toEqual([])
})

test.each(['/v3/gn/pix/:idEnvio', '/v2/gn/relatorios/extrato-conciliacao'])(
  'at %s, an order of nothing is excused if the bank refused it; any other wrong one is not',
  async path => {
    const exchanges = await bank.run('readTraffic', {})
    const sound = exchanges.find(({ route }) => route === path)
    if (!sound) throw new Error('Nothing was ordered')
    const refused = { ...sound, status: 400, responseBody: '{"nome":"json_invalido"}' }
    expect(judgeExchange({ ...refused, requestBody: '{}' })).toEqual([])
    expect(judgeExchange({ ...refused, requestBody: '{"valor":"0.01"}' })).toHaveLength(1)
    expect(judgeExchange({ ...sound, requestBody: '{}' })).toHaveLength(1)
  },
)

test.each([
  ['PUT /v3/gn/pix/:idEnvio', '"endToEndId":', '"e2eId":'],
  [
    'GET /v2/gn/pix/enviados/id-envio/:idEnvio',
    '"favorecido":{',
    '$&"identificacao":{"nome":"A"},',
  ],
  ['GET /v2/pix/:e2eid', '"devolucoes":[{', '$&"natureza":"MED_FRAUDE",'],
  ['GET /v2/webhook', /\?.*/, ''],
] as const)('of %s, a known disagreement of SDK and documentation is excused', async (...row) => {
  const [call, text, other] = row
  const exchanges = await bank.run('readTraffic', {})
  const sound = exchanges.find(({ method, route }) => `${method} ${route}` === call)
  if (!sound) throw new Error(`No ${call}`)
  const { target, responseBody } = sound
  const documented =
    typeof text === 'string'
      ? { ...sound, responseBody: responseBody.replace(text, other) }
      : { ...sound, target: target.replace(text, other) }
  expect(judgeExchange(documented)).toHaveLength(1)
  expect(judgeExchange(withoutDisagreements(documented))).toEqual([])
  const wrong = { ...documented, responseBody: documented.responseBody.replace(':"', ':1,"x":"') }
  expect(judgeExchange(withoutDisagreements(wrong))).toHaveLength(1)
})
