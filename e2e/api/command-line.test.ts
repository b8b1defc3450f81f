import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import { CHARGE } from '#lib/testing/charge.ts'
import { deliverDue } from '#lib/testing/deliveries.ts'
import {
  type Api,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { renewFeedEpochs } from '#lib/webhooks/events.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'

// The test plays the worker, which takes the due work of all accounts.
inOwnDatabase()

let api: Api
/** The program as npm installs it from the server. */
let program: string
beforeAll(async () => {
  api = await startApi()
  const folder = makeScratchFolder('troco-cli-')
  const response = await fetch(`${api.url}/docs/clients/troco.tgz`)
  writeFileSync(join(folder, 'troco.tgz'), Buffer.from(await response.arrayBuffer()))
  const flags = ['--offline', '--no-audit', '--no-fund', '--prefix', folder]
  execFileSync('npm', ['install', ...flags, join(folder, 'troco.tgz')], { stdio: 'pipe' })
  program = join(folder, 'node_modules', '.bin', 'troco')
})
afterAll(() => api.close())

test('the package has the same content under its own name and the latest', async () => {
  const { version } = JSON.parse(readFileSync('cli/package.json', 'utf8'))
  const [latest, own] = await Promise.all(
    ['troco', `troco-${version}`].map(async name => {
      const response = await fetch(`${api.url}/docs/clients/${name}.tgz`)
      expect(response.status, name).toBe(200)
      return gunzipSync(Buffer.from(await response.arrayBuffer()))
    }),
  )
  expect(own).toEqual(latest)
  expect(latest?.toString('latin1')).toContain(`"version": "${version}"`)
})

test.each(['en', 'pt-BR'])(
  'the guide in %s names the version that the server has, and no other',
  locale => {
    const { version } = JSON.parse(readFileSync('cli/package.json', 'utf8'))
    const guide = readFileSync(`docs/guides/${locale}/command-line.md`, 'utf8')
    expect(new Set(guide.match(/troco-[\d.]+\d/g))).toEqual(new Set([`troco-${version}`]))
  },
)

test('the server has no package of another version', async () => {
  for (const version of ['1.0.0', '1.0.1', '1.0.2', '99.0.0'])
    expect((await fetch(`${api.url}/docs/clients/troco-${version}.tgz`)).status, version).toBe(404)
})

interface Run {
  code: number
  stdout: string
  stderr: string
}

function environmentOf(token: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH ?? '',
    TROCO_URL: api.url,
    TROCO_TOKEN: token,
  } as unknown as NodeJS.ProcessEnv
}

