/**
 * The product for tests of programs that use it: API, worker and simulated bank on a database of its own, with a
 * control interface below /testing. Started by index.cjs; ends when nobody is connected to /testing/alive any more.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { Client } from 'pg'
import { createAccount } from '#lib/accounts/create.ts'
import { createCharge } from '#lib/charges/create.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { redirectConsole } from '#lib/core/log.ts'
import { inheritedEnv, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { openEmbedded } from '#lib/db/embedded.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { startListening } from '#lib/db/wake.ts'
import { sendResponse } from '#lib/http/api.ts'
import { createFront } from '#lib/http/front.ts'
import { startStoringRequests } from '#lib/http/request-log.ts'
import { errorResponse } from '#lib/http/response.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { createEndpoint, readCreatedEndpoint } from '#lib/webhooks/endpoints.ts'
import { EVENT_TYPES } from '#lib/webhooks/states.ts'
import { startWorker } from '#lib/worker/worker.ts'

/** Folder of PostgreSQL's files, which the next run finds again. */
const FOLDER = resolve(inheritedEnv().TROCO_TESTING_DATA ?? '.cache/testing')
/** Time without a client after which the server ends: the next test file finds it within it. */
const GRACE_MS = 10_000
const SYSTEM = { type: 'system' } as const
const BODY_BYTES_MAX = 1 << 20

/** State of one account: the faults that its next requests meet, and its webhooks. */
interface Shop {
  faults: Fault[]
  isBankDown: boolean
  webhooks: Webhooks
}

interface Fault {
  method: string | null
  path: RegExp
  effect: number | 'timeoutBefore' | 'timeoutAfterCommit'
}

/** A webhook as it arrived. */
interface Received {
  headers: IncomingHttpHeaders
  body: string
}

interface Webhooks {
  received: Received[]
  waiting: Set<() => void>
  forwardTo: string | null
  /** How many of the next webhooks meet with each mishap on their way to `forwardTo`. */
  mishaps: Record<Mishap, number>
  /** Held back until the one after it has been forwarded. */
  held: Received | null
}

const MISHAPS = ['duplicate', 'reorder', 'drop', 'tamper'] as const
type Mishap = (typeof MISHAPS)[number]

const shops = new Map<string, Shop>()
const accountOfToken = new Map<string, string>()

/** The problem of a control request, returned as 422. */
class Misuse extends Error {}

