import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import { CHARGE } from '#lib/testing/charge.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import {
  LANGUAGES,
  type Language,
  prepareLanguages,
  readSamples,
} from '#lib/testing/sample-languages.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { pickInTurn } from '#lib/testing/turn.ts'

/** Guides whose samples run one after the other, as a reader would paste them. */
const GUIDES = [
  'first-charge',
  'webhooks',
  'testing',
  'errors-and-retries',
  'reconciling',
  'going-live',
]
/** Those in Portuguese differ in texts alone, as a test shows: `npm run torture` runs them, too. */
const LOCALES = process.env.MATRIX_FULL ? ['en', 'pt-BR'] : ['en']

let api: Api
const folder = makeScratchFolder('troco-samples-')
beforeAll(async () => {
  await prepareLanguages()
  api = await startApi()
})
afterAll(() => api.close())

/** Runs a program with a token and returns what it printed. */
async function run(language: Language, source: string, token: string): Promise<string> {
  const { program, args } = LANGUAGES[language]
  const TROCO_TOKEN = token
  const environment = { ...process.env, TROCO_TOKEN }
  const { stdout } = await promisify(execFile)(program(), args(source), {
    env: environment,
    // Some samples write a file.
    cwd: folder,
    maxBuffer: 1 << 24,
  })
  return stdout
}

function samplesOf(guide: string, locale: string, language: Language): string {
  const samples = readSamples(guide, locale, language)
  // The receivers never end: receivers.test.ts runs them.
  const run = guide === 'webhooks' && language !== 'sh' ? samples.slice(1) : samples
  return LANGUAGES[language].scope(run.join('\n'))
}

function sourceOf(guide: string, locale: string, language: Language): string {
  const source = readSamples(guide, locale, language).join('\n')
  expect(source.length, `${guide} has samples in ${language}`).toBeGreaterThan(40)
  return source
}

