import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { correct } from '#e2e/psp/corrections.ts'
import { DocumentJudge, type Verdict } from '#e2e/psp/judge-document.ts'
import { DOCUMENT_FILE, readOpenApi } from '#e2e/psp/openapi.ts'
import { addResponses } from '#e2e/psp/openapi-edits.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { simulateRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type Api, expectBalancedLedger, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { DEFAULT_PERMISSIONS, PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'

const TYPES = 'https://pix.bcb.gov.br/api/v2/error/'
const WIDE = 'inicio=2020-01-01T00:00:00Z&fim=2090-01-01T00:00:00Z'

let api: Api
let merchant: Account
let key: string
let client: Client

interface Client {
  id: string
  secret: string
  access: string
}

/** Everything that was sent and answered here, by Banco Central's document, if it lies beside the repository. */
const verdicts: Verdict[] = []
const judge = existsSync(DOCUMENT_FILE) ? makeJudge() : null

function makeJudge(): DocumentJudge {
  const document = correct(readOpenApi(DOCUMENT_FILE), 'api-pix')
  const problem = { schema: { $ref: '#/components/schemas/Problema' } }
  // The document lists few statuses per path, and describes the others in prose.
  const statuses = [400, 401, 403, 404, 405, 413, 414, 415, 429, 503]
  addResponses(document, statuses, { 'application/problem+json': problem })
  return new DocumentJudge(document)
}

interface Sent {
  access?: string | null
  headers?: Record<string, string>
  raw?: string
}

async function send(method: string, path: string, body?: unknown, options: Sent = {}) {
  const { access = client.access, headers = {}, raw } = options
  const requestBody = raw ?? (body === undefined ? '' : JSON.stringify(body))
  const requestHeaders: Record<string, string> = {
    // Judges know by it that a wrong request is wrong on purpose.
    'user-agent': 'bank-test-client',
    ...(access && { authorization: `Bearer ${access}` }),
    ...(requestBody && { 'content-type': 'application/json' }),
    ...headers,
  }
  const response = await fetch(`${api.url}/api/pix${path}`, {
    method,
    headers: requestHeaders,
    ...(requestBody && { body: requestBody }),
  })
  const text = await response.text()
  const exchange = { kind: 'api-pix', to: 'bank', at: '', method, target: path } as const
  const responseHeaders = Object.fromEntries(response.headers)
  const rest = { route: null, requestHeaders, requestBody, responseHeaders, responseBody: text }
  const { status } = response
  if (judge && path.startsWith('/v2/'))
    verdicts.push(...judge.judge({ ...exchange, ...rest, status, fault: null }))
  if (status >= 400) expectProblem(response, text)
  return { status, headers: response.headers, text, body: text === '' ? null : JSON.parse(text) }
}

/** Every refusal has this form, whatever the reason. */
function expectProblem(response: Response, text: string): void {
  expect(response.headers.get('content-type'), text).toBe('application/problem+json')
  const body = JSON.parse(text)
  expect(body).toMatchObject({ title: expect.any(String), status: response.status })
  expect(body.type).toMatch(/^https:\/\/pix\.bcb\.gov\.br\/api\/v2\/error\/[A-Z]\w+$/)
  expect(body.correlationId).toBe(response.headers.get('x-request-id'))
}

async function makeClient(
  accountId: string,
  permissions: Permission[] = [...PERMISSIONS],
  scope?: string,
): Promise<Client> {
  const terms = { accountId, mode: 'test', name: 'ERP', permissions } as const
  const { token: secret, id } = await issueToken(terms, { type: 'system' })
  const { body } = await askToken(id, secret, { scope })
  return { id, secret, access: body.access_token }
}

function askToken(id: string, secret: string, more: object = {}) {
  const basic = Buffer.from(`${id}:${secret}`).toString('base64')
  const form = { grant_type: 'client_credentials', ...more }
  return send('POST', '/oauth/token', form, {
    access: null,
    headers: { authorization: `Basic ${basic}` },
  })
}

const newTxid = () => removeHyphens(newId())
const cob = (more: object = {}) => ({
  calendario: { expiracao: 3600 },
  devedor: { cpf: '52998224725', nome: 'Maria da Silva' },
  valor: { original: '37.00' },
  chave: key,
  solicitacaoPagador: 'Pedido 1048',
  infoAdicionais: [{ nome: 'Pedido', valor: '1048' }],
  ...more,
})