const { embedded, dropDatabase } = await openDatabase()
const server = createServer(handle)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
supplyEnv({ PUBLIC_URL: url })
redirectConsole()
const front = await createFront(async (_request, response) => {
  response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}')
})
front.listen(0, '127.0.0.1')
await once(front, 'listening')
const inner = (front.address() as AddressInfo).port
// On a port of their own: the product refuses to send webhooks to itself.
const hooks = createServer(takeWebhook)
hooks.listen(0, '127.0.0.1')
await once(hooks, 'listening')
const hooksUrl = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}`
const stopListening = startListening()
const stopStoring = startStoringRequests()
const worker = startWorker()
let clientCount = 0
let ending = setTimeout(stop, GRACE_MS)
process.stdout.write(`${JSON.stringify({ url, pid: process.pid })}\n`)

async function stop(): Promise<void> {
  for (const one of [server, front, hooks]) {
    one.closeAllConnections()
    one.close()
  }
  await worker.stop()
  await stopStoring()
  await stopListening()
  await disconnect()
  await dropDatabase().catch(() => {})
  await embedded.release()
  process.exit(0)
}

/** Copies a migrated database, and lets it commit without waiting for the disk: nothing in it outlives the run. */
async function openDatabase() {
  const opened = await openEmbedded({
    dataFolder: FOLDER,
    password: 'only-for-tests',
    settings: { max_connections: '300' },
  })
  const hash = createHash('sha256')
  for (const file of globSync('prisma/{migrations/*,functions}/*.sql').sort())
    hash.update(readFileSync(file))
  const template = `template_${hash.digest('hex').slice(0, 16)}`
  const name = `run_${randomBytes(8).toString('hex')}`
  const at = (base: string, database: string) => {
    const changed = new URL(base)
    changed.pathname = database
    return changed.href
  }
  supplyEnv({
    TROCO_ENV: 'local',
    TROCO_SECRET: 'a-server-key-of-tests-that-protects-nothing-of-value',
    LOG_FILE: resolve(FOLDER, 'server.log'),
    DATABASE_URL: at(opened.url, name),
    RATE_TOKEN_PER_SECOND: '0',
    RATE_IP_PER_SECOND: '0',
    RATE_FAILED_BEARERS_PER_MINUTE: '0',
    TEST_BYTES_PER_DAY: '0',
  })
  await withAdmin(at(opened.superuserUrl, 'postgres'), async admin => {
    // Servers that start at once prepare the template once.
    await admin.query('SELECT pg_advisory_lock(72707371)')
    const { rows } = await admin.query('SELECT datname FROM pg_database')
    const names = rows.map(({ datname }) => String(datname))
    if (!names.includes(template)) {
      const draft = `draft_${name}`
      await admin.query(`CREATE DATABASE ${draft} OWNER troco`)
      await prepareDatabase({
        url: at(opened.url, draft),
        ownerUrl: at(opened.ownerUrl, draft),
        isAllowed: true,
      })
      await admin.query(`ALTER DATABASE ${draft} RENAME TO ${template}`)
    }
    // Databases of earlier runs that were killed. PostgreSQL refuses to drop one that is in use.
    for (const left of names.filter(one => /^(run|draft)_/.test(one)))
      await admin.query(`DROP DATABASE ${left}`).catch(() => {})
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} OWNER troco STRATEGY FILE_COPY`)
    const settingsOfTemplate = await admin.query(
      `SELECT line FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase,
         unnest(setconfig) AS line WHERE setrole = 0 AND datname = $1`,
      [template],
    )
    for (const { line } of [...settingsOfTemplate.rows, { line: 'synchronous_commit=off' }]) {
      const [setting = '', value = ''] = String(line).split('=')
      await admin.query(`ALTER DATABASE ${name} SET ${setting} TO '${value}'`)
    }
  })
  const dropDatabase = () =>
    withAdmin(at(opened.superuserUrl, 'postgres'), admin =>
      admin.query(`DROP DATABASE ${name} WITH (FORCE)`),
    )
  return { embedded: opened, dropDatabase }
}

async function withAdmin<T>(
  connectionString: string,
  work: (admin: Client) => Promise<T>,
): Promise<T> {
  const admin = new Client({ connectionString })
  await admin.connect()
  return work(admin).finally(() => admin.end())
}

/** Serves control requests, lets faults happen, and hands everything else to the product. */
async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = URL.parse(incoming.url ?? '/', url)
  if (!target) return void front.emit('request', incoming, response)
  const { pathname, searchParams } = target
  try {
    if (pathname.startsWith('/testing/')) {
      if (isBrowser(incoming)) return respond(response, 403, { error: 'not for browsers' })
      if (pathname === '/testing/alive') return holdAlive(response)
      const body = await readBody(incoming)
      const segments = pathname.split('/').slice(2)
      const result = await control(incoming, segments, searchParams, body)
      return respond(response, 200, result)
    }
    const token = /^bearer (.+)$/i.exec(incoming.headers.authorization ?? '')?.[1] ?? ''
    const shop = shops.get(accountOfToken.get(token) ?? '')
    const effect = shop && takeEffect(shop, incoming.method ?? 'GET', pathname)
    if (effect === undefined) return void front.emit('request', incoming, response)
    await letHappen(effect, incoming, response)
  } catch (error) {
    const status = error instanceof Misuse ? 422 : 500
    respond(response, status, { error: error instanceof Error ? error.message : String(error) })
  }
}

/** A page in a browser of this machine must not drive the server, not even by a name that leads here. */
function isBrowser({ headers }: IncomingMessage): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers
  return origin !== undefined || site !== undefined || host !== new URL(url).host
}

function holdAlive(response: ServerResponse): void {
  clientCount++
  clearTimeout(ending)
  response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
  response.on('close', () => {
    clientCount--
    if (clientCount === 0) ending = setTimeout(stop, GRACE_MS)
  })
}

