import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Client } from './client.ts'
import { CORRECTIONS, correct } from './corrections.ts'
import { makeHexId } from './formats.ts'
import { DocumentJudge } from './judge-document.ts'
import { DOCUMENT_FILE, type OpenApi, readOpenApi } from './openapi.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import type { Kind } from './settings.ts'
import { type RunningBank, startBank } from './start.ts'
import type { Exchange } from './traffic.ts'

/** Elsewhere, the judge of a whole run says that it did not run (judge.ts). */
const hasDocument = existsSync(DOCUMENT_FILE)
const DAYS = 'inicio=2020-01-01T00:00:00Z&fim=2090-01-01T00:00:00Z'

const banks: RunningBank[] = []
const clients: Client[] = []
const receivers: Receiver[] = []
const traffic = { 'api-pix': [] as Exchange[], efi: [] as Exchange[] }
let document: OpenApi

beforeAll(async () => {
  if (!hasDocument) return
  document = readOpenApi(DOCUMENT_FILE)
  await Promise.all([makeTraffic('api-pix'), makeTraffic('efi')])
})

afterAll(async () => {
  for (const client of clients) client.close()
  for (const receiver of receivers) await receiver.close()
  for (const bank of banks) await bank.stop()
})

/** Makes a bank of this kind do everything that a correction is about. */
async function makeTraffic(kind: Kind): Promise<void> {
  const bank = await startBank({ kind })
  banks.push(bank)
  const client = new Client(bank)
  clients.push(client)
  const receiver = await openReceiver(bank)
  receivers.push(receiver)
  const [chave = ''] = bank.keys
  await client.call('PUT', `/v2/webhook/${chave}`, { webhookUrl: receiver.url })
  await client.call('GET', `/v2/webhook/${chave}`)
  if (kind === 'efi') await client.call('PUT', '/v2/gn/config', wishesFor(chave))
  const { body: loc } = await client.call('POST', '/v2/loc', { tipoCob: 'cob' })
  await client.call('GET', `/v2/loc?${DAYS}`)
  const txid = makeHexId()
  await client.call('PUT', `/v2/cob/${txid}`, {
    calendario: { expiracao: 600 },
    valor: { original: '12.34' },
    chave,
    devedor: { cpf: '52998224725', nome: 'Maria da Silva' },
    loc: { id: loc.id },
    infoAdicionais: [{ nome: 'Pedido', valor: '1' }],
  })
  await client.call('GET', `/v2/cob/${txid}`)
  await client.call('GET', `/v2/cob?${DAYS}`)
  await client.call('GET', `/v2/cob/${makeHexId()}`)
  await bank.run('pay', { txid })
  const [pix] = await bank.run('pay', { key: chave, amount: 1, txid: 'A1', isForced: true })
  await client.call('GET', `/v2/pix/${pix?.e2eid}`)
  const appKey = kind === 'efi' ? '' : '&gw-dev-app-key=a1'
  await client.call('GET', `/v2/pix?${DAYS}${appKey}`)
  await client.call('GET', '/v2/pix?inicio=2020-01-02T00:00:00Z&fim=2020-01-01T00:00:00Z')
  await bank.run('waitForNotices')
  await bank.run('revokeTokens')
  await client.call('GET', `/v2/cob/${txid}`)
  traffic[kind] = await bank.run('readTraffic', {})
}

function wishesFor(key: string) {
  const webhook = { notificacao: { tarifa: true, pagador: true } }
  const qrCodeEstatico = { recusarTodos: false }
  const recebimento = { txidObrigatorio: false, qrCodeEstatico, webhook }
  return { pix: { receberSemChave: false, chaves: { [key]: { recebimento } } } }
}

type Part = 'target' | 'requestBody' | 'responseBody'

interface Proof {
  /** A call as `method route status`, which is wrong without the correction. */
  call: string
  part: Part
  /** Text in this part, and what makes it wrong with the correction as well. */
  replace: [text: string | RegExp, wrong: string]
  /** The document describes too little: without the correction, it accepts the wrong body. */
  isTooLax?: true
}