async function pay(txid: string): Promise<string> {
  const { end_to_end_id } = await simulateCharge(merchant.id, txid, 'paid')
  return end_to_end_id ?? ''
}

async function openPaid(more: object = {}): Promise<{ txid: string; e2eid: string }> {
  const txid = newTxid()
  expect((await send('PUT', `/v2/cob/${txid}`, cob(more))).status).toBe(201)
  return { txid, e2eid: await pay(txid) }
}

beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  key = accountKey(merchant.id, 'test')
  client = await makeClient(merchant.id)
})

afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

describe('POST /oauth/token', () => {
  test('exchanges id and value of an API token for an hour', async () => {
    const { status, body } = await askToken(client.id, client.secret)
    expect([status, body]).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^[\w-]{71}$/),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'cob.write cob.read pix.write pix.read webhook.write webhook.read',
      },
    ])
  })

  test('reads a form as well', async () => {
    const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64')
    const type = 'application/x-www-form-urlencoded'
    const headers = { authorization: `Basic ${basic}`, 'content-type': type }
    const raw = 'grant_type=client_credentials&scope=cob.read+pix.read'
    const { body } = await send('POST', '/oauth/token', undefined, { access: null, headers, raw })
    expect(body.scope).toBe('cob.read pix.read')
  })

  test('401 for a wrong id, a wrong value, another token’s id and a revoked token', async () => {
    const other = await makeClient(merchant.id)
    const wrong = [
      [client.id, `${client.secret}x`],
      [newId(), client.secret],
      [other.id, client.secret],
      ['', ''],
    ]
    for (const [id = '', secret = ''] of wrong)
      expect((await askToken(id, secret)).status, id).toBe(401)
  })

  test('400 for another grant', async () => {
    const { status, body } = await askToken(client.id, client.secret, { grant_type: 'password' })
    expect([status, body.violacoes]).toEqual([
      400,
      [{ propriedade: 'grant_type', razao: 'grant_type deve ser client_credentials' }],
    ])
  })

  test('grants no scope that the permissions of the API token do not allow', async () => {
    const reader = await makeClient(merchant.id, ['transactions:read'])
    const { body } = await askToken(reader.id, reader.secret)
    expect(body.scope).toBe('cob.read pix.read')
    expect((await askToken(reader.id, reader.secret, { scope: 'cob.write' })).status).toBe(403)
    const path = `/v2/cob/${newTxid()}`
    expect((await send('PUT', path, cob(), { access: reader.access })).status).toBe(403)
  })

  test('a scope that was not asked for is refused, although the API token has the permission', async () => {
    const narrow = await makeClient(merchant.id, [...PERMISSIONS], 'pix.read')
    const { status, body } = await send('GET', `/v2/cob?${WIDE}`, undefined, narrow)
    expect([status, body.type]).toEqual([403, `${TYPES}AcessoNegado`])
    expect((await send('GET', `/v2/pix?${WIDE}`, undefined, narrow)).status).toBe(200)
  })

  test('an access token ends with its API token', async () => {
    const ended = await makeClient(merchant.id)
    expect((await send('GET', `/v2/cob?${WIDE}`, undefined, ended)).status).toBe(200)
    await db().token.updateMany({ where: { id: ended.id }, data: { revokedAt: new Date() } })
    expect((await send('GET', `/v2/cob?${WIDE}`, undefined, ended)).status).toBe(401)
    expect((await askToken(ended.id, ended.secret)).status).toBe(401)
  })

  test('no single changed character of an access token is accepted, nor an API token itself', async () => {
    const { access, secret } = client
    const places = Array.from({ length: Math.ceil(access.length / 7) }, (_, nth) => nth * 7)
    for (const index of [...places, access.length - 1]) {
      // The next character differs in the lowest bit, which in the last character no byte uses.
      const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const other = digits[digits.indexOf(access[index] ?? '') ^ 1]
      const changed = access.slice(0, index) + other + access.slice(index + 1)
      expect((await send('GET', `/v2/cob?${WIDE}`, undefined, { access: changed })).status).toBe(
        401,
      )
    }
    expect((await send('GET', `/v2/cob?${WIDE}`, undefined, { access: secret })).status).toBe(401)
  })

  test('Troco’s own API does not accept an access token', async () => {
    const headers = { authorization: `Bearer ${client.access}` }
    expect((await fetch(`${api.url}/api/account`, { headers })).status).toBe(401)
  })
})

