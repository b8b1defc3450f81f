import { once } from 'node:events'
import type { IncomingHttpHeaders, Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { createFront } from '#lib/http/front.ts'
import { clientIp } from '#lib/http/headers.ts'
import { closeRateLimits } from '#lib/http/rate-limit.ts'
import { CHARGE, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { testInTorture } from '#lib/testing/torture.ts'

interface ReceivedRequest {
  url: string
  headers: IncomingHttpHeaders
  raw: string[]
}

const fronts: Server[] = []
let token: string
beforeAll(async () => {
  token = await makeToken((await makeMerchant()).id)
})
afterEach(() => {
  supplyEnv({ TRUST_PROXY: '0', PUBLIC_URL: 'http://localhost:3000' })
})
afterAll(async () => {
  for (const front of fronts) {
    front.closeAllConnections()
    front.close()
  }
  await disconnect()
})

/** Starts the front with a stand-in for Next that responds with the received request as JSON. */
async function startFront(
  settings: Record<string, string> = {},
  isDevelopment = false,
): Promise<string> {
  supplyEnv(settings)
  const front = await createFront(
    async ({ url, headers, rawHeaders }, response) => {
      response.end(JSON.stringify({ url, headers, raw: rawHeaders }))
    },
    { isDevelopment },
  )
  fronts.push(front)
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  return `http://127.0.0.1:${(front.address() as AddressInfo).port}`
}

async function requestHome(
  origin: string,
  headers: Record<string, string>,
): Promise<ReceivedRequest> {
  return (await (await fetch(`${origin}/home`, { headers })).json()) as ReceivedRequest
}

describe('headers of every response', () => {
  const PATHS = ['/home', '/api/account', '/api/none', '/healthz', '/pay/none']

  test('with https, Strict-Transport-Security is set, also for malformed requests', async () => {
    const origin = await startFront({ PUBLIC_URL: 'https://troco.example' })
    for (const path of PATHS) {
      const { headers } = await fetch(origin + path)
      expect(headers.get('strict-transport-security'), path).toBe('max-age=63072000')
    }
    const response = await sendRaw(origin, 'NOT HTTP\r\n\r\n')
    expect(response).toContain('strict-transport-security: max-age=63072000\r\n')
  })

  test('with http, Strict-Transport-Security is not set', async () => {
    const origin = await startFront()
    for (const path of PATHS) {
      const { headers } = await fetch(origin + path)
      expect(headers.get('strict-transport-security'), path).toBeNull()
      expect(headers.get('x-content-type-options'), path).toBe('nosniff')
    }
    expect(await sendRaw(origin, 'NOT HTTP\r\n\r\n')).not.toContain('strict-transport')
  })

  test('Permissions-Policy allows passkeys on the own origin, and no camera, location or payment', async () => {
    const origin = await startFront()
    const { headers } = await fetch(`${origin}/home`)
    const policy = headers.get('permissions-policy')
    for (const name of ['publickey-credentials-get', 'publickey-credentials-create']) {
      expect(policy).toContain(`${name}=(self)`)
    }
    for (const name of ['camera', 'geolocation', 'microphone', 'payment']) {
      expect(policy).toContain(`${name}=()`)
    }
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('referrer-policy')).toBe('strict-origin-when-cross-origin')
  })
})

function sendRaw(origin: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => socket.write(text))
    let received = ''
    socket.on('data', chunk => {
      received += chunk
    })
    socket.on('end', () => resolve(received))
    socket.on('error', reject)
  })
}

