import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { type Api, CHARGE, openCharge, startApiWithMerchant } from '#lib/testing/fixtures.ts'
import { followLog } from '#lib/testing/log-tail.ts'

const BYTES_MAX = 64 * 1024

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
})
afterAll(() => api.close())

async function post(body?: string | Uint8Array, headers: Record<string, string> = {}, path = '') {
  const response = await fetch(`${api.url}/api${path || '/transactions'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: body === undefined ? undefined : Buffer.from(body),
  })
  return { status: response.status, body: await response.json() }
}

const chargeJson = (extra: object = {}) => JSON.stringify({ ...CHARGE, ...extra })
/** Builds a valid charge whose JSON has this number of bytes. */
const paddedChargeJson = (bytes: number) =>
  chargeJson({ note: 'x'.repeat(bytes - chargeJson({ note: '' }).length) })

describe('415', () => {
  const refusal = { status: 415, body: { error: 'Content-Type must be application/json' } }

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json-seq',
    'json',
    'text/plain; charset=application/json',
  ])('for the type %s', async type => {
    expect(await post(chargeJson(), { 'content-type': type })).toEqual(refusal)
  })

  test.each(['gzip', 'br', 'deflate, gzip'])('for the encoding %s', async encoding => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    expect(await post(chargeJson(), headers)).toEqual(refusal)
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=ISO-8859-1',
    'text/json',
    'application/vnd.api+json',
  ])('never for %s', async type => {
    expect((await post(chargeJson(), { 'content-type': type })).status).toBe(200)
  })

  test('never without a Content-Type', async () => {
    expect((await post(chargeJson())).status).toBe(200)
    expect((await post(chargeJson(), { 'content-encoding': 'identity' })).status).toBe(200)
  })
})

describe('413', () => {
  const refusal = { status: 413, body: { error: 'Payload too large' } }

  /** Sends chunks without a Content-Length; with `isComplete` false the body never ends. */
  async function sendChunks(chunks: string[], isComplete = true) {
    const clientRequest = request(`${api.url}/api/transactions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked' },
    })
    clientRequest.on('error', () => {})
    for (const chunk of chunks) clientRequest.write(chunk)
    if (isComplete) clientRequest.end()
    const [response] = (await once(clientRequest, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response) text += chunk
    clientRequest.destroy()
    return { status: response.statusCode, body: JSON.parse(text) }
  }

  test('64 KiB are accepted, one byte more is refused', async () => {
    expect((await post(paddedChargeJson(BYTES_MAX))).status).toBe(200)
    expect(await post(paddedChargeJson(BYTES_MAX + 1))).toEqual(refusal)
  })

  test('a too large Content-Length is refused before the body arrives', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.write(
      `POST /api/transactions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Length: 100000000\r\n\r\n{`,
    )
    let response = ''
    socket.on('data', chunk => {
      response += chunk
    })
    await vi.waitFor(() => expect(response).toContain('}'), { timeout: 10_000 })
    expect(response).toMatch(/^HTTP\/1\.1 413 [\s\S]*\{"error":"Payload too large"\}/)
    socket.destroy()
  })

  test('a chunked body has the same limit', async () => {
    const whole = paddedChargeJson(BYTES_MAX)
    expect((await sendChunks([whole.slice(0, 999), whole.slice(999)])).status).toBe(200)
    const longer = paddedChargeJson(BYTES_MAX + 1)
    expect(await sendChunks([longer.slice(0, 999), longer.slice(999)])).toEqual(refusal)
  })

  test('chunks that never end are refused at the limit', async () => {
    const chunk = 'x'.repeat(10_000)
    expect(await sendChunks(Array(8).fill(chunk), false)).toEqual(refusal)
  })

  test('a body may have 4,096 chunks, of a few bytes each: one more is refused', async () => {
    const inChunks = (count: number) => {
      const padded = paddedChargeJson(8_192)
      return [...padded.slice(0, count - 1), padded.slice(count - 1)]
    }
    expect((await sendChunks(inChunks(4_096))).status).toBe(200)
    expect(await sendChunks(inChunks(4_097))).toEqual(refusal)
  })

  test('the next request works', async () => {
    await post(paddedChargeJson(10 * BYTES_MAX))
    expect((await post(chargeJson())).status).toBe(200)
  })
})

