import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import {
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { supplyEnv } from '#lib/core/settings.ts'
import { makeCertificate } from '#lib/testing/certificate.ts'
import { type Listener, listen, openCanaries, openListener } from '#lib/testing/listeners.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { closeConnections, postWebhook, type WebhookRequest } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import type { ResolveName } from '#lib/webhooks/target.ts'

type Options = Parameters<typeof postWebhook>[1]

const opened: { close(): Promise<void> }[] = []
beforeEach(() => supplyEnv({ TROCO_ENV: 'local', WEBHOOK_ALLOW_CIDRS: '' }))
afterEach(async () => {
  closeConnections()
  await Promise.all(opened.splice(0).map(resource => resource.close()))
})

function resolveTo(...addresses: string[]): ResolveName {
  return async () => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
}

async function post(url: string, options?: Options, overrides: Partial<WebhookRequest> = {}) {
  const sent = { url, mode: 'test', headers: {}, body: '{"paid":true}', ...overrides } as const
  const outcome = await postWebhook(sent, options)
  return { ...outcome, problem: problemText(outcome.problem) }
}

async function closeAfterTest(listener: Promise<Listener>): Promise<Listener> {
  const opener = await listener
  opened.push(opener)
  return opener
}

function openHttp(handle: RequestListener, host?: string, port?: number): Promise<Listener> {
  return closeAfterTest(listen(createServer(handle), host, port))
}

function openTls(options: TlsOptions, handle: RequestListener): Promise<Listener> {
  return closeAfterTest(listen(createTlsServer(options, handle)))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const ok: RequestListener = (request, response) => {
  request.resume()
  response.end('thanks')
}

describe('a request', () => {
  test('arrives unchanged with the host name of its URL, and the response is stored', async () => {
    const seen: Record<string, unknown>[] = []
    const { port } = await openHttp(async (request, response) => {
      const { method, url, headers } = request
      seen.push({ method, url, headers, text: await textOf(request) })
      response.writeHead(201, { 'x-receiver': 'shop' }).end('thanks')
    })
    const body = '{"payer":"José 💚"}'
    const outcome = await post(
      `http://shop.example:${port}/hook/pix?a=1&b=%20#part`,
      {
        resolve: resolveTo('127.0.0.1'),
      },
      { body, headers: { 'Content-Type': 'application/json', 'webhook-id': 'evt_1' } },
    )
    expect(outcome).toMatchObject({
      status: 201,
      body: 'thanks',
      problem: null,
      address: '127.0.0.1',
      retryAfterMs: null,
      headers: { 'x-receiver': 'shop' },
    })
    expect(outcome.durationMs).toBeGreaterThanOrEqual(0)
    expect(seen).toEqual([
      {
        method: 'POST',
        url: '/hook/pix?a=1&b=%20',
        text: body,
        headers: {
          'user-agent': 'Troco-Webhooks/1',
          'accept-encoding': 'identity',
          'content-type': 'application/json',
          'webhook-id': 'evt_1',
          host: `shop.example:${port}`,
          'content-length': String(Buffer.byteLength(body)),
          connection: 'keep-alive',
        },
      },
    ])
  })

  test("has the caller's headers, except host, framing and cookies", async () => {
    let headers: IncomingMessage['headers'] = {}
    const { port } = await openHttp((request, response) => {
      headers = request.headers
      ok(request, response)
    })
    const requestHeaders = {
      'User-Agent': 'Mine/2',
      Host: 'other.example',
      'Content-Length': '3',
      'Transfer-Encoding': 'chunked',
      Expect: '100-continue',
      Cookie: 'a=b',
    }
    expect(
      (await post(`http://127.0.0.1:${port}/`, {}, { headers: requestHeaders })).problem,
    ).toBeNull()
    expect(headers).toMatchObject({ 'user-agent': 'Mine/2', host: `127.0.0.1:${port}` })
    expect(headers['content-length']).toBe('13')
    expect(Object.keys(headers)).not.toContain('expect')
    expect(Object.keys(headers)).not.toContain('cookie')
    expect(Object.keys(headers)).not.toContain('transfer-encoding')
  })

  test('that cannot be made returns a problem and never throws', async () => {
    const { port } = await openHttp(ok)
    const broken = { headers: { 'x-broken': 'a\r\nb: c' } }
    expect((await post(`http://127.0.0.1:${port}/`, {}, broken)).problem).toBe(
      'The receiver could not be called',
    )
    expect((await post('no url')).problem).toBe('The address of the webhook is not a URL')
    expect((await post('http://10.0.0.1/')).problem).toContain('is private')
  })

  test.each([200, 201, 202, 204, 299])('with the response %i is delivered', async status => {
    const { port } = await openHttp((_request, response) => response.writeHead(status).end())
    const outcome = await post(`http://127.0.0.1:${port}/`)
    expect(outcome).toMatchObject({ status, problem: null, body: '' })
  })

  test.each([300, 304, 400, 401, 404, 410, 429, 500, 503])(
    'with the response %i is not delivered',
    async status => {
      const { port } = await openHttp((_request, response) => response.writeHead(status).end())
      const outcome = await post(`http://127.0.0.1:${port}/`)
      expect(outcome).toMatchObject({
        status,
        problem: `The receiver answered ${status}: a webhook is received with a status from 200 to 299`,
      })
    },
  )

  test.each([
    [503, '120', 120_000],
    [429, '0', 0],
    [500, '999999999', 3_600_000],
    [503, () => new Date(Date.now() + 600_000).toUTCString(), 600_000],
    [503, () => new Date(Date.now() + 86_400_000).toUTCString(), 3_600_000],
    [503, 'Sun, 06 Nov 1994 08:49:37 GMT', 0],
    [503, 'soon', null],
    [503, '-5', null],
    [503, '1.5', null],
    [503, '', null],
    [200, '120', null],
  ])('with the response %i heeds the Retry-After "%s"', async (status, value, expected) => {
    const text = typeof value === 'string' ? value : value()
    const { port } = await openHttp((_request, response) =>
      response.writeHead(status, { 'retry-after': text }).end(),
    )
    const { retryAfterMs } = await post(`http://127.0.0.1:${port}/`)
    if (expected === null) expect(retryAfterMs).toBeNull()
    else
      expect(Math.abs((retryAfterMs ?? -1e9) - expected)).toBeLessThan(
        expected === 600_000 ? 60_000 : 1,
      )
  })

  test('is interrupted when the process stops', async () => {
    const { port, hits } = await closeAfterTest(openListener(() => {}))
    const url = `http://127.0.0.1:${port}/`
    expect(await post(url, { signal: AbortSignal.abort() })).toMatchObject({
      problem: 'Interrupted',
      status: null,
      address: null,
    })
    expect(hits()).toBe(0)
    const controller = new AbortController()
    const waiting = post(url, { signal: controller.signal })
    await expect.poll(hits, { timeout: 10_000 }).toBe(1)
    controller.abort()
    expect(await waiting).toMatchObject({ problem: 'Interrupted', status: null })
    const lookupController = new AbortController()
    const silent: ResolveName = () => new Promise(() => lookupController.abort())
    const outcome = await post('http://shop.example/', {
      signal: lookupController.signal,
      resolve: silent,
    })
    expect(outcome.problem).toBe('Interrupted')
  })
})

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])('with %i is a failure and is not followed', async status => {
    const canaries = await openCanaries()
    opened.push(canaries)
    supplyEnv({ WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' })
    for (const host of ['127.0.0.1', '127.0.0.2', '[::1]']) {
      const location = `http://${host}:${canaries.port}/inner`
      const { port } = await openHttp((_request, response) =>
        response.writeHead(status, { location }).end(),
      )
      expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({
        status,
        problem: `The receiver redirects to another address (${status}): give the final address`,
        headers: { location },
      })
    }
    expect(canaries.hits()).toBe(0)
  })
})