describe('headers that a client forges', () => {
  const FORGED = {
    'x-troco-address': '6.6.6.6',
    'x-troco-anything': '1',
    'X-Real-IP': '6.6.6.6',
    forwarded: 'for=6.6.6.6',
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-middleware-subrequest': 'middleware:middleware',
    'x-nonce': 'mine',
    'content-security-policy': "script-src 'unsafe-inline'",
  }

  test('never pass the front, neither parsed nor raw', async () => {
    const { headers, raw } = await requestHome(await startFront(), FORGED)
    expect(JSON.stringify({ headers, raw })).not.toMatch(/6\.6\.6\.6|evil|mine|unsafe-inline'"/)
    expect(headers['x-troco-address']).toBe('127.0.0.1')
    expect(headers['x-forwarded-proto']).toBe('http')
    for (const name of ['x-troco-anything', 'x-real-ip', 'forwarded', 'x-middleware-subrequest'])
      expect(headers[name]).toBeUndefined()
    const names = raw.filter((_, index) => index % 2 === 0)
    expect(names.sort()).toEqual(Object.keys(headers).sort())
  })

  test('X-Forwarded-For is ignored without a proxy, else read as many hops back as configured', async () => {
    const chain = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 198.51.100.2' }
    const expected = ['127.0.0.1', '198.51.100.2', '203.0.113.9']
    for (const [hops, address] of expected.entries()) {
      const origin = await startFront({ TRUST_PROXY: `${hops}` })
      expect((await requestHome(origin, chain)).headers['x-troco-address']).toBe(address)
    }
  })

  test('do not change the address that a charge stores for its payer', async () => {
    const headers = {
      authorization: `Bearer ${token}`,
      'x-forwarded-for': '6.6.6.6, 203.0.113.9',
      'x-troco-address': '6.6.6.6',
    }
    for (const [hops, address] of ['127.0.0.1', '203.0.113.9'].entries()) {
      const origin = await startFront({ TRUST_PROXY: `${hops}` })
      const body = Buffer.from(JSON.stringify(CHARGE))
      const created = await fetch(`${origin}/api/transactions`, { method: 'POST', headers, body })
      const { data } = (await created.json()) as { data: { transaction_id: string } }
      const chargeResponse = await fetch(`${origin}/api/transactions/${data.transaction_id}`, {
        headers,
      })
      expect(((await chargeResponse.json()) as { data: { ip: string } }).data.ip).toBe(address)
    }
  })

  test.each([
    ['too few addresses', '203.0.113.9', 2, '10.0.0.1'],
    ['no header', '', 1, '10.0.0.1'],
    ['an entry that is not an address', 'unknown', 1, '10.0.0.1'],
    ['an IPv6 client', '2001:db8::1', 1, '2001:db8::1'],
    ['an IPv4 address in IPv6 notation', '::ffff:203.0.113.9', 1, '203.0.113.9'],
  ])(
    'with %s, the client address is the nearest trusted one',
    (_what, forwarded, hops, address) => {
      expect(clientIp('::ffff:10.0.0.1', forwarded, hops)).toBe(address)
    },
  )
})

describe('a page', () => {
  test('has its own nonce per response, and Next receives the same policy', async () => {
    const origin = await startFront()
    const nonces = new Set<string>()
    for (let count = 0; count < 3; count++) {
      const response = await fetch(`${origin}/home`)
      const policy = response.headers.get('content-security-policy') ?? ''
      const { headers } = (await response.json()) as ReceivedRequest
      expect(headers['content-security-policy']).toBe(policy)
      expect(policy).toContain(`'nonce-${headers['x-nonce']}'`)
      expect(policy).not.toContain('unsafe-eval')
      nonces.add(String(headers['x-nonce']))
    }
    expect(nonces.size).toBe(3)
  })

  test.each(['/', '/home?a=1', '/apis', '/api/auth/session', '/api/auth/signin/'])(
    'and everything else outside the API is handled by Next: %s',
    async path => {
      const response = await fetch((await startFront()) + path)
      expect(((await response.json()) as ReceivedRequest).url).toBe(path)
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    },
  )

  test('the API bypasses Next, except in development', async () => {
    const path = '/api/account/?a=1'
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch((await startFront()) + path, { headers })
    expect(await response.json()).toEqual({ name: 'Padaria do Teste', balance: 0 })
    const nextResponse = await fetch((await startFront({}, true)) + path, { headers })
    expect(((await nextResponse.json()) as ReceivedRequest).url).toBe('/api/account?a=1')
  })
})

describe('malformed HTTP gets a JSON error and a closed connection', () => {
  async function sendAndRead(origin: string, text: string) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    let received = ''
    socket.on('data', data => {
      received += data
    })
    socket.on('error', () => {})
    const startedAt = Date.now()
    socket.write(text)
    await once(socket, 'close')
    const [head = '', body = ''] = received.split('\r\n\r\n')
    return { head, body: body && JSON.parse(body), tookMs: Date.now() - startedAt }
  }

  const JSON_HEAD = /^content-type: application\/json; charset=utf-8$/im

  test.each([
    ['garbage', 'hello\r\n\r\n', 400, 'Malformed request'],
    [
      'a header without a name',
      'GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n',
      400,
      'Malformed request',
    ],
    [
      'two Content-Length headers',
      'POST /api/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
      400,
      'Malformed request',
    ],
    [
      'Content-Length and chunked encoding',
      'POST /api/transactions HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'Malformed request',
    ],
    [
      '40 KB of headers',
      `GET /api/account HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`,
      431,
      'Headers too large',
    ],
  ])('%s', async (_what, text, status, error) => {
    const response = await sendAndRead(await startFront(), text)
    expect(response.head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(response.head).toMatch(JSON_HEAD)
    expect(response.body).toEqual({ error })
    expect(response.tookMs).toBeLessThan(8_000)
  })

  testInTorture.concurrent.each([
    ['headers that never end', 'GET /api/account HTTP/1.1\r\nHost: a\r\nX-Slow: '],
    [
      'a body that never ends',
      () =>
        `POST /api/transactions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Length: 100\r\n\r\n{"amount":',
    ],
  ])('%s, after ten seconds', async (_what, text) => {
    const response = await sendAndRead(await startFront(), typeof text === 'string' ? text : text())
    expect(response.head).toMatch(/^HTTP\/1\.1 408 /)
    expect(response.head).toMatch(JSON_HEAD)
    expect(response.body).toEqual({ error: 'Request timed out' })
    expect(response.tookMs).toBeGreaterThan(9_000)
    expect(response.tookMs).toBeLessThan(20_000)
  })

  test('a WebSocket upgrade is ignored', async () => {
    const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n'
    const response = await sendAndRead(
      await startFront(),
      `GET /api/account HTTP/1.1\r\nHost: a\r\n${upgrade}Sec-WebSocket-Version: 13\r\n\r\n`,
    )
    expect(response.head).toMatch(/^HTTP\/1\.1 401 /)
    expect(response.head).toMatch(JSON_HEAD)
  })

  test.each(['0.9', '2.0'])('an unsupported HTTP version: %s', async version => {
    const response = await sendAndRead(
      await startFront(),
      `GET /login HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    expect(response.head).toMatch(/^HTTP\/1\.1 400 /)
    expect(response.head).toMatch(JSON_HEAD)
    expect(response.body).toEqual({ error: 'Malformed request' })
  })

  test('the server continues afterwards', async () => {
    const origin = await startFront()
    await sendAndRead(origin, 'hello\r\n\r\n')
    expect((await fetch(`${origin}/healthz`)).status).toBe(200)
  })
})

describe('a body that nobody reads', () => {
  test.each([
    ['GET', '/healthz', 200],
    ['GET', '/login', 411],
    ['GET', '/api/account', 401],
    ['POST', '/api/none', 404],
    ['POST', '/pay/none', 405],
    ['POST', '/healthz', 417, 'Expect: a\r\n'],
  ])(
    'of %s %s ends with its connection, soon after %i',
    async (method, path, status, more = '') => {
      const socket = connect(Number(new URL(await startFront()).port), '127.0.0.1')
      let received = ''
      socket.on('data', data => {
        received += data
      })
      socket.on('error', () => {})
      const startedAt = Date.now()
      const lines = [`${method} ${path} HTTP/1.1`, 'Host: a', 'Transfer-Encoding: chunked', '', '']
      socket.write(lines.join('\r\n').replace('\r\n', `\r\n${more}`))
      const timer = setInterval(() => socket.write('1\r\n \r\n'), 20)
      await once(socket, 'close')
      clearInterval(timer)
      expect(received).toContain(`HTTP/1.1 ${status} `)
      expect(Date.now() - startedAt).toBeLessThan(8_000)
    },
  )
})

describe('requests that pages do not accept', () => {
  let origin: string
  beforeAll(async () => {
    origin = await startFront()
  })

  test('a page refuses other methods than GET and HEAD with 405', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await fetch(`${origin}/login`, { method })
      expect([response.status, response.headers.get('allow')], method).toEqual([405, 'GET, HEAD'])
    }
  })

  test('a form above 64 KiB or of unknown length is refused before its body is read', async () => {
    const url = `${origin}/api/auth/callback/credentials`
    const large = await fetch(url, { method: 'POST', body: 'a'.repeat(64 * 1024 + 1) })
    expect([large.status, await large.json()]).toEqual([413, { error: 'Payload too large' }])
    const body = new Blob(['email=a']).stream()
    const endless = await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect([endless.status, await endless.json()]).toEqual([411, { error: 'Length required' }])
    const form = new URLSearchParams({ email: 'a' })
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(200)
  })

  test("a request target that is not a path gets 400; the server's absolute URL is accepted", async () => {
    expect(
      await sendUntilClosed(origin, 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    ).toMatch(/^HTTP\/1\.1 400 [\s\S]*\{"error":"Malformed request"\}$/)
    const absolute =
      'GET http://localhost:3000/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    expect(await sendUntilClosed(origin, absolute)).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*\{"status":"ok"\}/,
    )
  })
})