describe('PUT /cob/{txid}', () => {
  test('creates a charge that the other API reads by the txid', async () => {
    const txid = newTxid()
    const { status, body } = await send('PUT', `/v2/cob/${txid}`, cob())
    expect([status, body]).toEqual([
      201,
      {
        ...cob(),
        calendario: {
          criacao: expect.stringMatching(/^[\d-]{10}T[\d:]{8}\.\d{3}Z$/),
          expiracao: 3600,
        },
        txid,
        revisao: 0,
        loc: expect.objectContaining({ location: expect.any(String), tipoCob: 'cob' }),
        location: expect.any(String),
        status: 'ATIVA',
        pixCopiaECola: expect.stringMatching(/^000201/),
      },
    ])
    const headers = { authorization: `Bearer ${client.secret}` }
    const read = await fetch(`${api.url}/api/transactions/${txid}`, { headers })
    expect((await read.json()).data).toMatchObject({
      amount: 3700,
      external_id: txid,
      description: 'Pedido 1048',
      client_name: 'Maria da Silva',
      client_doc: '52998224725',
      status: 'pending',
    })
  })

  test('needs no payer', async () => {
    const txid = newTxid()
    const { status, body } = await send('PUT', `/v2/cob/${txid}`, cob({ devedor: undefined }))
    expect([status, body.devedor]).toEqual([201, undefined])
    await pay(txid)
    expect((await send('GET', `/v2/cob/${txid}`)).body.status).toBe('CONCLUIDA')
  })

  test('again with the same content: the same answer, also when it is paid', async () => {
    const txid = newTxid()
    const first = await send('PUT', `/v2/cob/${txid}`, cob())
    const again = await send('PUT', `/v2/cob/${txid}`, cob())
    expect([again.status, again.text]).toEqual([201, first.text])
    await pay(txid)
    const paid = await send('PUT', `/v2/cob/${txid}`, cob())
    expect([paid.status, paid.body]).toEqual([201, { ...first.body, status: 'CONCLUIDA' }])
  })

  test('many at the same moment create one charge', async () => {
    const txid = newTxid()
    const sent = Array.from({ length: 8 }, () => send('PUT', `/v2/cob/${txid}`, cob()))
    const texts = (await Promise.all(sent)).map(({ status, text }) => `${status} ${text}`)
    expect(new Set(texts).size).toBe(1)
    expect(await db().charge.count({ where: { externalId: txid } })).toBe(1)
  })

  test('creates one charge also where the account lets charges repeat a reference', async () => {
    const other = await makeMerchant()
    await db().account.update({ where: { id: other.id }, data: { repeatsExternalIds: true } })
    const { access } = await makeClient(other.id)
    const body = cob({ chave: accountKey(other.id, 'test') })
    const txid = newTxid()
    const put = () => send('PUT', `/v2/cob/${txid}`, body, { access })
    await Promise.all([put(), put(), put(), put()])
    expect(await db().charge.count({ where: { externalId: txid } })).toBe(1)
  })

  test('with other texts revises them, and with less removes them', async () => {
    const txid = newTxid()
    await send('PUT', `/v2/cob/${txid}`, cob())
    const changed = cob({ solicitacaoPagador: 'Pedido 1049', infoAdicionais: undefined })
    const { status, body } = await send('PUT', `/v2/cob/${txid}`, changed)
    expect(status).toBe(201)
    expect(body).toMatchObject({ revisao: 1, solicitacaoPagador: 'Pedido 1049' })
    expect(body).not.toHaveProperty('infoAdicionais')
    const { solicitacaoPagador: _, ...without } = changed
    expect((await send('PUT', `/v2/cob/${txid}`, without)).body.revisao).toBe(2)
    expect((await send('GET', `/v2/cob/${txid}`)).body).not.toHaveProperty('solicitacaoPagador')
    expect((await send('GET', `/v2/cob/${txid}?revisao=2`)).status).toBe(200)
    expect((await send('GET', `/v2/cob/${txid}?revisao=1`)).status).toBe(400)
  })

  test.each([
    ['valor.original', { valor: { original: '38.00' } }],
    ['calendario.expiracao', { calendario: { expiracao: 3601 } }],
    ['devedor', { devedor: { cpf: '11144477735', nome: 'Maria da Silva' } }],
  ])('400 if %s is another one', async (propriedade, more) => {
    const txid = newTxid()
    await send('PUT', `/v2/cob/${txid}`, cob())
    const { status, body } = await send('PUT', `/v2/cob/${txid}`, cob(more))
    expect(status).toBe(400)
    expect(body).toMatchObject({
      type: `${TYPES}CobOperacaoInvalida`,
      violacoes: [{ propriedade }],
    })
    expect((await send('GET', `/v2/cob/${txid}`)).body.revisao).toBe(0)
  })

  test('whoever may not read documents learns none, not even by a guess', async () => {
    const permissions = PERMISSIONS.filter(name => name !== 'payers:read')
    const { access } = await makeClient(merchant.id, permissions)
    const txid = newTxid()
    await send('PUT', `/v2/cob/${txid}`, cob())
    const guess = cob({ devedor: { cpf: '11144477735', nome: 'Outra' } })
    const { status, body } = await send('PUT', `/v2/cob/${txid}`, guess, { access })
    expect([status, body.devedor]).toEqual([201, undefined])
    expect((await send('GET', `/v2/cob/${txid}`, undefined, { access })).body.devedor).toBe(
      undefined,
    )
    const list = await send('GET', `/v2/cob?${WIDE}&cpf=52998224725`, undefined, { access })
    expect(list.body.cobs).toEqual([])
  })

  test.each<[string, object]>([
    ['valor.original', { valor: { original: '37' } }],
    ['valor.original', { valor: { original: '4.99' } }],
    ['valor.original', { valor: { original: 37 } }],
    ['valor', { valor: undefined }],
    ['valor.modalidadeAlteracao', { valor: { original: '37.00', modalidadeAlteracao: 1 } }],
    ['valor.retirada', { valor: { original: '37.00', retirada: {} } }],
    ['calendario', { calendario: undefined }],
    ['calendario.expiracao', { calendario: { expiracao: 0 } }],
    ['chave', { chave: newId() }],
    ['chave', { chave: undefined }],
    ['devedor', { devedor: { nome: 'Sem documento' } }],
    ['devedor.cpf', { devedor: { cpf: '5299822472', nome: 'Maria' } }],
    ['devedor.nome', { devedor: { cpf: '52998224725' } }],
    ['solicitacaoPagador', { solicitacaoPagador: 'x'.repeat(141) }],
    ['infoAdicionais[0].valor', { infoAdicionais: [{ nome: 'Pedido' }] }],
    ['loc', { loc: { id: 1 } }],
  ])('400 names %s', async (propriedade, more) => {
    const { status, body } = await send('PUT', `/v2/cob/${newTxid()}`, cob(more))
    expect([status, body.type]).toEqual([400, `${TYPES}CobOperacaoInvalida`])
    expect(body.violacoes.map((one: { propriedade: string }) => one.propriedade)).toContain(
      propriedade,
    )
    expect(body.violacoes[0].razao).not.toMatch(/must|required|expected/i)
  })

  test('400 for a txid of another form', async () => {
    for (const txid of ['a'.repeat(25), 'a'.repeat(36), `${'a'.repeat(26)}-`])
      expect((await send('PUT', `/v2/cob/${txid}`, cob())).status).toBe(400)
  })
})