async function run(args: string[], token: string, url = api.url): Promise<Run> {
  const env = { ...environmentOf(token), TROCO_URL: url }
  return new Promise(resolve => {
    execFile(program, args, { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

async function makeTestToken(): Promise<string> {
  return makeToken((await makeMerchant()).id)
}

/** Runs what a worker would do until the work ends. */
async function withWorker<T>(work: Promise<T>): Promise<T> {
  let isRunning = true
  const ended = work.finally(() => {
    isRunning = false
  })
  while (isRunning) {
    await sendDueRefunds()
    await sendDueWithdrawals()
    await Promise.race([ended, sleep(100)])
  }
  return ended
}

const EVENTS = [
  'transaction.paid',
  'transaction.expired',
  'transaction.failed',
  'transaction.refunded',
  'transaction.refund_failed',
  'transaction.dispute_opened',
  'transaction.dispute_closed',
  'withdrawal.approved',
  'withdrawal.rejected',
  'withdrawal.returned',
]

test('each event that can be triggered happens, and the tail prints them in order', async () => {
  const token = await makeTestToken()
  const types = pickInTurn(EVENTS)
  for (const type of types) {
    const { code, stdout, stderr } = await withWorker(run(['trigger', type, '--json'], token))
    expect([code, stderr], type).toEqual([0, ''])
    expect(JSON.parse(stdout), type).toMatchObject({ type, mode: 'test' })
  }
  const tail = await run(['events', 'tail', '--json', '--after', '0'], token)
  const lines = tail.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(lines.map(({ sequence }) => sequence)).toEqual(lines.map((_, index) => index + 1))
  expect(lines.map(({ type }) => type)).toEqual(expect.arrayContaining(types))
  const [type = ''] = types
  const some = await run(['events', 'tail', '--types', type], token)
  const [header, ...rows] = some.stdout.trimEnd().split('\n')
  expect(header).toMatch(/^TIME \(UTC\) +SEQUENCE +EVENT +AMOUNT +ID$/)
  const shown = rows.map(row => /^\S+ +\d+ +(\S+) +R\$\s\d+,00 +[\w-]{36}$/.exec(row)?.[1])
  expect(new Set(shown)).toEqual(new Set([type]))
})

testInTorture(
  'the tail prints the latest events of a type, however many others came after them',
  async () => {
    const token = await makeTestToken()
    await run(['trigger', 'transaction.failed'], token)
    for (let count = 0; count < 12; count++) {
      const { body } = await call(api.url, 'POST', '/transactions', { token, body: { ...CHARGE } })
      const path = `/sandbox/transactions/${body.data.transaction_id}`
      await call(api.url, 'POST', path, { token, body: { outcome: 'paid' } })
    }
    const readTypes = async (args: string[]) => {
      const { stdout } = await run(['events', 'tail', '--json', ...args], token)
      const lines = stdout.trim().split('\n')
      return lines.map(line => JSON.parse(line).type)
    }
    expect(await readTypes(['--types', 'transaction.failed'])).toEqual(['transaction.failed'])
    const latest = await readTypes(['--types', EVENT_TYPES.join(', ')])
    expect(latest).toEqual(Array.from({ length: 10 }, () => 'transaction.paid'))
  },
)

/** Starts a server that stands between the program and the API. */
async function startServer(respond: RequestListener): Promise<string> {
  const server = createServer(respond).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

testInTorture('a tail that follows outlasts a server that is away, and says so once', async () => {
  const token = await makeTestToken()
  await run(['trigger', 'transaction.paid'], token)
  let count = 0
  const url = await startServer(async (request, response) => {
    // The first two read where to begin; the next ones meet a proxy without a server.
    if (++count > 2 && count < 10) {
      response.writeHead(502, { 'retry-after': '0.01' }).end('<html>Bad gateway</html>')
      return
    }
    const { authorization = '' } = request.headers
    const answer = await fetch(api.url + request.url, { headers: { authorization } })
    const epoch = answer.headers.get('troco-feed-epoch') ?? ''
    response.writeHead(answer.status, { 'troco-feed-epoch': epoch })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  const env = { ...environmentOf(token), TROCO_URL: url }
  const child = spawn(program, ['events', 'tail', '--follow', '--json'], { env })
  onTestFinished(() => void child.kill())
  let notes = ''
  child.stderr.on('data', chunk => {
    notes += chunk
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  expect(JSON.parse(line)).toMatchObject({ type: 'transaction.paid' })
  expect(notes.match(/the server or its proxy is unavailable\n/g)).toHaveLength(1)
})

test('a key makes the program repeat what may have failed halfway, and nothing else', async () => {
  const token = await makeTestToken()
  const keys: string[] = []
  const failures = [
    { status: 500, code: 'internal_error' },
    { status: 409, code: 'in_progress' },
    { status: 422, code: 'amount_invalid' },
  ]
  const url = await startServer(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'troco-feed-epoch': 'a' }).end('{"data":[],"last_sequence":0}')
      return
    }
    keys.push(String(request.headers['idempotency-key']))
    const { status = 200, code = '' } = failures[keys.length - 1] ?? {}
    const headers = { 'x-error-code': code, 'retry-after': '0.01' }
    response.writeHead(status, headers).end('{"errors":"amount is invalid"}')
  })
  const { code, stderr } = await run(['trigger', 'transaction.paid'], token, url)
  expect([code, stderr]).toEqual([1, '422 amount_invalid: amount is invalid\n'])
  expect(keys).toEqual(Array.from({ length: 3 }, () => keys[0]))
})

testInTorture(
  'a server that is no Troco is asked once, and a redirect names the address to use',
  async () => {
    const token = await makeTestToken()
    let count = 0
    const page = await startServer((_, response) => {
      count++
      response.end('<html></html>')
    })
    const stranger = await run(['events', 'tail'], token, page)
    expect([stranger.code, stranger.stderr]).toEqual([
      1,
      `${page}/api is not the API of a Troco server\n`,
    ])
    expect(count).toBe(1)
    const moved = await startServer((_, response) => {
      response.writeHead(308, { location: 'https://pix.shop.example/api/events' }).end()
    })
    const { code, stderr } = await run(['events', 'tail'], token, moved)
    expect([code, stderr]).toEqual([
      1,
      'The server redirects to https://pix.shop.example: use that as --url\n',
    ])
  },
)

test('Ctrl-C ends a trigger with the exit code of an interrupted command', async () => {
  let hasRequest = () => {}
  const requested = new Promise<void>(resolve => {
    hasRequest = resolve
  })
  const url = await startServer(() => hasRequest())
  const env = { ...environmentOf(await makeTestToken()), TROCO_URL: url }
  const child = spawn(program, ['trigger', 'transaction.paid'], { env })
  await requested
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([130, null])
})

/** Starts a receiver that responds with `statuses` in turn and collects what it was sent. */
async function startReceiver(statuses: number[]) {
  const received: { body: string; headers: IncomingMessage['headers'] }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ body, headers: request.headers })
    response.writeHead(statuses[received.length - 1] ?? 204).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

/** Starts `troco listen` and returns its lines, after it has begun to follow. */
async function listen(args: string[], token: string) {
  const child = spawn(program, ['listen', ...args], { env: environmentOf(token) })
  onTestFinished(() => void child.kill())
  const lines: string[] = []
  createInterface(child.stdout).on('line', line => lines.push(line))
  const notes: string[] = []
  createInterface(child.stderr).on('line', line => notes.push(line))
  await expect.poll(() => notes.length).toBe(2)
  return { lines, secret: notes[1] ?? '', notes, child }
}

testInTorture(
  'requests tail prints the latest requests, with --failed those that failed, and follows',
  async () => {
    const token = await makeTestToken()
    const send = async (path: string) => {
      // Other tests of this process may have filled its buffer.
      await storeRequests()
      await call(api.url, 'GET', path, { token })
      await storeRequests()
    }
    await send('/account')
    await send('/transactions/none')
    const all = await run(['requests', 'tail'], token)
    const rows = [
      /^TIME \(UTC\) +STATUS +METHOD +PATH +DURATION +CODE +TOKEN$/,
      /^\S+ +200 +GET +\/account +\S+ ms +test$/,
      /^\S+ +404 +GET +\/transactions\/\{id\} +\S+ ms +transaction_not_found +test$/,
    ]
    const lines = all.stdout.trimEnd().split('\n')
    expect(lines).toEqual(rows.map(row => expect.stringMatching(row)))
    const startOf = (word: string, row: number) => lines[row]?.indexOf(word)
    const starts = [startOf('TOKEN', 0), startOf('test', 1), startOf('test', 2)]
    expect(new Set(starts).size, all.stdout).toBe(1)
    const args = ['requests', 'tail', '--failed', '--json', '--follow']
    const child = spawn(program, args, { env: environmentOf(token) })
    onTestFinished(() => void child.kill())
    const statuses: number[] = []
    createInterface(child.stdout).on('line', line => statuses.push(JSON.parse(line).status))
    await expect.poll(() => statuses, { timeout: 20_000 }).toEqual([404])
    await send('/account')
    await send('/refunds?unknown=1')
    await expect.poll(() => statuses, { timeout: 20_000 }).toEqual([404, 422])
  },
)

test.each([
  ['pay', 'paid'],
  ['expire', 'expired'],
  ['fail', 'failed'],
])('troco %s ends a charge by its reference', async (command, outcome) => {
  const token = await makeTestToken()
  const external_id = `order ${command}/1`
  const { body } = await call(api.url, 'POST', '/transactions', {
    token,
    body: { ...CHARGE, external_id },
  })
  const { code, stdout, stderr } = await run([command, external_id, '--json'], token)
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({
    type: `transaction.${outcome}`,
    transaction: { id: body.data.transaction_id, status: outcome },
  })
  const again = await run([command, external_id], token)
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('409 already_final')])
  const unknown = await run([command, 'no-such-order'], token)
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringContaining('404 transaction_not_found'),
  ])
})

test('troco requests show finds a request by its X-Request-Id, and says what to do', async () => {
  const token = await makeTestToken()
  const body = { ...CHARGE, amount: -1 }
  const headers = { 'x-request-id': 'order-10432' }
  await call(api.url, 'POST', '/transactions', { token, body, headers })
  await storeRequests()
  const { code, stdout } = await run(['requests', 'show', 'order-10432'], token)
  expect(code).toBe(0)
  expect(stdout).toMatch(/422 .*POST .*\/transactions .*invalid_input/)
  expect(stdout).toContain('"amount": -1')
  expect(stdout).not.toContain(CHARGE.client_email)
  expect(stdout).toContain(`${api.url}/docs/errors#invalid_input`)
  const { id } = JSON.parse(
    (await run(['requests', 'show', 'order-10432', '--json'], token)).stdout,
  )
  expect((await run(['requests', 'show', id], token)).stdout).toBe(stdout)
  const unknown = await run(['requests', 'show', randomUUID()], token)
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringMatching(/^No request /)])
})