describe('with TLS', () => {
  const shop = makeCertificate(['shop.example'])
  const machine = makeCertificate(['127.0.0.1'])
  const expired = makeCertificate(['shop.example'], new Date(Date.now() - 86_400_000))
  const trusted = getCACertificates('default')
  const resolve = resolveTo('127.0.0.1')
  beforeEach(() => {
    setDefaultCACertificates([...trusted, shop.cert, machine.cert, expired.cert])
  })
  afterAll(() => setDefaultCACertificates(trusted))

  test('certificate, SNI and Host are checked for the name, on the resolved address', async () => {
    let seen: unknown
    const { port } = await openTls(shop, (request, response) => {
      const { servername, getProtocol } = request.socket as TLSSocket
      seen = [servername, getProtocol.call(request.socket), request.headers.host]
      ok(request, response)
    })
    for (const name of ['shop.example', 'shop.example.']) {
      const outcome = await post(`https://${name}:${port}/`, { resolve }, { mode: 'live' })
      expect(outcome).toMatchObject({ status: 200, problem: null, address: '127.0.0.1' })
      expect(seen).toEqual(['shop.example', 'TLSv1.3', `${name}:${port}`])
    }
  })

  test('a URL with an IP address needs a certificate for that address', async () => {
    const { port } = await openTls(machine, ok)
    expect((await post(`https://127.0.0.1:${port}/`)).problem).toBeNull()
    expect((await post(`https://shop.example:${port}/`, { resolve })).problem).toBe(
      "The receiver's certificate is not for shop.example",
    )
  })

  test('nothing is sent if the certificate does not match the name', async () => {
    let requests = 0
    const count: RequestListener = (request, response) => {
      requests += 1
      ok(request, response)
    }
    const [named, unknown, old] = await Promise.all([
      openTls(shop, count),
      openTls(makeCertificate(['shop.example']), count),
      openTls(expired, count),
    ])
    const problemFor = async (name: string, { port }: Listener) =>
      (await post(`https://${name}:${port}/`, { resolve })).problem
    expect(await problemFor('other.example', named)).toBe(
      "The receiver's certificate is not for other.example",
    )
    expect(await problemFor('127.0.0.1', named)).toBe(
      "The receiver's certificate is not for 127.0.0.1",
    )
    expect(await problemFor('shop.example', unknown)).toContain('certificate is not trusted')
    expect(await problemFor('shop.example', old)).toContain('certificate has expired')
    // A connection that was verified for one name does not serve another name.
    expect(await problemFor('shop.example', named)).toBeNull()
    expect(await problemFor('other.example', named)).toContain('is not for other.example')
    expect(requests).toBe(1)
  })

  test('an old TLS version, or none, is reported in words', async () => {
    const old = await openTls(
      { ...shop, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      ok,
    )
    const plain = await openHttp(ok)
    for (const { port } of [old, plain]) {
      expect((await post(`https://shop.example:${port}/`, { resolve })).problem).toBe(
        'The receiver does not speak TLS 1.2 or newer correctly',
      )
    }
  })

  test('a redirect to http is not followed', async () => {
    const inner = await openHttp(ok)
    const { port } = await openTls(shop, (_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${inner.port}/` }).end(),
    )
    const outcome = await post(`https://shop.example:${port}/`, { resolve })
    expect(outcome.problem).toContain('(307)')
    expect(inner.hits()).toBe(0)
  })

  test('a handshake that hangs times out, and the next address is tried', async () => {
    const silent = await closeAfterTest(openListener(() => {}, '127.0.0.2', await findFreePort()))
    const url = `https://shop.example:${silent.port}/`
    const alone = await post(url, { resolve: resolveTo('127.0.0.2'), connectMs: 300 })
    expect(alone).toMatchObject({ status: null, address: '127.0.0.2' })
    expect(alone.problem).toContain('could not be reached in time')
    await closeAfterTest(listen(createTlsServer(shop, ok), '127.0.0.1', silent.port))
    const both = await post(url, { resolve: resolveTo('127.0.0.2', '127.0.0.1') })
    expect(both).toMatchObject({ status: 200, address: '127.0.0.1' })
  })
})

describe('of several addresses', () => {
  test('the next is tried if a connection fails, but not after a response', async () => {
    const second = await openHttp(ok, '127.0.0.2', await findFreePort())
    const url = `http://shop.example:${second.port}/`
    expect(
      await post(url, { resolve: resolveTo('127.0.0.1', '127.0.0.3', '127.0.0.2') }),
    ).toMatchObject({
      status: 200,
      address: '127.0.0.2',
    })
    closeConnections()
    const first = await openHttp(
      (_request, response) => response.writeHead(500).end(),
      '127.0.0.1',
      second.port,
    )
    expect(await post(url, { resolve: resolveTo('127.0.0.1', '127.0.0.2') })).toMatchObject({
      status: 500,
      address: '127.0.0.1',
    })
    expect([first.hits(), second.hits()]).toEqual([1, 1])
  })

  test('a problem is reported if none accepts a connection', async () => {
    const port = await findFreePort()
    expect(
      await post(`http://shop.example:${port}/`, { resolve: resolveTo('127.0.0.1', '127.0.0.2') }),
    ).toMatchObject({
      problem: 'The receiver refuses connections: check that it runs and the port',
    })
  })
})

describe('a kept-alive connection', () => {
  test('is reused for the same name only', async () => {
    const { port, hits } = await openHttp(ok)
    const resolve = resolveTo('127.0.0.1')
    for (let index = 0; index < 5; index++)
      await post(`http://shop.example:${port}/${index}`, { resolve })
    expect(hits()).toBe(1)
    await post(`http://other.example:${port}/`, { resolve })
    expect(hits()).toBe(2)
  })

  test('is not reused once its address no longer belongs to the name', async () => {
    const first = await openHttp(ok, '127.0.0.1')
    const second = await openHttp(ok, '127.0.0.2', first.port)
    const url = `http://shop.example:${first.port}/`
    await post(url, { resolve: resolveTo('127.0.0.1') })
    expect(await post(url, { resolve: resolveTo('127.0.0.2') })).toMatchObject({
      address: '127.0.0.2',
    })
    expect([first.hits(), second.hits()]).toEqual([1, 1])
    supplyEnv({ WEBHOOK_ALLOW_CIDRS: '127.0.0.2/32' })
    expect((await post(url, { resolve: resolveTo('127.0.0.1') })).problem).toContain(
      'not resolve to a public address',
    )
    expect([first.hits(), second.hits()]).toEqual([1, 1])
  })

  test('that was closed is replaced once by a new one', async () => {
    let requests = 0
    const { port, hits } = await openHttp((request, response) => {
      requests += 1
      if (requests === 2) request.socket.resetAndDestroy()
      else ok(request, response)
    })
    const url = `http://127.0.0.1:${port}/`
    expect((await post(url)).status).toBe(200)
    expect((await post(url)).status).toBe(200)
    expect([requests, hits()]).toEqual([3, 2])
  })

  test('that breaks is not replaced twice, nor after a response has begun', async () => {
    let requests = 0
    const { port, hits } = await openHttp((request, response) => {
      requests += 1
      if (requests === 1) ok(request, response)
      else if (requests < 4) request.socket.destroy()
      else if (requests === 4) ok(request, response)
      else request.socket.end('HTTP/1.1 2')
    })
    const url = `http://127.0.0.1:${port}/`
    expect((await post(url)).status).toBe(200)
    expect((await post(url)).problem).toBe('The receiver closed the connection before it answered')
    expect([requests, hits()]).toEqual([3, 2])
    expect((await post(url)).status).toBe(200)
    expect((await post(url)).status).toBeNull()
    expect([requests, hits()]).toEqual([5, 3])
  })

  test.each([
    ['4 to one receiver', 20, 1, 4],
    ['64 in all', 3, 25, 64],
  ])('is one of at most %s', async (_what, callsPerName, namesCount, pooledMax) => {
    const waiting: ServerResponse[] = []
    const all = callsPerName * namesCount
    // Responds only after all requests have arrived, so that each has its own connection.
    const { port, hits } = await openHttp((request, response) => {
      request.resume()
      waiting.push(response)
      if (waiting.length === all)
        for (const waitingResponse of waiting.splice(0)) waitingResponse.end()
    })
    const resolve = resolveTo('127.0.0.1')
    const urls = Array.from(
      { length: all },
      (_, index) => `http://s${index % namesCount}.example:${port}/`,
    )
    const round = () => Promise.all(urls.map(url => post(url, { resolve })))
    await round()
    expect(hits()).toBe(all)
    await round()
    expect(hits()).toBeGreaterThanOrEqual(2 * all - pooledMax)
  })

  test('is closed after some idle seconds', async () => {
    let closed = 0
    const server = createServer(ok)
    server.keepAliveTimeout = 60_000
    server.on('connection', socket => {
      socket.once('close', () => {
        closed += 1
      })
    })
    const { port } = await closeAfterTest(listen(server))
    await post(`http://127.0.0.1:${port}/`)
    await expect.poll(() => closed, { timeout: 20_000 }).toBe(1)
  })
})