describe('400', () => {
  test.each([
    '{',
    '{"amount":}',
    "{'amount':500}",
    '{"amount":NaN}',
    '{"amount":500,}',
    '{} {}',
    'amount=500',
    '{"amount":0500}',
    '{"client_name":"a\nb"}',
  ])('for invalid JSON: %j', async text => {
    expect(await post(text)).toEqual({ status: 400, body: { error: 'Malformed JSON' } })
  })

  test.each([
    ['an invalid byte', [0xff]],
    ['a truncated character', [0xc3]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ['an overlong encoding', [0xc1, 0x81]],
  ])('for bytes that are not UTF-8: %s', async (_what, bytes) => {
    const body = Buffer.concat([
      Buffer.from('{"client_name":"'),
      Buffer.from(bytes),
      Buffer.from('"}'),
    ])
    expect(await post(body)).toEqual({ status: 400, body: { error: 'Malformed JSON' } })
  })
})

describe('422, as one message on POST /transactions and by field elsewhere', () => {
  let sandboxPath: string
  beforeAll(async () => {
    sandboxPath = `/sandbox/transactions/${(await openCharge(merchant)).id}`
  })
  const missing = { outcome: ['outcome is required'] }

  test.each([
    ['no body at all', undefined],
    ['an empty body', ''],
    ['blanks', ' \r\n'],
    ['an empty object', '{}'],
  ])('for %s: the first required field is missing', async (_what, text) => {
    const first = await post(text)
    expect(first).toEqual({ status: 422, body: { errors: 'amount is required' } })
    expect(await post(text, {}, sandboxPath)).toEqual({ status: 422, body: { errors: missing } })
  })

  test.each(['null', '""'])(
    'for %s: missing, or an invalid value where money moves',
    async value => {
      const first = await post(`{"amount":${value}}`)
      expect(first).toEqual({ status: 422, body: { errors: 'amount is required' } })
      const errors = { outcome: ['outcome must be paid, failed or expired'] }
      const second = await post(`{"outcome":${value}}`, {}, sandboxPath)
      expect(second).toEqual({ status: 422, body: { errors } })
    },
  )

  test.each(['[]', '[{"amount":500}]', '"text"', '1', 'true', 'null'])(
    'for JSON that is not an object: %s',
    async text => {
      const message = 'body must be a JSON object'
      expect(await post(text)).toEqual({ status: 422, body: { errors: message } })
      const response = await post(text, {}, sandboxPath)
      expect(response).toEqual({ status: 422, body: { errors: { body: [message] } } })
    },
  )

  test('for a value that the field does not allow', async () => {
    const response = await post('{"outcome":"lost"}', {}, sandboxPath)
    const errors = { outcome: ['outcome must be paid, failed or expired'] }
    expect(response).toEqual({ status: 422, body: { errors } })
  })

  test('for more than 32 levels of nesting, counted from the body', async () => {
    const nested = (levels: number) =>
      `${chargeJson().slice(0, -1)},"metadata":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`
    expect((await post(nested(30))).status).toBe(200)
    const refusal = {
      status: 422,
      body: { errors: 'body must not be nested deeper than 32 levels' },
    }
    expect(await post(nested(33))).toEqual(refusal)
    expect(await post(nested(8_000))).toEqual(refusal)
    const array = `{"items":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
    expect(await post(array)).toEqual(refusal)
    for (const depth of [8_000, 30_000]) {
      const numbers = `{"other":${'['.repeat(depth)}1.0${']'.repeat(depth)}}`
      expect(await post(numbers)).toEqual(refusal)
    }
  })

  test.each([
    ['a NUL', 'client_name', '{"client_name":"a\\u0000b"}'],
    ['half a surrogate pair', 'client_name', '{"client_name":"a\\ud83d"}'],
    ['a reversed surrogate pair', 'client_name', '{"client_name":"\\ude00\\ud83d"}'],
    ['a NUL deep inside', 'metadata', '{"metadata":{"a":[{"b":"\\u0000"}]}}'],
    ['a NUL in a key', 'metadata', '{"metadata":{"a\\u0000":1}}'],
    ['half a surrogate pair in a key', 'items', '{"items":[{"\\udc00":1}]}'],
    ['a NUL in a field that is ignored', 'other', '{"other":"\\u0000"}'],
  ])('for %s, which PostgreSQL cannot store; the field is named', async (_what, field, text) => {
    const errors = `${field} must not contain NUL characters or unpaired surrogates`
    expect(await post(text)).toEqual({ status: 422, body: { errors } })
  })
})

describe('a number that JSON readers would round', () => {
  test('as an amount is refused as an amount', async () => {
    const { status, body } = await post(chargeJson().replace('1500', '9007199254740993'))
    expect(status).toBe(422)
    expect(body.errors).toMatch(/^amount must be a whole number of cents/)
  })

  test('is accepted as text; so are fractions, safe integers and 1e21', async () => {
    const metadata = { a: '9007199254740993', b: 0.12345678901234568, c: 9007199254740991, d: 1e21 }
    const text = chargeJson({ metadata })
    expect(await post(text)).toMatchObject({ status: 200, body: { data: { metadata } } })
  })
})

test.each(['0.10000000000000001', '9007199254740993', '1e21', '1e400', '1.00000000000000000001'])(
  'a field that is unknown may contain %s',
  async number => {
    for (const value of [number, `{"score":${number}}`, `[[${number}]]`]) {
      const text = `${chargeJson().slice(0, -1)},"customer":${value}}`
      expect((await post(text)).status).toBe(200)
    }
  },
)

describe('parsing a body', () => {
  test('uses the last of duplicate keys', async () => {
    const text = `{"amount":1,${chargeJson().slice(1, -1)},"amount":777}`
    expect(await post(text)).toMatchObject({ status: 200, body: { data: { amount: 777 } } })
    const worse = `{${chargeJson().slice(1, -1)},"amount":1}`
    expect((await post(worse)).status).toBe(422)
  })

  test('accepts a byte order mark and every Unicode character', async () => {
    const text = `\ufeff${chargeJson({ metadata: { note: 'ação 😀' } })}`
    expect(await post(text)).toMatchObject({
      status: 200,
      body: { data: { metadata: { note: 'ação 😀' } } },
    })
  })

  test('an optional field that is null or empty counts as absent', async () => {
    const optional = [
      'client_phone',
      'webhook_url',
      'ip',
      'metadata',
      'utms',
      'items',
      'external_id',
      'expires_in',
    ]
    for (const value of [null, '']) {
      const text = chargeJson(Object.fromEntries(optional.map(name => [name, value])))
      expect(await post(text)).toMatchObject({ status: 200, body: { data: { metadata: null } } })
    }
  })
})

test('a client that disconnects within a body causes no warning in the log', async () => {
  const requestId = `hung-up-${Date.now()}`
  const readLog = followLog()
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  socket.write(
    `POST /api/transactions HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${requestId}\r\n` +
      `Authorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\n{"a":`,
  )
  const findRequestLines = () =>
    readLog()
      .split('\n')
      .filter(line => line.includes(requestId))
  setTimeout(() => socket.destroy(), 200)
  await vi.waitFor(() => expect(findRequestLines().join()).toContain('request completed'), {
    timeout: 20_000,
  })
  expect(findRequestLines().filter(line => /"level":"(warn|error|fatal)"/.test(line))).toEqual([])
})