describe('a request on which Next would fail gets 400 before Next', () => {
  const PATHS = [
    '/reset/%ff',
    '/%',
    '/join/a%00',
    '/test/charges/%ed%a0%80',
    '/api/auth/%zz',
    '/_next/%',
    '/_global-error',
    '/_global-error/?a=b',
  ]
  const STATE = { 'next-router-state-tree': '%5B%22%22%5D' }

  test('a malformed path or router state', async () => {
    const origin = await startFront()
    for (const path of PATHS) {
      const response = await fetch(origin + path)
      expect([response.status, await response.json()], path).toEqual([
        400,
        { error: 'Malformed request' },
      ])
    }
    expect((await fetch(`${origin}/login`, { headers: STATE })).status).toBe(400)
  })

  test('a kind of prefetch that no page sends', async () => {
    const origin = await startFront()
    for (const [value, status] of [
      ['1', 200],
      ['2', 400],
      ['3', 400],
      ['', 400],
      ['1, 1', 400],
    ] as const) {
      const headers = { rsc: '1', 'next-router-prefetch': value }
      expect((await fetch(`${origin}/login`, { headers })).status, value).toBe(status)
    }
  })

  test('a path of next-auth in another spelling, which would bypass the limits of a sign-in', async () => {
    const origin = await startFront()
    for (const path of [
      '/callback/%63redentials',
      '/%63allback/credentials',
      '/callback%2fcredentials',
      '/callback/credentials/x',
      '/callback/credentials/%20',
      '/callback/credentials.rsc',
      '/callback/credentials;x',
      '/callback\\credentials',
    ]) {
      for (const method of ['GET', 'POST']) {
        const head = `${method} /api/auth${path} HTTP/1.1\r\nHost: localhost`
        const text = await sendUntilClosed(origin, `${head}\r\nConnection: close\r\n\r\n`)
        expect(text, path).toMatch(/^HTTP\/1\.1 400 [\s\S]*\{"error":"Malformed request"\}$/)
      }
    }
    for (const path of [
      '/callback/credentials?step',
      '/_log',
      '/signin/openid',
      '/callback/oidc',
    ]) {
      expect((await fetch(`${origin}/api/auth${path}`)).status, path).toBe(200)
    }
  })

  test('browsers get a small page in the language that they chose, else prefer', async () => {
    const origin = await startFront()
    for (const [language, cookie, title] of [
      ['pt-BR,pt;q=0.9', '', 'Este endereço não funciona'],
      ['de', '', 'This address does not work'],
      ['de', 'a=b; troco-locale=pt-BR', 'Este endereço não funciona'],
      ['pt', 'troco-locale=en; a=b', 'This address does not work'],
    ]) {
      const headers = { accept: 'text/html,*/*', 'accept-language': language, cookie }
      const response = await fetch(`${origin}/reset/%ff`, { headers } as RequestInit)
      expect(response.status).toBe(400)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(await response.text()).toContain(`<h1>${title}</h1>`)
    }
  })

  test('a range is not passed on, because a server may ignore it', async () => {
    const { headers } = await requestHome(await startFront(), {
      range: 'bytes=9-1',
      'if-range': '"a"',
    })
    expect([headers.range, headers['if-range']]).toEqual([undefined, undefined])
  })

  test('of a user agent, Next gets the first 1,000 characters', async () => {
    const origin = await startFront()
    const { headers, raw } = await requestHome(origin, { 'user-agent': 'x'.repeat(20_000) })
    expect(headers['user-agent']).toBe('x'.repeat(1_000))
    expect(JSON.stringify(raw).length).toBeLessThan(3_000)
  })

  test('a sign-in in another format than a form gets 415', async () => {
    const url = `${await startFront()}/api/auth/callback/credentials`
    const types = ['application/json', 'multipart/form-data; boundary=x', 'text/plain', '']
    for (const type of types) {
      const request = { method: 'POST', body: '{', headers: { 'content-type': type } }
      expect((await fetch(url, request)).status, type).toBe(415)
    }
    expect(
      (await fetch(url, { method: 'POST', body: new URLSearchParams({ a: 'b' }) })).status,
    ).toBe(200)
  })
})

