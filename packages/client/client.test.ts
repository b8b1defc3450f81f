import { execFile, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { findProgram, installPackages } from '#lib/testing/debian.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { LANGUAGES, prepareLanguages, readSamples } from '#lib/testing/sample-languages.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { Troco, type TrocoError, type TrocoEvent } from './troco.ts'
import { type Document, writeTypes } from './types.ts'

const FOLDER = 'packages/client'
const HEADING =
  '// Types of the API, generated from its OpenAPI document: npx vitest run packages/client -u\n\n'

let api: Api
let document: Document
beforeAll(async () => {
  api = await startApi()
  document = (await (await fetch(`${api.url}/api/openapi.json`)).json()) as Document
})
afterAll(() => api.close())

test('the types of the client are those of the document', async () => {
  await expect(HEADING + writeTypes(document)).toMatchFileSnapshot('./api.ts')
})

describe.each(['troco.ts', 'troco.py', 'Troco.php'])('%s', file => {
  test('has a method for each operation of the document', () => {
    const source = readFileSync(join(FOLDER, file), 'utf8')
    const missing = Object.keys(document.paths).flatMap(path =>
      // The images of a charge's code are for pages: clients draw `br_code` themselves.
      path.includes('/qr.') || isMentioned(source, path) ? [] : [path],
    )
    expect(missing).toEqual([])
  })

  test('knows each type of event, or leaves it as it is', () => {
    const source = readFileSync(join(FOLDER, file), 'utf8')
    const known = source.match(/(transaction|withdrawal|troco)\.[a-z_]+(?=['"])/g) ?? []
    if (known.length > 0) expect(new Set(known)).toEqual(new Set(Object.keys(document.webhooks)))
  })
})

/** Whether a source has all fixed parts of a path, as in `/transactions/{id}/cancel`. */
function isMentioned(source: string, path: string): boolean {
  return path.split(/\/\{\w+\}/).every(part => part === '' || source.includes(part))
}

test('the served file compiles under strict settings, and mistakes with money do not', async () => {
  const folder = resolve('.cache/client-strict')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'troco.ts'), await (await fetch(clientUrl('troco.ts'))).text())
  for (const [index, { source }] of [{ source: SHOP }, ...MISTAKES].entries())
    writeFileSync(join(folder, `shop-${index}.ts`), source)
  const files = [SHOP, ...MISTAKES].map((_, index) => `shop-${index}.ts`)
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, files: ['troco.ts', ...files] }),
  )
  const old = { ...STRICT, target: 'es2021', lib: ['es2021', 'dom', 'dom.iterable'] }
  writeFileSync(
    join(folder, 'tsconfig.old.json'),
    JSON.stringify({ compilerOptions: old, files: ['troco.ts'] }),
  )
  const compiler = resolve('node_modules/.bin/tsc')
  await promisify(execFile)(compiler, ['-p', join(folder, 'tsconfig.old.json')])
  const output = await promisify(execFile)(compiler, ['-p', folder, '--pretty', 'false']).then(
    ({ stdout }) => stdout,
    ({ stdout }) => String(stdout),
  )
  expect(output).not.toContain('troco.ts(')
  expect(output).not.toContain('shop-0.ts(')
  for (const [index, { sign }] of MISTAKES.entries())
    expect(output).toMatch(new RegExp(`shop-${index + 1}\\.ts\\(.*${sign}`))
})

const STRICT = {
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  module: 'nodenext',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  isolatedModules: true,
  noEmit: true,
  types: [],
  allowImportingTsExtensions: true,
}

const SHOP = `import { Troco, type TrocoEvent } from './troco.ts'
export async function shop(troco: Troco): Promise<string> {
  const body = { amount: 1000, client_name: 'Ana', client_email: 'ana@example.com', client_doc: '1' }
  const { transaction_id } = await troco.charges.create(body, { key: 'order-1' })
  await troco.refunds.create(transaction_id, { amount: 500 }, { key: 'refund-1' })
  await troco.refunds.createFull(transaction_id, {}, { key: 'refund-2' })
  for await (const { status } of troco.withdrawals.list({ status: 'pending' })) return status
  return transaction_id
}
export function describeEvent(event: TrocoEvent): string {
  switch (event.type) {
    case 'transaction.paid':
      return event.transaction.transaction_id
    case 'withdrawal.approved':
      return event.withdrawal.pix_key
    case 'unknown':
      return event.event.type
    default:
      return event.type
  }
}
`