test('POST /cob makes a txid', async () => {
  const { status, body } = await send('POST', '/v2/cob', cob())
  expect([status, body.txid]).toEqual([201, expect.stringMatching(/^[0-9a-f]{32}$/)])
  expect((await send('GET', `/v2/cob/${body.txid}`)).body.txid).toBe(body.txid)
})

describe('PATCH /cob/{txid}', () => {
  test('revises the texts that it names, and keeps the others', async () => {
    const txid = newTxid()
    await send('PUT', `/v2/cob/${txid}`, cob())
    const { status, body } = await send('PATCH', `/v2/cob/${txid}`, { solicitacaoPagador: 'Novo' })
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ solicitacaoPagador: 'Novo', revisao: 1, ...pick(cob()) }),
    ])
  })
  const pick = ({ infoAdicionais }: ReturnType<typeof cob>) => ({ infoAdicionais })

  test.each(['"x"', 'null', '{"a":1}', '[1]', '1e2', '1.0', '-1'])(
    'revises a charge whose metadata from elsewhere has revisao %s',
    async revisao => {
      const payer =
        '"client_name":"Ana","client_email":"ana@example.com","client_doc":"52998224725"'
      const response = await fetch(`${api.url}/api/transactions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${client.secret}`,
          'content-type': 'application/json',
        },
        body: `{"amount":1000,${payer},"metadata":{"revisao":${revisao}}}`,
      })
      const txid = removeHyphens((await response.json()).data.transaction_id)
      const patch = () => send('PATCH', `/v2/cob/${txid}`, { solicitacaoPagador: newTxid() })
      expect((await patch()).body).toMatchObject({ txid, revisao: 1 })
      expect((await patch()).body.revisao).toBe(2)
    },
  )

  test('removes the charge, once and for all', async () => {
    const txid = newTxid()
    await send('PUT', `/v2/cob/${txid}`, cob())
    const removal = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
    for (let call = 0; call < 2; call++) {
      const { status, body } = await send('PATCH', `/v2/cob/${txid}`, removal)
      expect([status, body.status]).toEqual([200, 'REMOVIDA_PELO_USUARIO_RECEBEDOR'])
    }
    const texts = { solicitacaoPagador: 'Tarde demais' }
    expect((await send('PATCH', `/v2/cob/${txid}`, texts)).status).toBe(400)
    expect((await send('PUT', `/v2/cob/${txid}`, cob(texts))).status).toBe(400)
  })

  test('an expired charge is ATIVA, and can be removed', async () => {
    const txid = newTxid()
    await send('PUT', `/v2/cob/${txid}`, cob())
    await simulateCharge(merchant.id, txid, 'expired')
    expect((await send('GET', `/v2/cob/${txid}`)).body.status).toBe('ATIVA')
    const removal = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
    expect((await send('PATCH', `/v2/cob/${txid}`, removal)).body.status).toBe(removal.status)
    expect((await send('GET', `/v2/cob/${txid}`)).body.status).toBe(removal.status)
  })

  test('400 if it is paid, and 404 if it is unknown', async () => {
    const { txid } = await openPaid()
    const removal = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
    expect((await send('PATCH', `/v2/cob/${txid}`, removal)).status).toBe(400)
    const { status, body } = await send('PATCH', `/v2/cob/${newTxid()}`, removal)
    expect([status, body.type]).toEqual([404, `${TYPES}CobNaoEncontrado`])
  })
})