describe('a request that is larger than any client needs', () => {
  const BOUND = { '2,048 bytes': `a=${'x'.repeat(2_046)}`, '50 pairs': `${'a=1&'.repeat(49)}b` }
  const KINDS = [
    ...[
      '/home',
      '/none',
      '/api/auth/session',
      '/api/none',
      '/api/account',
      '/pay/none',
      '/docs/en',
    ],
    '/api/openapi.json',
    '/healthz',
    '/icon.svg',
    '/api/banks/x/notices/y',
  ]

  test('gets 414 for its query on every path, and up to the bound what it asks for', async () => {
    const origin = await startFront()
    for (const path of KINDS) {
      for (const query of Object.values(BOUND)) {
        expect((await fetch(`${origin}${path}?${query}`)).status, path).not.toBe(414)
        const { status, headers } = await fetch(`${origin}${path}?${query}&c`)
        expect([status, headers.get('x-error-code')], path).toEqual([414, 'uri_too_long'])
        expect(headers.get('x-request-id'), path).toMatch(/^[0-9a-f-]{36}$/)
      }
    }
  })

  test('is told so by a page in a browser, by JSON in the API', async () => {
    const origin = await startFront()
    const headers = { accept: 'text/html', 'accept-language': 'pt-BR' }
    const query = '?a'.padEnd(3_000, '&a')
    expect(await (await fetch(`${origin}/home${query}`, { headers })).text()).toContain(
      '<h1>Este endereço é longo demais</h1>',
    )
    const api = await fetch(`${origin}/api/account${query}`, { headers })
    expect(await api.json()).toEqual({
      error: 'URI too long: send a query of at most 2048 bytes and 50 parameters',
    })
    const path = await fetch(`${origin}/${'a'.repeat(3_000)}`, { headers })
    expect([path.status, await path.text()]).toEqual([414, expect.stringContaining('longo')])
  })

  test('of its cookies, only those that Troco sets pass, each once and without parts', async () => {
    const parts = Array.from({ length: 1_000 }, (_, index) => `troco-session.${index}=A`)
    const own = 'troco-session=a; troco-openid-state=b=c; troco-locale=en'
    const cookie = [...parts, 'other=1', own, 'troco-session=z', `troco-csrf=${'x'.repeat(5_000)}`]
    const { headers, raw } = await requestHome(await startFront(), { cookie: cookie.join('; ') })
    expect(headers.cookie).toBe(own)
    expect(raw[raw.indexOf('cookie') + 1]).toBe(own)
  })

  test('of its headers, no long one passes to Next, and 251 are refused', async () => {
    const origin = await startFront()
    const { headers } = await requestHome(origin, { referer: 'x'.repeat(3_000), 'x-a': 'short' })
    expect([headers.referer, headers['x-a']]).toEqual([undefined, 'short'])
    const many = 'X: 1\r\n'.repeat(249)
    for (const [more, status] of [
      ['', 200],
      ['X: 1\r\n', 431],
    ] as const) {
      const head = `GET /healthz HTTP/1.1\r\nHost: a\r\n${many}${more}`.replace('X: 1\r\n', '')
      const text = await sendUntilClosed(origin, `${head}Connection: close\r\n\r\n`)
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    }
  })
})