const MISTAKES = [
  ["body, { key: 'order-1' })", 'body)', 'Expected 2 arguments'],
  [", { key: 'refund-2' })", ')', 'Expected 3 arguments'],
  ['{ amount: 500 }', '{}', "'amount' is missing"],
  ['amount: 1000', "amount: '10,00'", 'amount: string'],
  ["status: 'pending' }", "status: 'sent' }", '"sent"'],
  ['event.withdrawal.pix_key', 'event.transaction.amount', "'transaction' does not exist"],
].map(([right = '', wrong = '', sign = '']) => {
  expect(SHOP).toContain(right)
  return { source: SHOP.replace(right, wrong), sign }
})

function clientUrl(file: string): string {
  return `${api.url}/docs/clients/${file}`
}

/** What the story of each language must have seen. */
const SEEN = {
  is_same: true,
  float: 'invalid_argument',
  no_key: 'invalid_argument',
  other_body: 'idempotency_key_reused',
  unpaid: 'not_paid',
  paid: 'paid',
  full: 4000,
  refunds: [4000, 1000],
  too_much: {
    code: 'insufficient_balance',
    status: 422,
    fields: { amount: ['Insufficient balance'] },
  },
  listed: ['order-3', 'order-2', 'order-1'],
  approved: 'approved',
  expired: 'charge_expired',
  missing: 'transaction_not_found',
  dots: ['invalid_argument', 'invalid_argument'],
  gaps: ['other_feed'],
  verified: 'transaction.paid',
  tampered: 'invalid_signature',
  no_secret: 'invalid_argument',
  long_time: 'invalid_signature',
  gained: 5000 - 5000 + 5000 - 1500,
}

/** Returns the program and its arguments, or the packages that this machine lacks. */
const RUNNERS = {
  JavaScript: async () => {
    const file = join(makeScratchFolder('troco-client-'), 'troco.mjs')
    writeFileSync(file, await (await fetch(clientUrl('troco.js'))).text())
    return { program: process.execPath, args: [`${FOLDER}/story.mjs`], client: file }
  },
  Python: async () => {
    const program = (await findProgram('python3', ['python3'])) ?? 'python3'
    return { program, args: [`${FOLDER}/story.py`], client: '' }
  },
  PHP: async () => {
    await installPhp()
    return { program: 'php', args: [`${FOLDER}/story.php`], client: '' }
  },
}

async function installPhp(): Promise<void> {
  const isThere = () =>
    promisify(execFile)('php', ['-r', "require '/usr/share/php/GuzzleHttp/autoload.php';"])
  await isThere().catch(async () => {
    await installPackages(['php-cli', 'php-curl', 'php-guzzlehttp-guzzle'])
    await isThere()
  })
}

const LANGUAGES_OF_CLIENT = Object.keys(RUNNERS) as (keyof typeof RUNNERS)[]