describe('GET /cob', () => {
  test('another account finds nothing', async () => {
    const other = await makeMerchant()
    const { access } = await makeClient(other.id)
    const { txid, e2eid } = await openPaid()
    expect((await send('GET', `/v2/cob/${txid}`, undefined, { access })).status).toBe(404)
    expect((await send('GET', `/v2/pix/${e2eid}`, undefined, { access })).status).toBe(404)
  })

  test('pages by number, oldest first, with the total', async () => {
    const own = await makeMerchant()
    const { access } = await makeClient(own.id)
    const txids = Array.from({ length: 5 }, newTxid)
    for (const txid of txids)
      await send('PUT', `/v2/cob/${txid}`, cob({ chave: accountKey(own.id, 'test') }), { access })
    const read = (page: number, more = '') =>
      send(
        'GET',
        `/v2/cob?${WIDE}&paginacao.paginaAtual=${page}&paginacao.itensPorPagina=2${more}`,
        undefined,
        { access },
      )
    const pages = await Promise.all([0, 1, 2, 3].map(page => read(page)))
    const seen = pages.map(({ body }) => body.cobs.map((one: { txid: string }) => one.txid))
    // The demo payment of a new account comes first.
    expect(seen.flat().slice(-5)).toEqual(txids)
    const total = seen.flat().length
    expect(pages[0]?.body.parametros).toEqual({
      inicio: '2020-01-01T00:00:00Z',
      fim: '2090-01-01T00:00:00Z',
      paginacao: {
        paginaAtual: 0,
        itensPorPagina: 2,
        quantidadeDePaginas: Math.ceil(total / 2),
        quantidadeTotalDeItens: total,
      },
    })
    const [first = ''] = txids
    await simulateCharge(own.id, first, 'paid')
    const paid = await read(0, '&status=CONCLUIDA')
    expect(paid.body.cobs.map((one: { txid: string }) => one.txid)).toContain(first)
    const active = await read(0, '&status=ATIVA')
    expect(active.body.parametros.paginacao.quantidadeTotalDeItens).toBe(4)
  })

  test('both ends of the period are included, in milliseconds', async () => {
    const txid = newTxid()
    const { body } = await send('PUT', `/v2/cob/${txid}`, cob())
    const at = body.calendario.criacao
    const { body: list } = await send('GET', `/v2/cob?inicio=${at}&fim=${at}`)
    expect(list.cobs.map((one: { txid: string }) => one.txid)).toContain(txid)
  })

  test.each([
    ['inicio', ''],
    ['fim', 'inicio=2026-01-02T00:00:00Z&fim=2026-01-01T00:00:00Z'],
    ['cpf', `${WIDE}&cpf=52998224725&cnpj=11222333000181`],
    ['paginacao.paginaAtual', `${WIDE}&paginacao.paginaAtual=-1`],
    ['paginacao.itensPorPagina', `${WIDE}&paginacao.itensPorPagina=1001`],
    ['status', `${WIDE}&status=PAGA`],
    ['inicio', `inicio=2026-01-01T00:00:00.${'1'.repeat(200)}Z&fim=2090-01-01T00:00:00Z`],
  ])('400 names %s', async (propriedade, query) => {
    const { status, body } = await send('GET', `/v2/cob?${query}`)
    expect([status, body.type, body.violacoes[0].propriedade]).toEqual([
      400,
      `${TYPES}CobConsultaInvalida`,
      propriedade,
    ])
  })

  test('a parameter of a bank is ignored', async () => {
    expect((await send('GET', `/v2/cob?${WIDE}&gw-dev-app-key=abc`)).status).toBe(200)
  })
})