describe('what proxies and this server could read in two ways is refused', () => {
  const send = async (head: string) =>
    sendUntilClosed(await startFront(), `${head}\r\nConnection: close\r\n\r\n`)

  test('two Host headers, whatever they say', async () => {
    for (const second of ['Host: b', 'Host: a', 'hOST:a', 'Host:']) {
      const text = await send(`GET /healthz HTTP/1.1\r\nHost: a\r\n${second}`)
      expect(text, second).toMatch(/^HTTP\/1\.1 400 [\s\S]*\{"error":"Malformed request"\}$/)
    }
  })

  test('a notice of a bank under another spelling of its path', async () => {
    const id = '01a1fbc9-1d4c-7b30-a5f2-8e6d3c0b9a71'
    const notices = `${id}/notices/secret`
    for (const target of [
      `/api//banks/${notices}`,
      `//api/banks/${notices}`,
      `/api/banks//${notices}/pix`,
      `http://a/x/../api/banks/${notices}`,
    ]) {
      const text = await send(`POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0`)
      expect(text, target).toMatch(/^HTTP\/1\.1 40[045] /)
    }
  })

  test('a target in absolute form keeps its dots, which pages refuse', async () => {
    expect(await send('GET http://a/x/../healthz HTTP/1.1\r\nHost: a')).toMatch(/ 400 /)
    expect(await send('GET http://a?b HTTP/1.1\r\nHost: a')).toMatch(/ 200 /)
    expect(await send('GET http://a\\healthz HTTP/1.1\r\nHost: a')).toMatch(/ 400 /)
  })
})