test.each(GUIDES)(
  'the samples of the guide %s differ in comments and reasons alone in Portuguese',
  guide => {
    for (const language of Object.keys(LANGUAGES) as Language[]) {
      const codeOf = (locale: string) =>
        sourceOf(guide, locale, language)
          .replaceAll(/(^|\s)(#|\/\/) .*$/gm, '')
          .replaceAll(/("?reason["']?(:| =>) )(["']).*?\3/g, '$1')
      expect(codeOf('pt-BR')).toBe(codeOf('en'))
    }
  },
)

describe.each(LOCALES)('the samples of the guides in %s', locale => {
  test.each(pickInTurn(Object.keys(LANGUAGES) as Language[]))(
    'run in order in %s',
    async language => {
      const { id } = await makeMerchant()
      const token = await makeToken(id)
      // The first guide defines the function that the others use.
      const [first = '', ...others] = GUIDES.map(guide => samplesOf(guide, locale, language))
      const source = LANGUAGES[language].join([first, ...others])
      const output = await run(language, source.replaceAll('http://localhost:3000', api.url), token)
      expect(output).toContain('transaction.paid')
      const read = async (path: string) => (await call(api.url, 'GET', path, { token })).body.data
      expect(await read('/transactions/order-4711')).toMatchObject({ status: 'paid', amount: 4990 })
      expect(await read('/transactions/order-4711/refunds')).toMatchObject([{ amount: 990 }])
      expect(await read('/withdrawals/payout-88')).toMatchObject({ amount: 1000 })
      expect(await read('/transactions/order-5001')).toMatchObject({ status: 'paid' })
      expect(await read('/withdrawals/payout-5001')).toMatchObject({ status: 'rejected' })
      expect(await read('/transactions/order-6001')).toMatchObject({ status: 'pending' })
      expect(await read('/transactions/order-4712')).toMatchObject({ status: 'paid' })
      const [endpoint] = await read('/webhooks/endpoints')
      expect(endpoint).toMatchObject({ url: 'https://shop.example/hooks/pix' })
      const names = (await read('/tokens')).map(({ name }: { name: string }) => name)
      expect(names).toContain('Worker')
    },
  )
})

/** Starts a proxy that fails in another way each time that a request has this key, until the fourth. */
async function startBadProxy(key: string) {
  const statuses: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const isCounted = request.headers['idempotency-key'] === key
    const count = isCounted ? statuses.length + 1 : 0
    if (count === 1 || count === 3) {
      const [status, code] = count === 1 ? [503, 'service_unavailable'] : [409, 'in_progress']
      statuses.push(String(status))
      response.writeHead(Number(status), { 'x-error-code': String(code), 'retry-after': '0' })
      return response.end('{"error":"Try again"}')
    }
    const { authorization = '', 'content-type': type = '' } = request.headers
    const answer = await fetch(api.url + request.url, {
      method: request.method ?? 'GET',
      headers: {
        authorization,
        'content-type': type,
        ...(isCounted && { 'idempotency-key': key }),
      },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    })
    const body = Buffer.from(await answer.arrayBuffer())
    const isCut = count === 2
    if (isCounted) statuses.push(isCut ? 'cut' : String(answer.status))
    response.writeHead(answer.status, { 'content-length': body.byteLength })
    if (!isCut) return response.end(body)
    response.write(body.subarray(0, 40), () => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { statuses, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const PROGRAMS = LOCALES.flatMap(locale =>
  (['js', 'python', 'php'] as const).map(language => [locale, language] as const),
)

test.each(pickInTurn(PROGRAMS))(
  'the loop of the guide in %s and %s creates one charge whatever happens to the response',
  async (locale, language) => {
    const { id } = await makeMerchant()
    const token = await makeToken(id)
    const { statuses, url } = await startBadProxy('order-6001')
    const guides = ['first-charge', 'errors-and-retries']
    const source = LANGUAGES[language]
      .join(guides.map(guide => samplesOf(guide, String(locale), language)))
      .replaceAll('http://localhost:3000', url)
      .replaceAll(/2 ?\*\* ?\$?attempt/g, '0')
      .replaceAll(/^.*external_id.*order-6001.*$/gm, '')
    await run(language, source, token)
    expect(statuses).toEqual(['503', 'cut', '409', '200'])
    const { body } = await call(api.url, 'GET', '/transactions?status=pending', { token })
    expect(body.data).toHaveLength(1)
  },
)

/** Where the loop of the guide that reads events begins: `after`, and the epoch of the feed. */
const FEED_BEGINS: Partial<Record<Language, [begin: RegExp, stored: (epoch: string) => string]>> = {
  js: [/let after = 0.*\nlet epoch = null/, epoch => `let after = 7\nlet epoch = '${epoch}'`],
  python: [/after, epoch = 0, None/, epoch => `after, epoch = 7, "${epoch}"`],
  php: [/\$after = 0;.*\n\$epoch = null/, epoch => `$after = 7;\n$epoch = '${epoch}'`],
}

test.each(pickInTurn(PROGRAMS))(
  'the loop of the guide in %s and %s goes on in the new feed after 410, and loses no event',
  async (locale, language) => {
    const { id } = await makeMerchant()
    const token = await makeToken(id)
    await makePaidCharge(token)
    const guides = ['first-charge', 'reconciling'].map(guide =>
      samplesOf(guide, String(locale), language),
    )
    const [begin, stored] = FEED_BEGINS[language] ?? [/^/, () => '']
    const source = LANGUAGES[language].join(guides).replaceAll('http://localhost:3000', api.url)
    expect(source).toMatch(begin)
    const other = await makeToken(id, { mode: 'live' })
    const { headers } = await call(api.url, 'GET', '/events', { token: other })
    const epoch = headers.get('troco-feed-epoch') ?? ''
    const placed = source.replace(begin, () => stored(epoch))
    const output = await run(language, placed, token)
    expect(output.match(/^1 transaction\.paid$/gm)).toHaveLength(1)
  },
)

interface Sample {
  lang: string
  source: string
}
interface Operation {
  operationId: string
  'x-codeSamples': Sample[]
}

/** Makes what the sample of an operation reads or changes, and returns its ids by placeholder. */
const PREPARATIONS: Record<string, (token: string) => Promise<Record<string, string>>> = {
  getCharge: makeCharge,
  cancelCharge: makeCharge,
  describeCharge: makeCharge,
  downloadChargeReceipt: makePaidCharge,
  downloadWithdrawalReceipt: makePayout,
  drawChargeSvg: makeCharge,
  drawChargePng: makeCharge,
  createRefund: makePaidCharge,
  listRefunds: makePaidCharge,
  getRefund: makeRefund,
  simulateRefund: makeRefund,
  getDispute: makeDispute,
  simulateDispute: makeDispute,
  simulateChargeDispute: makePaidCharge,
  createWithdrawal: makeBalance,
  getWithdrawal: makeWithdrawal,
  async getRequest(token) {
    // Empties what earlier files of the process have noted: its room is limited.
    await storeRequests()
    await makeCharge(token)
    await storeRequests()
    const { body } = await call(api.url, 'GET', '/requests', { token })
    return { [REQUEST_ID]: body.data[0].id }
  },
  simulateCharge: makeCharge,
  simulateWithdrawal: makeWithdrawal,
  ...Object.fromEntries(
    ['getEndpoint', 'updateEndpoint', 'disableEndpoint', 'enableEndpoint', 'testEndpoint']
      .concat('rotateEndpointSecret')
      .map(name => [name, useEndpoint]),
  ),
  deleteEndpoint: makeEndpoint,
  updateToken: makeChild,
  rotateToken: makeChild,
  revokeToken: makeChild,
  getDelivery: makeDelivery,
  resendDelivery: makeDelivery,
}
const REQUEST_ID = '01a1fbc4-0b7e-7c21-8f35-5d1f9e64a0b2'
const ENDPOINT_ID = '01a1fbc8-3d10-7a42-9e6b-2c4f8a1b7d30'
const TOKEN_ID = '01a1fbca-6f2e-7c15-8d43-0b9e5a7c2f18'
const DELIVERY_ID = '5d2f7c1e-9a04-8b63-1f7e-6c3a0d9b4e28'
const REFUND_ID = '01a1fbbf-20d3-7b1a-9c55-7e3a1d2f4b60'
const DISPUTE_ID = '01a1fbd2-4c1a-7e63-8b0f-9a2d5c7e1f36'

async function makeCharge(
  token: string,
  client_email = CHARGE.client_email,
): Promise<Record<string, string>> {
  const charge = { ...CHARGE, client_email }
  const { body } = await call(api.url, 'POST', '/transactions', { token, body: charge })
  return { 'order-1048': body.data.transaction_id }
}

async function makeRefund(token: string): Promise<Record<string, string>> {
  // A refund of such a charge waits for its decision.
  const ids = await makePaidCharge(token, 'hold@example.com')
  const path = `/transactions/${ids['order-1048']}/refunds`
  const { body } = await call(api.url, 'POST', path, { token, body: { amount: 500 } })
  return { ...ids, [REFUND_ID]: body.data.id }
}

async function makeDispute(token: string): Promise<Record<string, string>> {
  const ids = await makePaidCharge(token)
  const path = `/sandbox/transactions/${ids['order-1048']}/disputes`
  const { body } = await call(api.url, 'POST', path, { token, body: {} })
  return { ...ids, [DISPUTE_ID]: body.data.id }
}

async function makeChild(token: string): Promise<Record<string, string>> {
  const body = { name: 'Worker', permissions: ['account:read'] }
  const response = await call(api.url, 'POST', '/tokens', { token, body })
  return { [TOKEN_ID]: response.body.data.id }
}

async function makePaidCharge(token: string, email?: string): Promise<Record<string, string>> {
  const ids = await makeCharge(token, email)
  const path = `/sandbox/transactions/${ids['order-1048']}`
  await call(api.url, 'POST', path, { token, body: { outcome: 'paid' } })
  return ids
}

async function makeEndpoint(token: string): Promise<Record<string, string>> {
  const body = { url: 'http://127.0.0.1:1025/hook', event_types: '*' }
  const response = await call(api.url, 'POST', '/webhooks/endpoints', { token, body })
  return { [ENDPOINT_ID]: response.body.data.id }
}

/** One endpoint for all samples that leave it: an account has at most 10. */
const endpoints = new Map<string, ReturnType<typeof makeEndpoint>>()
function useEndpoint(token: string): ReturnType<typeof makeEndpoint> {
  const made = endpoints.get(token) ?? makeEndpoint(token)
  endpoints.set(token, made)
  return made
}

async function makeDelivery(token: string): Promise<Record<string, string>> {
  const body = { ...CHARGE, webhook_url: 'http://127.0.0.1:1025/hook' }
  const { data } = (await call(api.url, 'POST', '/transactions', { token, body })).body
  const path = `/sandbox/transactions/${data.transaction_id}`
  await call(api.url, 'POST', path, { token, body: { outcome: 'paid' } })
  const query = `?subject_id=${data.transaction_id}&endpoint_id=none`
  const found = await call(api.url, 'GET', `/webhooks/deliveries${query}`, { token })
  return { [DELIVERY_ID]: found.body.data[0].id }
}

async function makeBalance(token: string): Promise<Record<string, string>> {
  for (let count = 0; count < 4; count++) await makePaidCharge(token)
  return {}
}

async function makeWithdrawal(token: string): Promise<Record<string, string>> {
  await makeBalance(token)
  const body = { amount: 1_000, pix_key: 'hold@example.com' }
  const response = await call(api.url, 'POST', '/withdrawals', { token, body })
  return { 'order-1048': response.body.data.id }
}

async function makePayout(token: string): Promise<Record<string, string>> {
  const ids = await makeWithdrawal(token)
  const path = `/sandbox/withdrawals/${ids['order-1048']}`
  await call(api.url, 'POST', path, { token, body: { outcome: 'approved' } })
  return ids
}

testInTorture('the samples of every operation succeed in every language', async () => {
  const document = await (await fetch(`${api.url}/api/openapi.json`)).json()
  const origin = new URL(document.servers[0].url).origin
  const operations: Operation[] = Object.values(document.paths).flatMap(methods =>
    Object.values(methods as Record<string, Operation>),
  )
  const { id } = await makeMerchant()
  const token = await makeToken(id)
  const sources: Record<Language, string[]> = { sh: [], js: [], python: [], php: [] }
  for (const { operationId, 'x-codeSamples': samples } of operations) {
    expect(samples.map(({ lang }) => LANGUAGE_OF[lang]).toSorted()).toEqual(
      Object.keys(LANGUAGES).toSorted(),
    )
    for (const { lang, source } of samples) {
      const ids = await PREPARATIONS[operationId]?.(token)
      const filled = Object.entries({ [origin]: api.url, ...ids }).reduce(
        (text, [placeholder, value]) => text.replaceAll(placeholder, value),
        source,
      )
      const language = LANGUAGE_OF[lang] as Language
      sources[language].push(LANGUAGES[language].scope(filled))
    }
  }
  await Promise.all(
    Object.entries(sources).map(([language, all]) =>
      run(language as Language, LANGUAGES[language as Language].join(all), token),
    ),
  )
})

const LANGUAGE_OF: Record<string, Language | undefined> = {
  bash: 'sh',
  typescript: 'js',
  python: 'python',
  php: 'php',
}
