import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { call, sendRaw } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  makeMerchant,
  makeToken,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'

const RESPONSE_MAX_MS = 20_000
const UNAUTHENTICATED = '{"error":"Unauthenticated"}'
const MALFORMED = '{"error":"Malformed request"}'

let api: Api
let merchant: Account
let token: string
let account: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  account = `{"name":"${merchant.name}","balance":0}`
})
afterAll(() => api.close())

const bearer = (text = token) => `Authorization: Bearer ${text}\r\n`
const get = (target: string, headers = bearer(), method = 'GET') =>
  sendRaw(api.url, `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`)
const sendBytes = (text: string) => sendRaw(api.url, Buffer.from(text, 'latin1'))

function expectJson({ head, tookMs }: { head: string; tookMs: number }): void {
  expect(head).toMatch(/^content-type: application\/json; charset=utf-8$/im)
  expect(tookMs).toBeLessThan(RESPONSE_MAX_MS)
}

describe('malformed HTTP gets a JSON error and the connection ends', () => {
  test.each([
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/3', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n'],
    ['an invalid version', 'GET /api/account HTTP/1.x\r\nHost: a\r\n\r\n'],
    ['an unknown method', 'STEAL /api/account HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a lower-case method', 'get /api/account HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a target with a space', 'GET /api/acc ount HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a target in Latin-1', 'GET /api/transactions/\xe9 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a NUL in the target', 'GET /api/account\0 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a NUL in a header', 'GET /api/account HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n'],
    ['a folded header', 'GET /api/account HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n'],
    ['a space before the colon', 'GET /api/account HTTP/1.1\r\nHost : a\r\n\r\n'],
    ['a bare line feed', 'GET /api/account HTTP/1.1\nHost: a\nX: \rb\n\n'],
    [
      'a negative length',
      'POST /api/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
    ],
    [
      'a length with a sign',
      'POST /api/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n{}',
    ],
    [
      'a length of 30 digits',
      `POST /api/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: ${'9'.repeat(30)}\r\n\r\n`,
    ],
    [
      'a transfer coding other than chunked',
      'POST /api/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
    ],
    [
      'chunked twice',
      'POST /api/transactions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n',
    ],
    ['no Host', 'GET /api/account HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['an invalid Host', `GET /api/account HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n`],
    [
      'an unknown Expect',
      `GET /api/account HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: money\r\n\r\n`,
    ],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('%s', async (_what, bytes) => {
    const response = await sendBytes(bytes)
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(response.status).toBeLessThan(500)
    expectJson(response)
    expect(JSON.parse(response.text)).toEqual({ error: expect.stringMatching(/^[A-Z]/) })
  })

  test('431 for headers of 100 KB, in one piece and in thousands', async () => {
    const long = `X-Long: ${'x'.repeat(100_000)}\r\n`
    const many = Array.from({ length: 10_000 }, (_, index) => `X-${index}: 1\r\n`).join('')
    for (const headers of [long, many, `Cookie: ${'a=b; '.repeat(20_000)}\r\n`]) {
      const response = await get('/api/account', headers)
      expect([response.status, response.text]).toEqual([431, '{"error":"Headers too large"}'])
      expectJson(response)
    }
    expect((await get(`/api/account?${'x'.repeat(100_000)}`)).status).toBe(431)
  })

  test('the server still responds afterwards', async () => {
    expect((await get('/api/account')).text).toBe(account)
  })
})

describe('a method that the API does not have', () => {
  test.each(['TRACE', 'QUERY', 'PROPFIND', 'LINK', 'PURGE', 'SEARCH', 'M-SEARCH'])(
    '%s is 405 for permitted callers, 401 for others, and echoes no header',
    async method => {
      const secret = 'Cookie: troco-session=must-not-come-back\r\n'
      const known = await get('/api/account', bearer() + secret, method)
      expect([known.status, known.text]).toEqual([405, '{"error":"Method not allowed"}'])
      expect(known.head).toMatch(/^allow: GET, HEAD$/im)
      const unknown = await get('/api/account', secret, method)
      expect([unknown.status, unknown.text]).toEqual([401, UNAUTHENTICATED])
      for (const response of [known, unknown]) {
        expectJson(response)
        expect(response.head + response.text).not.toContain('must-not-come-back')
      }
    },
  )
})

describe('a target', () => {
  test.each([
    ['http://localhost:3000/api/account'],
    ['HTTP://LOCALHOST/api/account?a=1'],
    ['http://evil.example/api/account'],
    ['/api/account/'],
    ['/api/account//'],
    ['/api/account?//'],
  ])('%s is /api/account', async target => {
    const response = await get(target)
    expect([response.status, response.text]).toEqual([200, account])
  })

  test.each([
    ['/api//account', 200],
    ['/api/./account', 404],
    ['/api/x/../account', 404],
    ['/api/%61ccount', 404],
    ['/api/account%00', 404],
    ['/api/account%2f', 404],
    ['/api/account;a=1', 404],
    ['/api/ACCOUNT', 404],
    ['/api/account.json', 404],
    ['/api/account/route', 404],
    ['/api/transactions/[id]', 404],
    ['/api/_next/data/x/account.json', 404],
    ['/api/%E0%A4%A', 404],
    ['/api/transactions/%00', 404],
    ['/api/transactions/..%2f..%2faccount', 404],
    ['/api/transactions/%2e%2e/account', 404],
    ['/api/transactions/%252e%252e', 404],
    ['/api/transactions/..', 404],
    ['/api/transactions/%2e%2e', 404],
    ['/api/account#x', 404],
  ])('%s is %i in JSON, and 401 or 404 without a token', async (target, status) => {
    const response = await get(target)
    expect(response.status).toBe(status)
    expectJson(response)
    const unauthenticated = await get(target, '')
    expect([401, 404]).toContain(unauthenticated.status)
    expect(unauthenticated.text).not.toContain(merchant.name)
  })

  test.each([
    '//api/account',
    '///api/account',
    '/\\api/account',
    '/./api/account',
    '*',
    'account',
  ])('%s is not the API: the response has nothing of the account', async target => {
    const response = await get(target)
    expect(response.status).toBeGreaterThanOrEqual(300)
    expect(response.status).toBeLessThan(500)
    expect(response.text).not.toContain(merchant.name)
    expect(response.head).not.toMatch(/^location: (\/\/|https?:)/im)
  })
})

describe('repeated headers', () => {
  test('of two Authorization headers the first counts, so that a proxy’s is not replaced', async () => {
    const other = await makeToken((await makeMerchant('Outra Loja')).id)
    expect((await get('/api/account', bearer() + bearer(other))).text).toBe(account)
    expect((await get('/api/account', bearer('nobody') + bearer())).text).toBe(UNAUTHENTICATED)
  })

  test('two Hosts and two Content-Types are refused', async () => {
    const body = JSON.stringify(CHARGE)
    const types = 'Content-Type: text/plain\r\nContent-Type: application/json\r\n'
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`
    const response = await sendBytes(
      `POST /api/transactions HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n${bearer()}${types}${length}\r\n${body}`,
    )
    expect([400, 415]).toContain(response.status)
    expectJson(response)
  })

  test('two lengths, or a length and chunks, smuggle no second request', async () => {
    const hidden = `GET /api/account HTTP/1.1\r\nHost: a\r\n${bearer()}\r\n`
    const head = `POST /api/transactions HTTP/1.1\r\nHost: a\r\n${bearer()}`
    for (const lengths of [
      `Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n`,
      `Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked\r\n`,
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
      'Transfer-Encoding: \x0bchunked\r\n',
    ]) {
      const response = await sendBytes(`${head}${lengths}\r\n0\r\n\r\n${hidden}`)
      expect([response.status, response.text]).toEqual([400, MALFORMED])
    }
  })
})

describe('one connection', () => {
  test('responds to pipelined requests in order, each by its own token', async () => {
    const other = await makeToken((await makeMerchant('Outra Loja')).id)
    const buildRequest = (text: string, end = '') =>
      `GET /api/account HTTP/1.1\r\nHost: a\r\n${text}${end}\r\n`
    const requests = [bearer(), bearer('nobody'), bearer(other), '']
      .map(text => buildRequest(text))
      .join('')
    const { responses } = await sendBytes(
      requests + buildRequest(bearer(), 'Connection: close\r\n'),
    )
    const names = [merchant.name, '', 'Outra Loja', '', merchant.name]
    expect(responses.map(({ status, text }) => [status, text])).toEqual(
      names.map(name => (name ? [200, `{"name":"${name}","balance":0}`] : [401, UNAUTHENTICATED])),
    )
  })

  test('that ends within a request never executes the incomplete one', async () => {
    const body = JSON.stringify({ ...CHARGE, external_id: 'whole' })
    const head = `POST /api/transactions HTTP/1.1\r\nHost: a\r\n${bearer()}`
    const buildRequest = (text: string) => `${head}Content-Length: ${text.length}\r\n\r\n${text}`
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.end(buildRequest(body) + buildRequest(body.replace('whole', 'broken')).slice(0, -1))
    socket.resume()
    await new Promise(resolve => socket.on('close', resolve))
    const find = (name: string) => call(api.url, 'GET', `/transactions/${name}`, { token })
    // The complete request may or may not be executed: its response cannot be sent.
    expect([200, 404]).toContain((await find('whole')).status)
    expect((await find('broken')).status).toBe(404)
  })

  test('does not reuse the token of its first request', async () => {
    const first = `GET /api/account HTTP/1.1\r\nHost: a\r\n${bearer()}\r\n`
    const second = 'GET /api/account HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const { responses } = await sendBytes(first + second)
    expect(responses.map(({ text }) => text)).toEqual([account, UNAUTHENTICATED])
  })
})