describe('a client that expects 100 Continue', () => {
  const HEAD = (path: string, lines: string[]) =>
    [`POST ${path} HTTP/1.1`, 'Host: a', 'Expect: 100-continue', ...lines, '', ''].join('\r\n')
  const JSON_TYPE = 'Content-Type: application/json'

  test('sends no body that would be refused without it', async () => {
    const bearer = `Authorization: Bearer ${token}`
    for (const [status, path, lines] of [
      [401, '/api/transactions', ['Content-Length: 9', JSON_TYPE]],
      [413, '/api/transactions', ['Content-Length: 99999', JSON_TYPE, bearer]],
      [415, '/api/transactions', ['Content-Length: 9', 'Content-Type: text/plain', bearer]],
      [405, '/api/account', ['Content-Length: 9', JSON_TYPE, bearer]],
      [404, '/api/none', ['Content-Length: 9', JSON_TYPE]],
      [413, '/api/auth/callback/credentials', ['Content-Length: 99999']],
      [405, '/login', ['Content-Length: 9']],
    ] as const) {
      const text = await sendUntilClosed(await startFront(), HEAD(path, [...lines]))
      expect(text, path).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(text, path).not.toContain('100 Continue')
    }
  })

  test('is asked for a body that is wanted', async () => {
    const body = JSON.stringify(CHARGE)
    const lines = [`Content-Length: ${Buffer.byteLength(body)}`, JSON_TYPE, 'Connection: close']
    for (const [path, more] of [
      ['/api/transactions', `Authorization: Bearer ${token}`],
      ['/api/auth/signout', 'Content-Type: application/x-www-form-urlencoded'],
    ] as const) {
      const origin = await startFront()
      const socket = connect(Number(new URL(origin).port), '127.0.0.1')
      let received = ''
      socket.on('data', data => {
        if (received === '') socket.write(body)
        received += data
      })
      const sent = path.startsWith('/api/auth') ? lines.filter(line => line !== JSON_TYPE) : lines
      socket.write(HEAD(path, [...sent, more]))
      await once(socket, 'close')
      expect(received, path).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
    }
  })
})