describe.each(LANGUAGES_OF_CLIENT)('the client in %s', language => {
  const prepare = RUNNERS[language]

  test('takes each step once, through a network that loses the first response to each key', async () => {
    const { program, args, client } = await prepare()
    const merchant = await makeMerchant()
    await fundMerchant(merchant, 10_000)
    const token = await makeToken(merchant.id)
    const { url, lost } = await openLossyProxy()
    const story = JSON.stringify({ client, url, token, webhook: signWebhook() })
    const { stdout } = await promisify(execFile)(program, [...args, story])
    const { types, ...seen } = JSON.parse(stdout)
    expect(seen).toEqual(SEEN)
    expect(types).toEqual(expect.arrayContaining(['transaction.paid', 'transaction.expired']))
    expect(lost()).toBeGreaterThan(5)
    await expectBalancedLedger(merchant.id)
  })

  test('waits a minute at most, however long the server asks for', async () => {
    const { program, client } = await prepare()
    const pauses = ['86400', '9'.repeat(400)]
    const server = createServer((_request, response) => {
      const pause = pauses.shift()
      if (pause) response.writeHead(429, { 'retry-after': pause }).end()
      else response.end('{"name":"Loja","balance":0}')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const args = SLEEPLESS[language](client, `http://127.0.0.1:${port}`)
    const { stdout } = await promisify(execFile)(program, args)
    expect(stdout.trim().split(/\s+/).map(Number)).toEqual([60, 60])
  })
})

/** Programs that print the seconds of each pause instead of waiting. */
const SLEEPLESS: Record<keyof typeof RUNNERS, (client: string, url: string) => string[]> = {
  JavaScript: (client, url) => [
    '--input-type=module',
    '-e',
    `import { request } from 'node:http'
    import { once } from 'node:events'
    import { Troco } from '${client}'
    const { setTimeout } = globalThis
    // The timers of the global fetch would end at once, too.
    const fetch = async url => {
      const [{ statusCode: status, headers }] = await once(request(url, { agent: false }).end(), 'response')
      return new Response('{}', { status, headers })
    }
    globalThis.setTimeout = (done, ms) => {
      console.log(ms / 1000)
      return setTimeout(done, 0)
    }
    await new Troco({ url: '${url}', token: 'troco_test_x', fetch }).account()`,
  ],
  Python: (_, url) => [
    '-Bc',
    `import sys
sys.path.insert(0, '${FOLDER}')
import troco
troco.time.sleep = print
troco.Troco('${url}', 'troco_test_x').account()`,
  ],
  // PHP looks for a function in the namespace first.
  PHP: (_, url) => [
    '-r',
    `namespace Troco;
    function usleep(int $microseconds): void { echo $microseconds / 1_000_000, "\\n"; }
    require '/usr/share/php/GuzzleHttp/autoload.php';
    require '${FOLDER}/Troco.php';
    $factory = new \\GuzzleHttp\\Psr7\\HttpFactory();
    (new Client('${url}', 'troco_test_x', new \\GuzzleHttp\\Client(), $factory, $factory))->account();`,
  ],
}

function signWebhook() {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const old = `whsec_${randomBytes(32).toString('base64')}`
  const event = { id: 'event-1', type: 'transaction.paid', event: 'paid', sequence: 1 }
  const body = JSON.stringify({ ...event, transaction: { client_name: 'Ação ✓', status: 'paid' } })
  const now = new Date()
  const signature = new Webhook(secret).sign('event-1', now, body)
  const headers = {
    'webhook-id': 'event-1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': `v1,${randomBytes(32).toString('base64')} ${signature}`,
  }
  // Anybody can sign with a key that is empty because a setting is missing.
  const signed = `event-1.${headers['webhook-timestamp']}.${body}`
  const forged = `v1,${createHmac('sha256', '').update(signed).digest('base64')}`
  return { secret, old, body, headers, forged: { ...headers, 'webhook-signature': forged } }
}

/** Forwards requests, but closes the connection instead of returning the first response to each key and body. */
async function openLossyProxy(): Promise<{ url: string; lost: () => number }> {
  const seen = new Set<string>()
  let lost = 0
  const server = createServer(async (request, response) => {
    const body = await readText(request)
    const key = request.headers['idempotency-key']
    const headers = new Headers()
    for (const name of ['authorization', 'content-type', 'idempotency-key']) {
      const value = request.headers[name]
      if (typeof value === 'string') headers.set(name, value)
    }
    const upstream = await fetch(api.url + request.url, {
      method: request.method ?? 'GET',
      headers,
      body: body === '' ? null : body,
    })
    const bytes = Buffer.from(await upstream.arrayBuffer())
    if (key !== undefined && !seen.has(`${key} ${body}`)) {
      seen.add(`${key} ${body}`)
      lost++
      request.socket.destroy()
      return
    }
    const passed = [...upstream.headers].filter(
      ([name]) => !/^(content-|transfer-|connec)/.test(name),
    )
    response.writeHead(upstream.status, Object.fromEntries(passed)).end(bytes)
  })
  server.listen(0, '127.0.0.1')
  await new Promise(done => server.once('listening', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lost: () => lost }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Samples of the guide up to the errors and events; the receivers, which never end, come last. */
test.each(['js', 'python', 'php'] as const)(
  'the samples of the guide in %s run as they are',
  async language => {
    await prepareLanguages()
    await installPhp()
    const folder = makeScratchFolder('troco-guide-')
    for (const file of ['troco.ts', 'troco.js', 'troco.py', 'Troco.php'])
      writeFileSync(join(folder, file), await (await fetch(clientUrl(file))).text())
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const merchant = await makeMerchant()
    const token = await makeToken(merchant.id)
    const { program, args } = LANGUAGES[language]
    const samples = readSamples('clients', 'en', language).slice(0, -1)
    const guzzle = "require '/usr/share/php/GuzzleHttp/autoload.php';"
    const source = [...(language === 'php' ? [guzzle] : []), ...samples]
      .join('\n')
      .replaceAll('http://localhost:3000', api.url)
    const { stdout } = await promisify(execFile)(program(), args(source), {
      cwd: folder,
      env: { ...process.env, TROCO_TOKEN: token },
    })
    expect(stdout).toMatch(/^00020101/)
    expect(stdout).toContain('order-8001 4990')
    expect(stdout).toContain('Insufficient balance')
    expect(stdout).toContain('transaction.paid')
    await expectBalancedLedger(merchant.id)
  },
)

test('the receivers of the guide refuse a webhook that is not signed, and take one that is', async () => {
  await prepareLanguages()
  const folder = makeScratchFolder('troco-guide-')
  for (const file of ['troco.js', 'troco.py', 'Troco.php'])
    writeFileSync(join(folder, file), await (await fetch(clientUrl(file))).text())
  const { secret, body, headers } = signWebhook()
  const receiverOf = (language: 'js' | 'python' | 'php') =>
    readSamples('clients', 'en', language).at(-1) ?? ''
  writeFileSync(join(folder, 'route.mjs'), receiverOf('js').replace('./troco.js', './troco.mjs'))
  renameSync(join(folder, 'troco.js'), join(folder, 'troco.mjs'))
  vi.stubEnv('TROCO_WEBHOOK_SECRET', secret)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { POST } = await import(join(folder, 'route.mjs'))
  const send = async (to: string | null, text: string) => {
    const init = { method: 'POST', body: text, headers }
    const response = to ? await fetch(to, init) : await POST(new Request('http://localhost', init))
    return response.status
  }
  const [python, php] = [await findFreePort(), await findFreePort()]
  const receiver = receiverOf('python').replace('4000', String(python))
  writeFileSync(join(folder, 'receiver.py'), `import os\n${receiver}`)
  writeFileSync(join(folder, 'receiver.php'), receiverOf('php'))
  const children = [
    spawn(LANGUAGES.python.program(), ['receiver.py'], { cwd: folder, stdio: 'ignore' }),
    spawn(LANGUAGES.php.program(), ['-S', `127.0.0.1:${php}`, 'receiver.php'], {
      cwd: folder,
      stdio: 'ignore',
    }),
  ]
  onTestFinished(() => void children.map(child => child.kill()))
  for (const to of [null, `http://127.0.0.1:${python}`, `http://127.0.0.1:${php}`]) {
    await expect.poll(() => send(to, `${body} `).catch(() => 0)).toBe(400)
    expect(await send(to, body)).toBe(204)
  }
})

describe('a webhook', () => {
  const troco = new Troco({ url: 'http://127.0.0.1:1', token: 'troco_test_x' })

  async function receive(verify: (request: IncomingMessage) => Promise<TrocoEvent>, body: string) {
    const { secret, headers } = signWebhook()
    const results: Promise<TrocoEvent>[] = []
    const server = createServer((request, response) => {
      const result = verify(request)
      results.push(result)
      result.catch(() => {}).finally(() => response.end())
    })
    server.listen(0, '127.0.0.1')
    await new Promise(done => server.once('listening', done))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })
    return { secret, result: results[0] }
  }

  test('is verified from a request of node:http, and of Express with its raw body', async () => {
    const { secret, body, headers } = signWebhook()
    for (const express of [false, true]) {
      const verify = async (request: IncomingMessage) => {
        const raw = express ? Buffer.from(await readText(request)) : undefined
        const given = raw ? Object.assign(request, { body: raw }) : request
        return troco.webhooks.verify(Object.assign(given, { headers }), secret)
      }
      const { result } = await receive(verify, body)
      expect(await result).toMatchObject({ type: 'transaction.paid' })
    }
    const parsed = { headers, body: JSON.parse(body) }
    await expect(troco.webhooks.verify(parsed, secret)).rejects.toThrow('express.raw')
  })

  test('of a body without end is refused while it is read', async () => {
    const { secret, headers } = signWebhook()
    let sent = 0
    async function* endless() {
      for (; sent < 100; sent++) yield Buffer.alloc(1 << 20)
    }
    const verified = troco.webhooks.verify(Object.assign(endless(), { headers }), secret)
    await expect(verified).rejects.toMatchObject({ code: 'invalid_signature' })
    expect(sent).toBeLessThan(10)
  })

  test.each([
    ['another secret', { 'webhook-signature': '' }],
    ['an old time stamp', { 'webhook-timestamp': '1700000000' }],
    ['another id', { 'webhook-id': 'event-2' }],
  ])('is refused with %s', async (_, changed) => {
    const { secret, body, headers } = signWebhook()
    const request = new Request('http://localhost', {
      method: 'POST',
      body,
      headers: { ...headers, ...changed },
    })
    const error = await troco.webhooks.verify(request, secret).catch((one: TrocoError) => one)
    expect(error).toMatchObject({ code: 'invalid_signature' })
  })

  test('of a type that the client does not know is marked as unknown', async () => {
    const { secret, headers } = signWebhook()
    const body = JSON.stringify({ id: 'event-1', type: 'transaction.settled', event: 'settled' })
    const signed = new Webhook(secret).sign('event-1', new Date(), body)
    const request = new Request('http://localhost', {
      method: 'POST',
      body,
      headers: { ...headers, 'webhook-signature': signed },
    })
    expect(await troco.webhooks.verify(request, secret)).toMatchObject({
      type: 'unknown',
      event: { type: 'transaction.settled' },
    })
  })
})

test('follow ends with the error of save, even if that one may be repeated', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 1_000)
  const token = await makeToken(merchant.id)
  const troco = new Troco({ url: api.url, token })
  const down = new Troco({ url: 'http://127.0.0.1:1', token, attempts: 1 })
  let saves = 0
  const following = troco.events.follow({
    load: () => null,
    save: async () => {
      saves++
      await down.account()
    },
    pauseMs: 1,
    signal: AbortSignal.timeout(5_000),
  })
  await expect(following).rejects.toMatchObject({ code: 'no_response' })
  expect(saves).toBe(1)
})