async function control(
  { method }: IncomingMessage,
  [resource, id = '', action = '', detail = '']: string[],
  query: URLSearchParams,
  body: string,
): Promise<object> {
  const given = body === '' ? {} : JSON.parse(body)
  if (resource !== 'accounts') throw new Misuse(`unknown: ${resource}`)
  if (id === '') return openShop(given)
  const shop = requireShop(id)
  const { webhooks } = shop
  switch (`${method} ${action}${detail && `/${detail}`}`) {
    case 'POST bank':
      shop.isBankDown = given.state === 'down'
      return {}
    case 'POST faults':
      shop.faults.push(readFault(given))
      return {}
    case 'POST webhooks':
      webhooks.forwardTo = given.forward_to ?? webhooks.forwardTo
      for (const mishap of MISHAPS) webhooks.mishaps[mishap] += Number(given[mishap] ?? 0)
      return {}
    case 'GET webhooks/next':
      return nextWebhook(webhooks, query.get('type'), Number(query.get('timeout_ms') ?? 10_000))
    case 'GET ledger': {
      const { findings } = await verifyLedger(db(), id)
      return { violations: findings.filter(({ violation }) => violation !== null) }
    }
    default:
      throw new Misuse(`unknown: ${method} ${action}`)
  }
}

function requireShop(id: string): Shop {
  const shop = shops.get(id)
  if (!shop) throw new Misuse(`no account ${id} was made here`)
  return shop
}

/** Opens an account with a token of all permissions, an endpoint for all events, and a balance. */
async function openShop({ balance = 0, name = 'Loja de teste' }) {
  if (!Number.isSafeInteger(balance) || balance < 0)
    throw new Misuse('balance must be a whole number of cents')
  const ownerEmail = `owner-${newId()}@shop.example`
  const account = await createAccount({ name, ownerEmail }, SYSTEM)
  const { id } = account
  const empty = { duplicate: 0, reorder: 0, drop: 0, tamper: 0 }
  const webhooks = { received: [], waiting: new Set<() => void>(), forwardTo: null, held: null }
  shops.set(id, { faults: [], isBankDown: false, webhooks: { ...webhooks, mishaps: empty } })
  if (balance > 0) {
    const { id: chargeId } = await createCharge(
      account,
      'test',
      { ...PAYER, amount: balance },
      null,
    )
    await simulateCharge(id, chargeId, 'paid')
  }
  const owner = {
    accountId: id,
    mode: 'test' as const,
    readsPayers: true,
    note: async () => {},
  }
  const [token, endpointId] = await Promise.all([
    issueToken(
      { accountId: id, mode: 'test', name: 'Tests', permissions: [...PERMISSIONS] },
      SYSTEM,
    ),
    createEndpoint(owner, {
      url: `${hooksUrl}/${id}`,
      event_types: [...EVENT_TYPES],
      full_documents: true,
    }),
  ])
  accountOfToken.set(token.token, id)
  const endpoint = await readCreatedEndpoint(id, 'test', endpointId)
  return { id, token: token.token, webhook_secret: endpoint.secret, url, api: `${url}/api` }
}

const PAYER = {
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '52998224725',
}

/** Reads `{ path: '/transactions/{id}', method?, once: 503 | 'timeoutBefore' | 'timeoutAfterCommit' }`. */
function readFault({ path, method, once: effect }: Record<string, unknown>): Fault {
  const isStatus = typeof effect === 'number' && effect >= 400 && effect <= 599
  if (!isStatus && effect !== 'timeoutBefore' && effect !== 'timeoutAfterCommit')
    throw new Misuse("once must be a status from 400, 'timeoutBefore' or 'timeoutAfterCommit'")
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw new Misuse('path must begin with /, as in /transactions/{id}')
  const pattern = path
    .split(/\{\w+\}/)
    .map(part => RegExp.escape(part))
    .join('[^/]+')
  return {
    method: typeof method === 'string' ? method : null,
    path: new RegExp(`^(/api)?${pattern}$`),
    effect: effect as Fault['effect'],
  }
}

/** Returns what happens to this request, and removes the fault. A bank that is down refuses new orders only. */
function takeEffect(shop: Shop, method: string, path: string): Fault['effect'] | undefined {
  const index = shop.faults.findIndex(
    fault => (fault.method === null || fault.method === method) && fault.path.test(path),
  )
  if (index >= 0) return shop.faults.splice(index, 1)[0]?.effect
  const isOrder = /^\/api\/(transactions(\/[^/]+\/refunds)?|withdrawals)$/.test(path)
  return shop.isBankDown && method === 'POST' && isOrder ? 503 : undefined
}

