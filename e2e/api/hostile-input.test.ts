import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { TrocoError } from '#lib/core/errors.ts'
import { parseFields } from '#lib/http/input.ts'
import { refusalResponse } from '#lib/http/response.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { call, sendRaw } from '#lib/testing/call.ts'
import { type Api, expectBalancedLedger, startApi } from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'
import { OPERATIONS } from '#lib/testing/route-table.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { measureCpuMs } from '#lib/testing/timing.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { makeWorld, resolvePath, type World } from '#lib/testing/world.ts'

const random = new Random(chooseSeed(), 0)
const hexDigits = (count: number) =>
  Array.from({ length: count }, () => random.between(0, 15).toString(16)).join('')

/** The server times out after ten seconds; a slow machine needs longer. */
const RESPONSE_MAX_MS = 20_000
const MALFORMED_JSON = '{"error":"Malformed JSON"}'
const MALFORMED_REQUEST = '{"error":"Malformed request"}'
const TOO_LARGE = '{"error":"Payload too large"}'
const POSTS = OPERATIONS.filter(({ method }) => method === 'POST')

let api: Api
let world: World
beforeAll(async () => {
  api = await startApi()
  world = await makeWorld(api)
})
afterAll(async () => {
  await expectBalancedLedger(world.merchant.id)
  await api.close()
})

const authorization = () => `Authorization: Bearer ${world.token}\r\n`