const NOTICE = 'POST null 200'
const PROOFS: Record<string, Proof> = {
  cpf: {
    call: 'PUT /v2/cob/:txid 201',
    part: 'requestBody',
    replace: ['"52998224725"', '"5299822472"'],
  },
  'whole texts': {
    call: 'PUT /v2/cob/:txid 201',
    part: 'requestBody',
    isTooLax: true,
    replace: ['"12.34"', '"x-12.341y"'],
  },
  'list of payments': {
    call: 'GET /v2/pix 200',
    part: 'responseBody',
    replace: ['"pix"', '"cobs"'],
  },
  'txid of a payment': {
    call: 'GET /v2/pix/:e2eid 200',
    part: 'responseBody',
    replace: ['"A1"', '"A-1"'],
  },
  'list of charges': {
    call: 'GET /v2/cob 200',
    part: 'responseBody',
    replace: ['"txid"', '"idCob"'],
  },
  'location in a charge': {
    call: 'GET /v2/cob/:txid 200',
    part: 'responseBody',
    replace: ['"tipoCob":"cob",', ''],
  },
  'location in a request': {
    call: 'PUT /v2/cob/:txid 201',
    part: 'requestBody',
    replace: ['"loc":{"id":1}', '"loc":{}'],
  },
  'address of a location': {
    call: 'POST /v2/loc 201',
    part: 'responseBody',
    replace: ['"location":"', `"location":"${'x'.repeat(77)}`],
  },
  webhook: {
    call: 'GET /v2/webhook/:chave 200',
    part: 'responseBody',
    replace: [/"chave":"[0-9a-f-]{36}"/, '"cnpj":"12345678000195"'],
  },
  'additional texts': {
    call: 'PUT /v2/cob/:txid 201',
    part: 'requestBody',
    isTooLax: true,
    replace: ['"infoAdicionais":[', `"infoAdicionais":[${'{"nome":"a","valor":"b"},'.repeat(50)}`],
  },
  notice: {
    call: NOTICE,
    part: 'requestBody',
    isTooLax: true,
    replace: [/^\{"pix".*$/, '[]'],
  },
  'refused queries': {
    call: 'GET /v2/pix 400',
    part: 'responseBody',
    replace: ['"title"', '"titulo"'],
  },
  'refused tokens': {
    call: 'GET /v2/cob/:txid 401',
    part: 'responseBody',
    replace: ['"error"', '"erro"'],
  },
  'key of an application': {
    call: 'GET /v2/pix 200',
    part: 'target',
    replace: ['gw-dev-app-key=a1', 'gw-dev-app-key='],
  },
  'errors of Efí': {
    call: 'GET /v2/cob/:txid 400',
    part: 'responseBody',
    replace: ['"nome"', '"name"'],
  },
  'list of locations of Efí': {
    call: 'GET /v2/loc 200',
    part: 'responseBody',
    replace: ['"locs"', '"loc"'],
  },
  'registered webhook of Efí': {
    call: 'PUT /v2/webhook/:chave 201',
    part: 'responseBody',
    replace: ['"webhookUrl"', '"url"'],
  },
  'additions of Efí to a notice': {
    call: NOTICE,
    part: 'requestBody',
    replace: ['"tarifa":"0.15"', '"tarifa":0.15'],
  },
}

const judges = new Map<string, DocumentJudge>()

function objectionsTo(exchange: Exchange, without = ''): string[] {
  const name = `${exchange.kind} ${without}`
  const made = judges.get(name) ?? new DocumentJudge(correct(document, exchange.kind, without))
  judges.set(name, made)
  return made.judge(exchange).flatMap(({ objections }) => objections)
}

test('every correction has a proof', () => {
  expect(Object.keys(PROOFS)).toEqual(CORRECTIONS.map(({ name }) => name))
})

test.skipIf(!hasDocument).each(CORRECTIONS.map(({ name, kind }) => [name, kind] as const))(
  'the correction %s is needed, and a wrong body is refused with it',
  (name, kind = 'api-pix') => {
    const { call, part, replace, isTooLax } = PROOFS[name] as Proof
    const [text, wrong] = replace
    const exchange = traffic[kind].find(
      ({ method, route, status, ...bodies }) =>
        `${method} ${route} ${status}` === call && bodies[part].replace(text, '') !== bodies[part],
    )
    if (!exchange) throw new Error(`No ${call} with ${text}`)
    // Without the user agent of the tests' client, the judge excuses nothing.
    const sound = { ...exchange, requestHeaders: { 'content-type': 'application/json' } }
    const broken = { ...sound, [part]: sound[part].replace(text, wrong) }
    expect(objectionsTo(sound)).toEqual([])
    expect(objectionsTo(broken)).not.toEqual([])
    const unproven = isTooLax ? broken : sound
    expect(objectionsTo(unproven, name).length > 0, name).toBe(!isTooLax)
  },
)