test('troco explain prints why a request was refused, and the events of what one created', async () => {
  const token = await makeTestToken()
  const send = (body: object, id: string) => {
    return call(api.url, 'POST', '/transactions', { token, body, headers: { 'x-request-id': id } })
  }
  await send({ ...CHARGE, amount: -1 }, 'refused-1')
  await send({ ...CHARGE, external_id: 'order-1' }, 'created-1')
  await run(['pay', 'order-1'], token)
  await storeRequests()
  const refused = await run(['explain', 'refused-1'], token)
  expect(refused.stdout).toMatch(
    /Why {2}\w.*\n\nWhat to do {2}\w.*\n.*\/docs\/errors#invalid_input/,
  )
  const created = await run(['explain', 'created-1'], token)
  expect(created.stdout).toMatch(/Led to\nTIME .*\n.* transaction\.paid /)
  const json = JSON.parse((await run(['explain', 'created-1', '--json'], token)).stdout)
  expect(json).toMatchObject({
    request: { request_id: 'created-1' },
    events: [{ type: 'transaction.paid' }],
  })
})

test('troco events resend sends the webhooks of a charge again', async () => {
  const token = await makeTestToken()
  const { received, url } = await startReceiver([204, 204])
  const body = { ...CHARGE, external_id: 'order-1', webhook_url: url }
  await call(api.url, 'POST', '/transactions', { token, body })
  await run(['pay', 'order-1'], token)
  await deliverDue()
  await expect.poll(() => received.length).toBe(1)
  const { code, stdout } = await run(['events', 'resend', 'order-1'], token)
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^transaction\.paid {2}→ {2}http/)])
  await deliverDue()
  await expect.poll(() => received.length).toBe(2)
  expect(received[1]?.body).toBe(received[0]?.body)
  const unknown = await run(['events', 'resend', 'order-2'], token)
  expect([unknown.code, unknown.stderr]).toEqual([1, 'No delivery of order-2\n'])
  const empty = await run(['events', 'resend', ''], token)
  expect([empty.code, empty.stdout]).toEqual([2, ''])
})

