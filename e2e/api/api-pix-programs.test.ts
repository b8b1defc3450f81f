import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import axios from 'axios'
import { EfiPay } from 'sdk-node-apis-efi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shareCertificates } from '#e2e/psp/certificates.ts'
import { judgeExchange } from '#e2e/psp/judge-sdk.ts'
import { startBank } from '#e2e/psp/start.ts'
import type { Exchange } from '#e2e/psp/traffic.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { simulateRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type Api, expectBalancedLedger, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

const SDK_HOST = 'https://pix-h.api.efipay.com.br'
const PERIOD = { inicio: '2020-01-01T00:00:00Z', fim: '2090-01-01T00:00:00Z' }

let api: Api
let merchant: Account
let key: string
let credentials: { client_id: string; client_secret: string }

beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  key = accountKey(merchant.id, 'test')
  const { id, token } = await issueToken(
    { accountId: merchant.id, mode: 'test', name: 'Loja', permissions: [...PERMISSIONS] },
    { type: 'system' },
  )
  credentials = { client_id: id, client_secret: token }
})

afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

async function pay(txid: string): Promise<string> {
  return (await simulateCharge(merchant.id, txid, 'paid')).end_to_end_id ?? ''
}

async function endRefund(externalId: string): Promise<void> {
  const find = () => db().refund.findFirst({ where: { accountId: merchant.id, externalId } })
  let refund = await find()
  for (; !refund; refund = await find()) await sleep(20)
  await simulateRefund(merchant.id, refund.id, { outcome: 'completed' })
}

/** Runs examples/api-pix.mjs. `act` does what the payer and the bank do, once the charge is there. */
async function runProgram(address: string, given: object, act: (txid: string) => Promise<unknown>) {
  const env = { ...process.env, PIX_ADDRESS: address, PIX_CREDENTIALS: JSON.stringify(given) }
  const child = spawn(process.execPath, ['examples/api-pix.mjs'], { env })
  const problems: Buffer[] = []
  child.stderr.on('data', chunk => problems.push(chunk))
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    const [txid = '', ...rest] = line.split(' ')
    const isFirst = lines.length === 0
    lines.push(isFirst ? (rest[0] ?? '') : line)
    if (isFirst) await act(txid)
  }
  if (child.exitCode === null) await once(child, 'exit')
  return { lines, exitCode: child.exitCode, problems: Buffer.concat(problems).toString() }
}

test('a program of 50 lines moves from a bank to Troco by its address and credentials', async () => {
  const expected = { lines: ['ATIVA', 'CONCLUIDA 25.00', 'DEVOLVIDO'], exitCode: 0, problems: '' }
  const bank = await startBank({ kind: 'api-pix' })
  const { client, authority } = bank.certificates
  const read = (file: string) => readFileSync(file, 'utf8')
  const ofBank = {
    client_id: bank.clientId,
    client_secret: bank.clientSecret,
    chave: bank.keys[0],
    cert: read(client.cert),
    key: read(client.key),
    ca: read(authority.cert),
  }
  expect(await runProgram(bank.url, ofBank, txid => bank.run('pay', { txid }))).toEqual(expected)
  await bank.stop()

  const atTroco = await runProgram(
    `${api.url}/api/pix`,
    { ...credentials, chave: key },
    async txid => {
      await pay(txid)
      await endRefund('1048')
    },
  )
  expect(atTroco).toEqual(expected)
})