describe('GET /pix', () => {
  test('lists a payment, with its refunds, and finds it by its id', async () => {
    const { txid, e2eid } = await openPaid()
    const { body } = await send('GET', `/v2/pix/${e2eid}`)
    expect(body).toEqual({
      endToEndId: e2eid,
      txid,
      valor: '37.00',
      chave: key,
      horario: expect.stringMatching(/Z$/),
    })
    const list = await send('GET', `/v2/pix?${WIDE}&txid=${txid}`)
    expect(list.body.pix).toEqual([body])
    const { chave: _, ...inCharge } = body
    expect((await send('GET', `/v2/cob/${txid}`)).body.pix).toEqual([inCharge])
    await send('PUT', `/v2/pix/${e2eid}/devolucao/d1`, { valor: '1.00' })
    const repaid = await send('GET', `/v2/pix?${WIDE}&txid=${txid}&devolucaoPresente=true`)
    expect(repaid.body.pix[0].devolucoes).toHaveLength(1)
    const none = await send('GET', `/v2/pix?${WIDE}&txid=${txid}&devolucaoPresente=false`)
    expect(none.body.pix).toEqual([])
  })

  test('404 for an unknown id', async () => {
    const { status, body } = await send('GET', `/v2/pix/E${'0'.repeat(31)}`)
    expect([status, body.type]).toEqual([404, `${TYPES}PixNaoEncontrado`])
  })
})