describe('troco check-receiver', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

  test('passes the receiver of the guide', async () => {
    const port = await findFreePort()
    const child = spawn(process.execPath, ['examples/receiver.mjs', secret, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill())
    await once(child.stdout, 'data')
    const to = `http://127.0.0.1:${port}`
    const args = ['check-receiver', '--forward-to', to, '--secret', secret]
    const { code, stdout, stderr } = await run(args, await makeTestToken())
    expect(stdout).not.toContain('FAIL')
    expect([code, stderr]).toEqual([0, expect.stringContaining('9 of 9 passed')])
  })

  test('lets Troco check a saved endpoint, by its address', async () => {
    const token = await makeTestToken()
    const { received, url } = await startReceiver([])
    const refused = await run(['check-receiver', url], token)
    expect([refused.code, refused.stderr]).toEqual([1, `No endpoint for ${url}\n`])
    const body = { url, event_types: ['transaction.paid'] }
    const { body: created } = await call(api.url, 'POST', '/webhooks/endpoints', { token, body })
    const { code, stdout, stderr } = await run(['check-receiver', url], token)
    expect([code, stderr]).toEqual([1, expect.stringContaining('6 of 9 passed')])
    expect(stdout).toMatch(/FAIL {2}refuses a wrong signature +204\n +Verify webhook-signature/)
    const genuine = received[3]
    new Webhook(created.data.secret).verify(
      genuine?.body ?? '',
      genuine?.headers as Record<string, string>,
    )
  })

  test('names what a receiver that believes everything, and one that knows nothing, must mend', async () => {
    const results = async (statuses: number[]) => {
      const { url } = await startReceiver(statuses)
      const args = ['check-receiver', '--forward-to', url, '--json']
      const { code, stdout } = await run(args, await makeTestToken())
      expect(code).toBe(1)
      const lines = stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      return lines.filter(({ passed }) => !passed).map(({ name }) => name)
    }
    expect(await results(Array(10).fill(204))).toEqual([
      'refuses a wrong signature',
      'refuses a changed body',
      'refuses an old time stamp',
    ])
    expect(await results(Array(10).fill(400))).toEqual([
      'takes a genuine event',
      'takes the same event again',
      'takes events out of order',
      'takes a type that it does not know',
      'takes an event of 1 MB',
      'responds within 5 seconds',
    ])
    // A receiver that breaks has not refused.
    expect(await results(Array(10).fill(500))).toHaveLength(9)
  })
})

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync('cli/package.json', 'utf8'))
  expect(await run(['--version'], 'none')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

describe('troco replay and listen --after', () => {
  test('send earlier events again, as they were sent first', async () => {
    const token = await makeTestToken()
    const create = async (external_id: string) => {
      await call(api.url, 'POST', '/transactions', { token, body: { ...CHARGE, external_id } })
      await run(['pay', external_id], token)
    }
    await create('first')
    await create('second')
    const { received, url } = await startReceiver([204, 204, 204, 204])
    const replayed = await run(['replay', 'second', '--forward-to', url, '--json'], token)
    expect([replayed.code, replayed.stderr]).toEqual([0, ''])
    expect(JSON.parse(replayed.stdout)).toMatchObject({ status: 204, event: { sequence: 2 } })
    const { lines } = await listen(['--forward-to', url, '--after', '0', '--json'], token)
    await expect.poll(() => lines.length).toBe(2)
    expect(lines.map(line => JSON.parse(line).event.sequence)).toEqual([1, 2])
    expect(received[2]?.body).toBe(received[0]?.body)
    const unknown = await run(['replay', 'third', '--forward-to', url], token)
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      'No event of third among the latest 10000 events\n',
    ])
  })
})