describe('compression', () => {
  async function readEncoding(path: string, headers: Record<string, string> = {}) {
    const front = await createFront(async (_, response) => {
      response.setHeader('content-type', 'text/html').end('page '.repeat(1_000))
    })
    fronts.push(front)
    await once(front.listen(0, '127.0.0.1'), 'listening')
    const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
    const response = await fetch(origin + path, { headers })
    await response.text()
    return response.headers.get('content-encoding')
  }

  test('pages of Next and for anyone are compressed', async () => {
    expect(await readEncoding('/test/charges')).toBe('gzip')
    expect(await readEncoding('/pay/none')).toBe('gzip')
  })

  test('of the API, what declares it is compressed, and nothing of next-auth', async () => {
    const headers = { authorization: `Bearer ${token}` }
    const origin = await startFront()
    for (let nth = 0; nth < 3; nth++) {
      const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } }
      await fetch(`${origin}/api/transactions`, { ...init, body: JSON.stringify(CHARGE) })
    }
    expect(await readEncoding('/api/transactions', headers)).toBe('gzip')
    expect(await readEncoding('/api/account', headers)).toBeNull()
    expect(await readEncoding('/api/auth/csrf')).toBeNull()
  })

  test('a page that another site requests is not compressed', async () => {
    expect(await readEncoding('/test/charges', { 'sec-fetch-site': 'cross-site' })).toBeNull()
  })
})

describe("an address's limit", () => {
  const LIMITS = { RATE_IP_PER_SECOND: '1', RATE_IP_BURST: '3' }
  beforeEach(closeRateLimits)
  afterEach(() => {
    supplyEnv({ RATE_IP_PER_SECOND: '0', RATE_IP_BURST: '0' })
    closeRateLimits()
  })

  test.each(['/home', '/none', '/reset/%ff', '/api/auth/session', '/_next/image'])(
    'counts %s, together with the API',
    async path => {
      const origin = await startFront(LIMITS)
      const statuses: number[] = []
      for (const next of ['/api/account', path, path, path, path])
        statuses.push((await fetch(origin + next)).status)
      expect(statuses.slice(0, 3)).not.toContain(429)
      expect(statuses.at(-1)).toBe(429)
      expect((await fetch(`${origin}/api/account`)).status).toBe(429)
    },
  )

  test('answers a browser with a page that says when to try again', async () => {
    const origin = await startFront(LIMITS)
    const headers = { accept: 'text/html', 'accept-language': 'pt-BR' }
    let response = await fetch(`${origin}/home`, { headers })
    while (response.status === 200) response = await fetch(`${origin}/home`, { headers })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(response.headers.get('ratelimit')).toMatch(/^"ip";r=0;t=\d+$/)
    expect(await response.text()).toContain(
      `Espere ${response.headers.get('retry-after')} s e recarregue esta página.`,
    )
    const plain = await fetch(`${origin}/home`)
    expect([plain.status, await plain.json()]).toEqual([429, { error: 'Too Many Requests' }])
  })

  test('counts documents, which are compressed once', async () => {
    for (const path of [
      '/api/openapi.json',
      '/docs',
      '/docs/en',
      '/docs/en/search.json',
      '/llms.txt',
    ]) {
      closeRateLimits()
      const origin = await startFront(LIMITS)
      const statuses: number[] = []
      for (let count = 0; count < 5; count++)
        statuses.push((await fetch(origin + path, { redirect: 'manual' })).status)
      expect(statuses.at(-1), path).toBe(429)
    }
  })

  test('leaves out files, health checks and other addresses', async () => {
    const origin = await startFront({ ...LIMITS, TRUST_PROXY: '1' })
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    for (const path of ['/_next/static/a.js', '/icon.svg', '/docs/assets/reader.js', '/healthz']) {
      for (let count = 0; count < 6; count++)
        expect((await fetch(origin + path, from('192.0.2.1'))).status, path).toBe(200)
    }
    for (let count = 0; count < 6; count++) await fetch(`${origin}/home`, from('192.0.2.1'))
    expect((await fetch(`${origin}/home`, from('192.0.2.1'))).status).toBe(429)
    expect((await fetch(`${origin}/home`, from('192.0.2.2'))).status).toBe(200)
  })
})

async function sendUntilClosed(origin: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  let received = ''
  socket.on('data', chunk => {
    received += chunk
  })
  socket.write(bytes)
  await once(socket, 'close')
  return received
}