describe('PUT /pix/{e2eid}/devolucao/{id}', () => {
  const path = (e2eid: string, id: string) => `/v2/pix/${e2eid}/devolucao/${id}`

  test('refunds under the merchant’s id until the bank has done it', async () => {
    const { e2eid } = await openPaid()
    const wanted = { valor: '7.00', descricao: 'Item em falta' }
    const { status, body } = await send('PUT', path(e2eid, 'D1'), wanted)
    expect([status, body]).toEqual([
      201,
      {
        id: 'D1',
        rtrId: expect.stringMatching(/^D99999999[0-9a-zA-Z]{23}$/),
        valor: '7.00',
        descricao: 'Item em falta',
        horario: { solicitacao: expect.any(String) },
        status: 'EM_PROCESSAMENTO',
      },
    ])
    const refund = await db().refund.findFirstOrThrow({ where: { externalId: 'D1' } })
    await simulateRefund(merchant.id, refund.id, { outcome: 'completed' })
    const done = await send('GET', path(e2eid, 'D1'))
    expect(done.body).toMatchObject({
      status: 'DEVOLVIDO',
      rtrId: expect.stringMatching(/^[DE]0{8}/),
      horario: { liquidacao: expect.any(String) },
    })
  })

  test('again with the same amount: the first answer, and one refund', async () => {
    const { e2eid } = await openPaid()
    const put = () => send('PUT', path(e2eid, 'a'), { valor: '37.00' })
    const all = await Promise.all([put(), put(), put(), put()])
    expect(new Set(all.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect((await put()).text).toBe(all[0]?.text)
    const { id } = await db().charge.findFirstOrThrow({ where: { endToEndId: e2eid } })
    expect(await db().refund.count({ where: { chargeId: id } })).toBe(1)
  })

  test.each<[string, string, string, string]>([
    ['id', 'another amount under a used id', 'a', '2.00'],
    ['valor', 'more than is left', 'b', '36.01'],
    ['valor', 'nothing', 'c', '0.00'],
    ['valor', 'no amount', 'd', '1'],
    ['id', 'an id of another form', 'e-f', '1.00'],
  ])('400 names %s for %s, and moves nothing', async (propriedade, _, id, valor) => {
    const { e2eid } = await openPaid()
    await send('PUT', path(e2eid, 'a'), { valor: '1.00' })
    const { status, body } = await send('PUT', path(e2eid, id), { valor })
    expect([status, body.type, body.violacoes[0].propriedade]).toEqual([
      400,
      `${TYPES}PixDevolucaoInvalida`,
      propriedade,
    ])
    const charge = await db().charge.findFirstOrThrow({ where: { endToEndId: e2eid } })
    expect(charge.refundHeldAmount).toBe(100n)
  })

  test('the same id refunds another payment', async () => {
    for (let payment = 0; payment < 2; payment++) {
      const { e2eid } = await openPaid()
      expect((await send('PUT', path(e2eid, 'mesmo'), { valor: '1.00' })).status).toBe(201)
    }
  })

  test('404 for an unknown payment or refund', async () => {
    const { e2eid } = await openPaid()
    const missing = await send('GET', path(e2eid, 'nada'))
    expect([missing.status, missing.body.type]).toEqual([404, `${TYPES}PixDevolucaoNaoEncontrada`])
    const unknown = `E${'0'.repeat(31)}`
    expect((await send('PUT', path(unknown, 'a'), { valor: '1.00' })).status).toBe(404)
  })
})

describe('/webhook/{chave}', () => {
  test('is registered, read, moved, listed and removed', async () => {
    const own = await makeMerchant()
    const { access } = await makeClient(own.id)
    const path = `/v2/webhook/${accountKey(own.id, 'test')}`
    const sendOwn = (method: string, at = path, body?: object) => send(method, at, body, { access })
    expect((await sendOwn('GET')).body.type).toBe(`${TYPES}WebhookNaoEncontrado`)
    for (const name of ['um', 'dois']) {
      const webhookUrl = `https://loja.example/${name}`
      const put = await sendOwn('PUT', path, { webhookUrl })
      expect([put.status, put.text]).toEqual([200, ''])
      expect((await sendOwn('GET')).body).toEqual({
        webhookUrl,
        chave: accountKey(own.id, 'test'),
        criacao: expect.stringMatching(/Z$/),
      })
    }
    expect((await sendOwn('GET', '/v2/webhook')).body.webhooks).toHaveLength(1)
    expect((await sendOwn('GET', `/v2/webhook?${WIDE}`)).body.webhooks).toHaveLength(1)
    const past = 'inicio=2020-01-01T00:00:00Z&fim=2020-01-02T00:00:00Z'
    expect((await sendOwn('GET', `/v2/webhook?${past}`)).body.webhooks).toEqual([])
    const [endpoint, ...others] = await db().webhookEndpoint.findMany({
      where: { accountId: own.id },
    })
    expect([endpoint?.url, others]).toEqual(['https://loja.example/dois/pix', []])
    expect((await sendOwn('DELETE')).status).toBe(204)
    expect((await sendOwn('DELETE')).status).toBe(404)
  })

  test('many at the same moment register one address', async () => {
    const own = await makeMerchant()
    const { access } = await makeClient(own.id)
    const path = `/v2/webhook/${accountKey(own.id, 'test')}`
    const body = { webhookUrl: 'https://loja.example/um' }
    const all = await Promise.all([1, 2, 3, 4].map(() => send('PUT', path, body, { access })))
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await db().webhookEndpoint.count({ where: { accountId: own.id } })).toBe(1)
  })

  test('registering again enables an endpoint that was given up', async () => {
    const own = await makeMerchant()
    const { access } = await makeClient(own.id)
    const path = `/v2/webhook/${accountKey(own.id, 'test')}`
    const body = { webhookUrl: 'https://loja.example/um' }
    await send('PUT', path, body, { access })
    const where = { accountId: own.id }
    await db().webhookEndpoint.updateMany({ where, data: { disabledAt: new Date() } })
    await send('PUT', path, body, { access })
    expect((await db().webhookEndpoint.findFirstOrThrow({ where })).disabledAt).toBeNull()
  })

  test.each([
    ['chave', 'outra', 'https://loja.example'],
    ['webhookUrl', '', 'nada'],
    ['webhookUrl', '', 'https://ana:segredo@loja.example'],
    ['webhookUrl', '', 'http://10.0.0.1/pix'],
  ])('400 names %s', async (propriedade, chave, webhookUrl) => {
    const { status, body } = await send('PUT', `/v2/webhook/${chave || key}`, { webhookUrl })
    expect([status, body.type, body.violacoes[0].propriedade]).toEqual([
      400,
      `${TYPES}WebhookOperacaoInvalida`,
      propriedade,
    ])
  })

  test('403 without webhooks:write, which no token has by itself', async () => {
    const { access } = await makeClient(merchant.id, [...DEFAULT_PERMISSIONS])
    const body = { webhookUrl: 'https://loja.example' }
    expect((await send('PUT', `/v2/webhook/${key}`, body, { access })).status).toBe(403)
  })
})

describe('a refusal is a problem', () => {
  test.each([
    ['PUT', '/v2/cobv/abcdefghijklmnopqrstuvwxyz'],
    ['GET', '/v2/loc'],
    ['POST', '/v2/loc'],
    ['GET', '/v2/rec'],
    ['PUT', '/v2/gn/pix/1'],
  ])('403 AcessoNegado for the rest of the standard: %s %s', async (method, path) => {
    const { status, body } = await send(method, path, method === 'GET' ? undefined : {})
    expect([status, body.type]).toEqual([403, `${TYPES}AcessoNegado`])
  })

  test.each<[number, string, string, string, Sent]>([
    [401, 'no token', 'GET', `/v2/cob?${WIDE}`, { access: null }],
    [404, 'an unknown path', 'GET', '/v1/cob', {}],
    [405, 'another method', 'DELETE', '/v2/cob', {}],
    [405, 'another method for a token', 'GET', '/oauth/token', { access: null }],
    [400, 'no JSON', 'POST', '/v2/cob', { raw: '{' }],
    [400, 'no object', 'POST', '/v2/cob', { raw: '[]' }],
    [413, 'a large body', 'POST', '/v2/cob', { raw: JSON.stringify('x'.repeat(70_000)) }],
    [415, 'another type', 'POST', '/v2/cob', { raw: 'x', headers: { 'content-type': 'text/xml' } }],
    [414, 'a long query', 'GET', `/v2/cob?${WIDE}&x=${'x'.repeat(3_000)}`, {}],
  ])('%i for %s', async (status, _, method, path, options) => {
    const answer = await send(method, path, undefined, options)
    expect(answer.status).toBe(status)
    expect(answer.body.detail).not.toBe('')
  })

  test('403 for a suspended account', async () => {
    const suspended = await makeMerchant()
    const { access } = await makeClient(suspended.id)
    await db().account.update({ where: { id: suspended.id }, data: { status: 'suspended' } })
    const { status, body } = await send('GET', `/v2/cob?${WIDE}`, undefined, { access })
    expect([status, body.type]).toEqual([403, `${TYPES}AcessoNegado`])
  })
})

test.skipIf(!judge)('Banco Central’s document agrees with every request and answer', () => {
  const refused = verdicts.filter(({ outcome }) => outcome === 'refused')
  expect(
    refused.map(({ operation, part, objections }) => ({ operation, part, objections })),
  ).toEqual([])
  const accepted = verdicts.filter(({ outcome }) => outcome === 'accepted')
  expect(accepted.length).toBeGreaterThan(100)
})
