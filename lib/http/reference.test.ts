import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFront } from '#lib/http/front.ts'

describe.each([false, true])('in development: %s', isDevelopment => {
  let origin: string
  let close: () => void
  beforeAll(async () => {
    const front = await createFront(
      async (_, response) => {
        response.writeHead(501).end()
      },
      { isDevelopment },
    )
    await once(front.listen(0, '127.0.0.1'), 'listening')
    origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
    close = () => {
      front.closeAllConnections()
      front.close()
    }
  })
  afterAll(() => close())

  const CACHE_MINUTE = 'public, max-age=60'
  const FILES = [
    ['/api/openapi.json', 'application/json; charset=utf-8', CACHE_MINUTE, 50_000],
    ['/docs/pt/search.json', 'application/json; charset=utf-8', CACHE_MINUTE, 20_000],
    ['/docs/en', 'text/html; charset=utf-8', CACHE_MINUTE, 5_000],
    ['/docs/pt/create-charge', 'text/html; charset=utf-8', CACHE_MINUTE, 5_000],
    ['/docs/en.md', 'text/markdown; charset=utf-8', CACHE_MINUTE, 5_000],
    ['/docs/pt.md', 'text/markdown; charset=utf-8', CACHE_MINUTE, 5_000],
    ['/docs/en/webhooks.md', 'text/markdown; charset=utf-8', CACHE_MINUTE, 5_000],
    ['/docs/clients/troco.tgz', 'application/gzip', CACHE_MINUTE, 2_000],
    ['/llms.txt', 'text/plain; charset=utf-8', CACHE_MINUTE, 1_000],
    ['/docs/assets/reader.js', 'text/javascript; charset=utf-8', CACHE_MINUTE, 1_000],
  ] as const

  test.each(FILES)('%s is public and cacheable', async (path, type, cacheControl, bytesMin) => {
    for (const address of [path, `${path}/`, `${path}?v=1`]) {
      const response = await fetch(origin + address)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe(type)
      expect(response.headers.get('cache-control')).toBe(cacheControl)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('x-request-id')).toMatch(/./)
      expect((await response.text()).length).toBeGreaterThan(bytesMin)
    }
  })

  test.each(FILES)('%s returns 304 for a known ETag', async path => {
    const headers = { 'accept-encoding': 'identity' }
    const etag = (await fetch(origin + path, { headers })).headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{43}"$/)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await requestFile(path, { 'if-none-match': known })
      expect([response.status, response.text, response.headers.etag]).toEqual([304, '', etag])
      expect(response.headers['content-length']).toBeUndefined()
    }
    expect((await requestFile(path, { 'if-none-match': '"other"' })).status).toBe(200)
  })

  const TEXTS = FILES.filter(([, type]) => type !== 'application/gzip')

  test.each(TEXTS)('%s is compressed', async path => {
    const { headers } = await fetch(origin + path)
    expect(headers.get('content-encoding')).toBe('gzip')
    expect(headers.get('etag')).toMatch(/^W\/"[\w-]{43}"$/)
  })

  test.each(FILES)('HEAD of %s returns its length and no body', async path => {
    const whole = Buffer.from(await (await fetch(origin + path)).arrayBuffer())
    const headers = { 'accept-encoding': 'identity' }
    const head = await fetch(origin + path, { method: 'HEAD', headers })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.get('content-length')).toBe(String(whole.byteLength))
  })

  test.each(FILES)('any other method on %s returns 405', async path => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await fetch(origin + path, { method })
      expect(response.status, method).toBe(405)
      expect(await response.text()).toBe('{"error":"Method not allowed"}')
      expect(response.headers.get('allow')).toBe('GET, HEAD')
    }
  })

  test.each([
    ['/docs', { 'accept-language': 'pt-BR' }, '/docs/pt'],
    ['/docs', { 'accept-language': 'de' }, '/docs/en'],
    ['/docs/errors', { 'accept-language': 'pt' }, '/docs/pt/errors'],
    [
      '/docs/errors/',
      { cookie: 'a=b; troco-locale=en', 'accept-language': 'pt' },
      '/docs/en/errors',
    ],
    ['/docs', { cookie: 'troco-locale=..%2Fx', 'accept-language': 'pt' }, '/docs/pt'],
  ])('%s with %j leads to %s', async (path, headers, target) => {
    const response = await requestFile(path, headers)
    expect([response.status, response.headers.location]).toEqual([302, target])
    expect(response.headers.vary).toBe('Accept-Language, Cookie')
  })

  /** Returns the paths of all pages, in both languages. */
  async function listPages(): Promise<string[]> {
    const text = await (await fetch(`${origin}/llms.txt`)).text()
    const addresses = [...text.matchAll(/\]\((\S+)\.md\)/g)].map(([, address = '']) => address)
    return addresses.map(address => new URL(address).pathname.replace(/\/index$/, ''))
  }

  test('each page and what it loads at first take at most 150 KB, without compression', async () => {
    const read = async (path: string) => {
      const response = await fetch(origin + path)
      expect(response.status, path).toBe(200)
      return { headers: response.headers, body: Buffer.from(await response.arrayBuffer()) }
    }
    const pages = await listPages()
    expect(pages).toEqual(expect.arrayContaining(['/docs/en', '/docs/pt/create-charge']))
    const sizes = new Map<string, number>()
    for (const path of pages) {
      const { body } = await read(path)
      const parts = new Set(body.toString().match(/\/docs\/assets\/(?!trial)[^"]+/g))
      expect(parts.size, path).toBe(3)
      let size = body.byteLength
      for (const part of parts) {
        if (!sizes.has(part)) {
          const { headers, body: content } = await read(part)
          expect(headers.get('cache-control'), part).toBe('public, max-age=31536000, immutable')
          const etag = headers.get('etag')?.replace('W/', '') ?? ''
          expect(part).toMatch(new RegExp(`v=${etag.slice(1, 12)}$`))
          sizes.set(part, content.byteLength)
        }
        size += sizes.get(part) ?? 0
      }
      expect(size, path).toBeLessThanOrEqual(150_000)
    }
  })

  /**
   * Sends a request with node:http, because fetch adds cache validators of its own and hides a 304.
   */
  async function requestFile(path: string, headers: Record<string, string | undefined>) {
    const outgoing = request(origin + path, { headers }).end()
    const [response] = await once(outgoing, 'response')
    let text = ''
    for await (const chunk of response) text += chunk
    return { status: response.statusCode, headers: response.headers, text }
  }
})