describe('troco listen', () => {
  testInTorture(
    'forwards events in order, with a signature that Standard Webhooks accepts',
    async () => {
      const token = await makeTestToken()
      await run(['trigger', 'transaction.paid'], token)
      const { received, url } = await startReceiver([204, 500])
      const { lines, secret, child } = await listen(['--forward-to', url, '--json'], token)
      await run(['trigger', 'transaction.paid'], token)
      await run(['trigger', 'transaction.failed'], token)
      await expect.poll(() => lines.length).toBe(2)
      expect(lines.map(line => JSON.parse(line))).toMatchObject([
        { status: 204, event: { type: 'transaction.paid', sequence: 2 } },
        { status: 500, event: { type: 'transaction.failed', sequence: 3 } },
      ])
      for (const { body, headers } of received) {
        const event = new Webhook(secret).verify(body, headers as Record<string, string>)
        expect(event).toMatchObject({ id: headers['webhook-id'] })
      }
      const again = await listen(['--forward-to', url], token)
      expect(again.secret).toBe(secret)
      child.kill('SIGINT')
      expect(await once(child, 'exit')).toEqual([0, null])
    },
  )

  test('sends the bytes and the headers that an endpoint gets', async () => {
    const token = await makeTestToken()
    const { received, url } = await startReceiver([204, 204])
    const { lines } = await listen(['--forward-to', `${url}listen`, '--json'], token)
    const types = { event_types: ['transaction.paid'], full_documents: true }
    const endpoint = { url: `${url}endpoint`, ...types }
    await call(api.url, 'POST', '/webhooks/endpoints', { token, body: endpoint })
    const extra = { items: [{ name: 'Café "ção" \\ 😀 {', price: 1.5 }], utms: { a: '}{', 1: 2 } }
    const { body } = await call(api.url, 'POST', '/transactions', {
      token,
      body: { ...CHARGE, ...extra, metadata: { id: 9_007_199_254_740_991 } },
    })
    const path = `/sandbox/transactions/${body.data.transaction_id}`
    await call(api.url, 'POST', path, { token, body: { outcome: 'paid' } })
    await expect.poll(() => lines.length).toBe(1)
    await deliverDue()
    const [listened, delivered] = received
    expect(JSON.parse(listened?.body ?? '')).toMatchObject({ products: extra.items })
    expect(listened?.body).toBe(delivered?.body)
    const namesOf = (one: typeof listened) => Object.keys(one?.headers ?? {}).toSorted()
    // The feed does not tell which request caused an event.
    const expected = namesOf(delivered).filter(name => name !== 'troco-request-id')
    expect(namesOf(listened)).toEqual(expected)
    for (const name of [
      'user-agent',
      'content-type',
      'accept-encoding',
      'webhook-id',
      'content-length',
    ])
      expect(listened?.headers[name], name).toBe(delivered?.headers[name])
  })

  describe.skipIf(process.platform !== 'linux')('in a terminal', () => {
    /** Runs a line of shell in a terminal of its own, to which `type` sends keys. */
    async function openTerminal(line: string, token: string) {
      const env = { ...environmentOf(token), SHELL: '/bin/sh' }
      const child = spawn('script', ['-qfc', line, '/dev/null'], { env })
      onTestFinished(() => void child.kill('SIGKILL'))
      let screen = ''
      child.stdout.on('data', chunk => {
        screen += chunk
      })
      return { shown: () => screen, type: (keys: string) => child.stdin.write(keys), child }
    }

    test('r sends the last event again, and Ctrl-C ends', async () => {
      const token = await makeTestToken()
      const { received, url } = await startReceiver([])
      const { shown, type, child } = await openTerminal(
        `${program} listen --forward-to ${url}`,
        token,
      )
      await expect.poll(shown).toContain('Press r to send the last event again')
      type('r')
      await expect.poll(shown).toContain('No event has been sent yet')
      await run(['trigger', 'transaction.paid'], token)
      await expect.poll(() => received.length).toBe(1)
      type('r')
      await expect.poll(() => received.length).toBe(2)
      expect(received[1]?.body).toBe(received[0]?.body)
      expect(received[1]?.headers['webhook-id']).toBe(received[0]?.headers['webhook-id'])
      type('\u0003')
      expect(await once(child, 'exit')).toEqual([0, null])
    })

    test('in the background it reads no keys, so that the terminal does not stop it', async () => {
      const token = await makeTestToken()
      const { received, url } = await startReceiver([])
      const { shown, type } = await openTerminal(
        `set -m; ${program} listen --forward-to ${url} & read -r line; echo "read $line"; wait`,
        token,
      )
      await expect.poll(shown).toContain('They are signed with')
      await run(['trigger', 'transaction.paid'], token)
      await expect.poll(() => received.length).toBe(1)
      type('r\r')
      await expect.poll(shown).toContain('read r')
      await run(['trigger', 'transaction.failed'], token)
      await expect.poll(() => received.length).toBe(2)
      expect(shown()).not.toContain('Press r')
    })

    test('after Ctrl-Z and bg it goes on, and reads keys again in front', async () => {
      const token = await makeTestToken()
      const { received, url } = await startReceiver([])
      const { shown, type } = await openTerminal('exec sh -im', token)
      type(`${program} listen --forward-to ${url}\r`)
      await expect.poll(shown).toContain('Press r to send the last event again')
      type('\u001a')
      await expect.poll(shown).toMatch(/Stopped/)
      type('bg\r')
      await run(['trigger', 'transaction.paid'], token)
      await expect.poll(() => received.length).toBe(1)
      type('echo still $((40 + 2))\r')
      await expect.poll(shown).toContain('still 42')
      type('fg\r')
      await run(['trigger', 'transaction.failed'], token)
      await expect.poll(() => received.length).toBe(2)
      await expect
        .poll(() => {
          type('r')
          return received.length
        })
        .toBeGreaterThan(2)
    })
  })

  testInTorture('prints the status and the duration of each response for people', async () => {
    const token = await makeTestToken()
    const { url } = await startReceiver([204, 500])
    const { lines } = await listen(['--forward-to', url], token)
    await run(['trigger', 'transaction.paid'], token)
    await run(['trigger', 'transaction.failed'], token)
    await expect.poll(() => lines.length).toBe(3)
    expect(lines).toEqual([
      expect.stringMatching(/^TIME \(UTC\) .* RECEIVER$/),
      expect.stringMatching(/ transaction\.paid .* {2}→ 204 in \d+ ms$/),
      expect.stringMatching(/ transaction\.failed .* {2}→ 500 in \d+ ms$/),
    ])
    expect(lines[1]?.indexOf('→')).toBe(lines[0]?.indexOf('RECEIVER'))
  })

  testInTorture('says that the receiver did not respond, and goes on', async () => {
    const token = await makeTestToken()
    const port = await findFreePort()
    const { lines } = await listen(['--forward-to', `127.0.0.1:${port}/`], token)
    await run(['trigger', 'transaction.paid'], token)
    await expect.poll(() => lines[1]).toMatch(/transaction\.paid .*→ no response: ECONNREFUSED$/)
  })

  testInTorture('follows the new events after a restored backup', async () => {
    const { id } = await makeMerchant()
    const token = await makeToken(id)
    await run(['trigger', 'transaction.paid'], token)
    const { url } = await startReceiver([])
    const { lines, notes } = await listen(['--forward-to', url, '--json'], token)
    expect(await renewFeedEpochs(id)).toBe(2)
    await expect.poll(() => notes[2]).toContain('A backup was restored')
    await run(['trigger', 'transaction.failed'], token)
    await expect.poll(() => lines.length).toBe(1)
    expect(JSON.parse(lines[0] ?? '').event.type).toBe('transaction.failed')
  })
})