/** Errors whose responses the product writes itself. Any other status is answered as a proxy in front of it would. */
const ERRORS: Record<number, (() => Error) | undefined> = {
  401: () => refuse('unauthenticated'),
  403: () => refuse('account_not_active'),
  429: () => refuse('too_many_requests', { retryAfterS: 1 }),
  500: () => new Error('a test asked for this error'),
  503: () => refuse('service_unavailable', { retryAfterS: 1 }),
}

async function letHappen(
  effect: Fault['effect'],
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (typeof effect === 'number') {
    incoming.resume()
    const error = ERRORS[effect]?.()
    return error
      ? sendResponse(response, errorResponse(error, 'field_messages', newId()))
      : respond(response, effect, { error: `HTTP ${effect}` })
  }
  const body = await readBody(incoming)
  if (effect === 'timeoutAfterCommit') {
    const { method, url: path, headers } = incoming
    const { 'transfer-encoding': _, ...passed } = headers
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request({
      port: inner,
      host: '127.0.0.1',
      method,
      path,
      headers: { ...passed, ...length },
    })
    outgoing.end(body)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    await once(answer.resume(), 'end')
  }
  response.destroy()
}

async function takeWebhook(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers } = incoming
  const shop = shops.get(incoming.url?.slice(1) ?? '')
  try {
    const status = shop
      ? await handOn(shop.webhooks, { headers, body: await readBody(incoming) })
      : 404
    response.writeHead(status).end()
  } catch {
    // Cut off within its body, or too large.
    response.writeHead(400).end()
  }
}

/** Hands a webhook on with the mishap that was asked for. Returns the status for the worker. */
async function handOn(webhooks: Webhooks, received: Received): Promise<number> {
  webhooks.received.push(received)
  for (const resume of webhooks.waiting) resume()
  const { mishaps, forwardTo, held } = webhooks
  if (!forwardTo || take(mishaps, 'drop')) return 204
  if (take(mishaps, 'reorder')) {
    webhooks.held = received
    return 204
  }
  if (take(mishaps, 'tamper')) {
    const { body } = received
    const forged = body.replace(/"amount":(\d+)/, (_, amount) => `"amount":${Number(amount) + 1}`)
    await forward(forwardTo, { ...received, body: forged === body ? `${body} ` : forged })
  }
  const status = await forward(forwardTo, received)
  if (take(mishaps, 'duplicate')) await forward(forwardTo, received)
  if (held) {
    webhooks.held = null
    await forward(forwardTo, held)
  }
  return status
}

function take(mishaps: Webhooks['mishaps'], mishap: Mishap): boolean {
  if (mishaps[mishap] === 0) return false
  mishaps[mishap]--
  return true
}

/** Returns the status of the program under test; 502 if it was not reached, so that the worker tries again. */
async function forward(to: string, { headers, body }: Received): Promise<number> {
  const names = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature']
  const passed = Object.fromEntries(names.map(name => [name, String(headers[name] ?? '')]))
  return fetch(to, { method: 'POST', headers: passed, body }).then(
    ({ status }) => status,
    () => 502,
  )
}

/** Waits for the next webhook of a type, and hands each out once. */
async function nextWebhook(webhooks: Webhooks, type: string | null, timeoutMs: number) {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const index = webhooks.received.findIndex(
      ({ body }) => type === null || JSON.parse(body).type === type,
    )
    const found = index < 0 ? undefined : webhooks.received.splice(index, 1)[0]
    if (found) return { ...found, event: JSON.parse(found.body) }
    const left = deadline - Date.now()
    if (left <= 0) {
      const others = webhooks.received.map(({ body }) => JSON.parse(body).type).join(', ')
      throw new Misuse(
        `no webhook ${type ?? ''} within ${timeoutMs} ms; received: ${others || 'none'}`,
      )
    }
    await new Promise<void>(resume => {
      const timer = setTimeout(done, left)
      function done() {
        clearTimeout(timer)
        webhooks.waiting.delete(done)
        resume()
      }
      webhooks.waiting.add(done)
    })
  }
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) throw new Misuse('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