/** Builds a request that asks the server to close the connection. */
function buildRequest(line: string, headers: string, body: string | Uint8Array = ''): Buffer {
  const head = `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body as string)])
}

/** Sends a request. Every response must be JSON and arrive in time, whatever its status. */
async function sendRequest(bytes: Uint8Array) {
  const { status, head, text, tookMs } = await sendRaw(api.url, bytes)
  expect(head).toMatch(/^content-type: application\/json; charset=utf-8$/im)
  expect(head).toMatch(/^connection: close$/im)
  expect(tookMs).toBeLessThan(RESPONSE_MAX_MS)
  return [status, text]
}

/** These have no field that they require. */
const WITHOUT_FIELDS = /\/(cancel|disable|enable|revoke|rotate|test|\[id\]\/resend)$/
const POSTS_WITH_FIELDS = POSTS.filter(({ path }) => !WITHOUT_FIELDS.test(path))

describe.each(pickInTurn(POSTS_WITH_FIELDS))('POST $path', ({ path }) => {
  const line = () => `POST /api${resolvePath(world, path)}`
  const post = (body: string | Uint8Array, headers = '') => {
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`
    return sendRequest(buildRequest(line(), authorization() + length + headers, body))
  }
  const postChunked = (body: string) =>
    sendRequest(buildRequest(line(), `${authorization()}Transfer-Encoding: chunked\r\n`, body))

  /** Expects a 422: with one message for a charge, with messages by field elsewhere. */
  function expectInvalid([status, text]: unknown[]): void {
    expect(status).toBe(422)
    const { errors, ...rest } = JSON.parse(String(text))
    expect(rest).toEqual({})
    if (path === '/transactions') {
      expect(errors).toMatch(/^[\w-]+ \w/)
      return
    }
    expect(Object.keys(errors).length).toBeGreaterThan(0)
    for (const messages of Object.values(errors)) {
      expect(messages).toEqual(expect.arrayContaining([expect.stringMatching(/./)]))
    }
  }

  test.each<[string, Uint8Array]>([
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
    ['a surrogate in UTF-8', Buffer.from('7b2261223a22eda08022' + '7d', 'hex')],
    ['UTF-16', Buffer.from('\ufeff{"amount":1000}', 'utf16le')],
    ['gzip', gzipSync('{"amount":1000}')],
    ['a NUL at the end', Buffer.from('{"amount":1000}\0')],
    ['unclosed arrays', Buffer.from(`{"a":${'['.repeat(60_000)}`)],
    ['half an object', Buffer.from('{"amount":10')],
    ['two objects', Buffer.from('{"amount":1000}{"amount":1000}')],
    ['a key without quotes', Buffer.from('{amount:1000}')],
    ['a hexadecimal number', Buffer.from('{"amount":0x3e8}')],
    ['form data', Buffer.from('amount=1000&outcome=paid')],
  ])('400 for a body that is not JSON: %s', async (_what, bytes) => {
    expect(await post(bytes)).toEqual([400, MALFORMED_JSON])
  })

  test.each([
    '9007199254740993',
    '1e400',
    '-1e400',
    '-0',
    '1e-7',
    '123456789012345678901234567890',
    '"1e3"',
    '[[[]]]',
    '{"$gt":0}',
    '"\\ud800"',
    '"\\u0000"',
    '{"__proto__":{"amount":1000}}',
  ])('422 for %s as the value of every field', async value => {
    const body = `{"amount":${value},"pix_key":${value},"outcome":${value},"reason":${value}}`
    expectInvalid(await post(body))
  })

  test.each([
    ['a __proto__ key', '{"__proto__":{"amount":1000,"outcome":"paid"},"amount":false}'],
    ['fields named like methods', '{"constructor":1,"toString":1,"hasOwnProperty":1,"amount":[]}'],
    [
      'five thousand fields',
      `{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":0`)},"amount":[]}`,
    ],
    ['arrays nested 30,000 deep', `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`],
    ['objects nested 9,000 deep', `{"a":${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}}`],
  ])('422 for %s', async (_what, body) => {
    expectInvalid(await post(body))
  })

  test('413 for arrays nested 100,000 deep, for ten megabytes and for 200 kB in chunks', async () => {
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const { token } = world
    const takesFiles = path.endsWith('/evidence')
    for (const raw of [nested, 'x'.repeat(10_000_000)]) {
      const { status, text } = await call(api.url, 'POST', resolvePath(world, path), { token, raw })
      if (takesFiles && raw === nested) expect(status).toBe(422)
      else expect([status, text]).toEqual([413, TOO_LARGE])
    }
    const chunk = `2710\r\n${'x'.repeat(10_000)}\r\n`
    const chunks = chunk.repeat(takesFiles ? 750 : 20)
    expect(await postChunked(`${chunks}0\r\n\r\n`)).toEqual([413, TOO_LARGE])
  })

  test('415 for a compressed body', async () => {
    const [status, text] = await post(gzipSync('{}'), 'Content-Encoding: gzip\r\n')
    expect([status, text]).toEqual([415, '{"error":"Content-Type must be application/json"}'])
  })

  test.each([
    ['not a number', 'x\r\n{}\r\n0\r\n\r\n'],
    ['negative', '-2\r\n{}\r\n0\r\n\r\n'],
    ['too large for any integer', `${'f'.repeat(40)}\r\n{}`],
    ['smaller than its content', '1\r\n{}\r\n0\r\n\r\n'],
  ])('400 for a chunk whose size is %s', async (_what, body) => {
    expect(await postChunked(body)).toEqual([400, MALFORMED_REQUEST])
  })

  test('404 or 422 for a path of 3,000 or 20,000 characters, never 500', async () => {
    for (const size of [3_000, 20_000]) {
      // Random digits: PostgreSQL would compress repeated digits until they fit into an index.
      const longPath = path.replace('[id]', hexDigits(size))
      const key = 'Idempotency-Key: long-address\r\nContent-Length: 2\r\n'
      const [status, text] = await sendRequest(
        buildRequest(`POST /api${longPath}`, authorization() + key, '{}'),
      )
      expect([404, 422]).toContain(status)
      expect(Object.keys(JSON.parse(String(text)))).toEqual([status === 404 ? 'error' : 'errors'])
    }
  })
})

testInTorture(
  '408 on every POST for chunks that never end and for a body shorter than its length',
  async () => {
    const unfinished = POSTS.flatMap(({ path }) => {
      const line = `POST /api${resolvePath(world, path)}`
      return [
        buildRequest(line, `${authorization()}Transfer-Encoding: chunked\r\n`, '1\r\n{\r\n'),
        buildRequest(line, `${authorization()}Content-Length: 50\r\n`, '{"amount":'),
      ]
    })
    for (const response of await Promise.all(unfinished.map(sendRequest))) {
      expect(response).toEqual([408, '{"error":"Request timed out"}'])
    }
  },
)

describe('a flood of problems', () => {
  const ELEMENTS = 30_000
  const CPU_MS_MAX = 60
  const LISTS = [1, null, '', {}, [], 'x', 'transaction.paid'].map(element =>
    Array.from({ length: ELEMENTS }, () => element),
  )

  /** Schemas of the bodies of all operations, by name and field. */
  async function listFields(): Promise<[string, string, z.ZodType][]> {
    const routes = await loadRoutes()
    return routes.flatMap(({ segments, handlers }) =>
      [...handlers].flatMap(([method, { declared, accountlessDeclaration }]) => {
        const schema = declared?.body?.test ?? accountlessDeclaration?.body
        const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
        const name = `${method} /${segments.join('/')}`
        return names.map((field): [string, string, z.ZodType] => [name, field, schema as z.ZodType])
      }),
    )
  }

  test('in any field of any operation costs little and has a short answer', async () => {
    const fields = await listFields()
    expect(fields.length).toBeGreaterThan(100)
    const slow: string[] = []
    for (const [name, field, schema] of fields) {
      for (const list of LISTS) {
        let answer = ''
        const validate = () => {
          try {
            parseFields(schema, { [field]: list })
          } catch (error) {
            answer = refusalResponse(error as TrocoError).text
          }
        }
        let ms = Infinity
        for (let run = 0; run < 3 && ms > CPU_MS_MAX; run++)
          ms = Math.min(ms, await measureCpuMs(validate))
        if (ms > CPU_MS_MAX || answer.length > 10_000)
          slow.push(`${name} ${field}: ${Math.round(ms)} ms, ${answer.length} bytes`)
      }
    }
    expect(slow).toEqual([])
  })

  test('has at most 20 of them in the answer, and the last says how many more', async () => {
    const parameters = Array.from({ length: 50 }, (_, index) => `p${index}`)
    const response = await call(api.url, 'GET', `/events?${parameters.join('&')}`, {
      token: world.token,
    })
    expect(response.status).toBe(422)
    const { errors } = response.body as { errors: Record<string, string[]> }
    expect(Object.values(errors).flat()).toHaveLength(20)
    expect(errors.p19).toEqual(['and 31 more problems'])
    expect(response.text.length).toBeLessThan(10_000)
    const body = { name: 'x', permissions: Array.from({ length: 90 }, () => 1) }
    const issue = await call(api.url, 'POST', '/tokens', { token: world.token, body })
    if (issue.status === 422)
      expect((issue.body as typeof response.body).errors.permissions).toHaveLength(20)
  })
})