/** `troco listen` follows the same feed across a restore. */
testInTorture('events tail shows the last events across a restore', async () => {
  const { id } = await makeMerchant()
  const token = await makeToken(id)
  for (let count = 0; count < 2; count++) await run(['trigger', 'transaction.failed'], token)
  await renewFeedEpochs(id)
  await run(['trigger', 'transaction.paid'], token)
  const { stdout, stderr } = await run(['events', 'tail', '--json'], token)
  const lines = stdout.trim().split('\n')
  expect(lines.map(line => JSON.parse(line).sequence)).toEqual([1, 2, 2 ** 32 + 1])
  expect(stderr).toBe('')
})

/** One of each kind of mistake first: the others only in `npm run torture`. */
const MISTAKES: [string[], number, string][] = [
  [['listen'], 2, '--forward-to'],
  [['events', 'tail', '--types', ''], 2, '"" is not an event type'],
  [['listenfoo'], 2, 'Unknown command: listenfoo'],
  [['trigger', 'transaction.settled'], 2, 'never causes transaction.settled'],
  [['--fly'], 2, "Unknown option '--fly'"],
  [
    ['events', 'tail', '--after', '900'],
    1,
    '422 after_beyond_feed: after: after must be at most 0',
  ],
  [['listen', '--forward-to', 'ftp://127.0.0.1'], 2, '--forward-to must be'],
  [['listen', '--forward-to', 'http://'], 2, '--forward-to must be'],
  [
    ['listen', '--forward-to', '127.0.0.1:9', '--types', 'transaction.paid,transaction.payed'],
    2,
    '"transaction.payed" is not an event type. Event types: transaction.',
  ],
  [['events', 'tail', '--url', 'http://'], 2, '--url must be'],
  [['events'], 2, 'Unknown command: events'],
  [['listen', '--forward-to', 'http://127.0.0.1:9', '--secret', 'x'], 2, 'whsec_'],
  [['trigger'], 2, 'needs an event type'],
  [['trigger', 'toString'], 2, 'never causes toString'],
  [['events', 'tail', '--after', '-1'], 2, '--after'],
  [['events', 'tail', '--secret', 'whsec_x'], 2, 'has no option --secret'],
  [['fly'], 2, 'Unknown command: fly'],
  [['events', 'tail', '--url', 'http://localhost:1'], 1, 'No response from http://localhost:1/api'],
]