test("Efí's SDK, as published, tells its story to Troco, and its schemas accept each exchange", async () => {
  const exchanges: Exchange[] = []
  const redirected = axios.interceptors.request.use(config => {
    config.url = config.url?.replace(SDK_HOST, `${api.url}/api/pix`)
    config.baseURL = undefined
    config.proxy = false
    return config
  })
  const recorded = axios.interceptors.response.use(response => {
    exchanges.push(toExchange(response))
    return response
  })
  const sdk = new EfiPay({
    sandbox: true,
    ...credentials,
    certificate: shareCertificates().p12.plain,
    validateMtls: false,
  })
  const txid = removeHyphens(newId())
  const charge = {
    calendario: { expiracao: 3600 },
    devedor: { cpf: '52998224725', nome: 'Maria da Silva' },
    valor: { original: '100.00' },
    chave: key,
    solicitacaoPagador: 'Pedido 1',
    infoAdicionais: [{ nome: 'Pedido', valor: '1' }],
  }
  expect((await sdk.pixCreateCharge({ txid }, charge)).status).toBe('ATIVA')
  await sdk.pixUpdateCharge({ txid }, { solicitacaoPagador: 'Pedido 2' })
  const e2eId = await pay(txid)
  expect((await sdk.pixDetailCharge({ txid })).pix?.[0]?.endToEndId).toBe(e2eId)
  await sdk.pixDevolution({ e2eId, id: 'a1' }, { valor: '10.00' })
  await sdk.pixDetailDevolution({ e2eId, id: 'a1' })
  await endRefund('a1')
  expect((await sdk.pixDetailDevolution({ e2eId, id: 'a1' })).status).toBe('DEVOLVIDO')
  expect((await sdk.pixDetailReceived({ e2eId })).devolucoes).toHaveLength(1)
  const pages = { 'paginacao.paginaAtual': 0, 'paginacao.itensPorPagina': 10 }
  const paid = await sdk.pixListCharges({ ...PERIOD, ...pages, status: 'CONCLUIDA' })
  expect(paid.cobs.map(one => one.txid)).toContain(txid)
  const received = await sdk.pixReceivedList({ ...PERIOD, ...pages })
  expect(received.pix.map(one => one.endToEndId)).toContain(e2eId)
  await sdk.pixConfigWebhook({ chave: key }, { webhookUrl: 'https://loja.example/notificacoes' })
  expect((await sdk.pixDetailWebhook({ chave: key })).webhookUrl).toBe(
    'https://loja.example/notificacoes',
  )
  expect((await sdk.pixListWebhook(PERIOD)).webhooks).toHaveLength(1)
  await sdk.pixDeleteWebhook({ chave: key })
  const removed = { ...charge, devedor: undefined }
  const other = removeHyphens(newId())
  await sdk.pixCreateCharge({ txid: other }, removed)
  await sdk.pixUpdateCharge({ txid: other }, { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' })
  await expect(sdk.pixDetailCharge({ txid: removeHyphens(newId()) })).rejects.toMatchObject({
    type: 'https://pix.bcb.gov.br/api/v2/error/CobNaoEncontrado',
  })
  axios.interceptors.request.eject(redirected)
  axios.interceptors.response.eject(recorded)
  expect(exchanges.length).toBeGreaterThanOrEqual(16)
  expect(exchanges.flatMap(judgeExchange)).toEqual([])
})

interface SdkResponse {
  status: number
  data: unknown
  headers: unknown
  config: { method?: string; url?: string; params?: unknown; data?: unknown }
}

/** Names the route as the judge does: with names for the variable parts. */
function toExchange({ status, data, config }: SdkResponse): Exchange {
  const { pathname, search } = new URL(axios.getUri(config as never))
  const target = pathname.replace('/api/pix', '')
  const route = target
    .replace(/^(\/v2\/cob)\/.+/, '$1/:txid')
    .replace(/^(\/v2\/webhook)\/.+/, '$1/:chave')
    .replace(/^(\/v2\/pix)\/[^/]+/, '$1/:e2eid')
    .replace(/(devolucao)\/.+/, '$1/:id')
  const toText = (value: unknown) =>
    typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return {
    kind: 'efi',
    to: 'bank',
    at: '',
    method: (config.method ?? 'get').toUpperCase(),
    target: target + search,
    route,
    requestHeaders: {},
    requestBody: toText(config.data),
    status,
    responseHeaders: { 'content-type': 'application/json' },
    responseBody: toText(data),
    fault: null,
  }
}