test('a wait ends with its signal, and a server that is down with no_response', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  const troco = new Troco({ url: api.url, token })
  const body = {
    amount: 1000,
    client_name: 'Ana',
    client_email: 'ana@example.com',
    client_doc: '529.982.247-25',
  }
  const { transaction_id } = await troco.charges.create(body, { key: 'one' })
  const end = new AbortController()
  const waiting = troco.charges.waitUntilPaid(transaction_id, { signal: end.signal })
  end.abort(new Error('closed'))
  await expect(waiting).rejects.toThrow('closed')
  const down = new Troco({ url: 'http://127.0.0.1:1', token, attempts: 1 })
  await expect(down.account()).rejects.toMatchObject({ code: 'no_response', isRetryable: true })
})

test('an error carries what helps: fields, request id, documentation', async () => {
  const merchant = await makeMerchant()
  const troco = new Troco({ url: api.url, token: await makeToken(merchant.id) })
  const body = { amount: 1, client_name: '', client_email: 'x', client_doc: '1' }
  const error = await troco.charges.create(body, { key: 'one' }).catch((one: TrocoError) => one)
  expect(error).toMatchObject({
    code: 'invalid_input',
    status: 422,
    isRetryable: false,
    requestId: expect.stringMatching(/.+/),
    docs: expect.stringContaining('/docs/'),
    fields: { amount: [expect.stringContaining('amount')], client_name: expect.any(Array) },
  })
})