describe('a command that cannot run', () => {
  test.each(MISTAKES.slice(0, pickSize(3, MISTAKES.length)))(
    '%j says what to do',
    async (args, code, message) => {
      const result = await run(args, await makeTestToken())
      expect(result.stdout).toBe('')
      expect(result.stderr).toContain(message)
      expect(result.code).toBe(code)
    },
  )

  test('names the code of an error and the page that explains it', async () => {
    const { code, stderr } = await run(['events', 'tail'], 'troco_test_none')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^401 unauthenticated: .*\nhttp.*\/docs\/errors#unauthenticated\n$/)
  })

  testInTorture('never prints a token that it refuses', async () => {
    const token = await makeTestToken()
    const padded = await run(['events', 'tail'], ` ${token}\n`)
    expect([padded.code, padded.stderr]).toEqual([0, ''])
    for (const value of [`Bearer ${token}`, `${token}\nx`, `${token}é`, '…', 'troco_test_']) {
      const { code, stderr } = await run(['events', 'tail'], value)
      expect([code, stderr.includes('The token is invalid')]).toEqual([2, true])
      expect(stderr).not.toContain(token)
    }
  })

  test('never moves money in live mode', async () => {
    for (const args of [
      ['trigger', 'transaction.paid'],
      ['listen', '--forward-to', 'http://127.0.0.1:9'],
    ]) {
      const { code, stderr } = await run(args, 'troco_live_x')
      expect([code, stderr.includes('test mode only')]).toEqual([2, true])
    }
  })
})
