import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import {
  connect,
  type Database,
  databaseLimits,
  db,
  disconnect,
  pool,
  type Tx,
} from '#lib/db/client.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { cleanUp, findProcessesIn, kill, makeFolder, openForTest } from '#lib/testing/embedded.ts'
import { makeDatabase, makeMerchant, makeToken, runAsOwner } from '#lib/testing/fixtures.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const LIMITS = { DATABASE_TIMEOUT_MS: '5000' }
/** Without the limit, a request would wait until the test ends. */
const RESPONSE_MAX_MS = 20_000

const runDatabase = env().DATABASE_URL ?? ''
const children: ChildProcess[] = []
const { DATABASE_TIMEOUT_MS = '' } = process.env
beforeEach(() => supplyEnv(LIMITS))
afterEach(async () => {
  supplyEnv({ DATABASE_URL: runDatabase, PG_NAMED_STATEMENTS: 'true', DATABASE_TIMEOUT_MS })
  await disconnect()
  for (const child of children.splice(0)) await kill(child)
  await cleanUp()
})
afterAll(disconnect)

/** Runs a module in another process at the repository's root. Returns its first line of output. */
async function runInChildProcess(code: string, settings: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: new URL('../..', import.meta.url),
    env: { ...process.env, ...LIMITS, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return line
}

/**
 * Starts the API in another process with its own pool. Returns a function that sends a request with
 * a valid token.
 */
async function startApiProcess(url: string, poolMax = 2) {
  supplyEnv({ DATABASE_URL: url })
  await disconnect()
  const merchant = await makeMerchant('Padaria Aurora')
  const token = await makeToken(merchant.id)
  const port = await runInChildProcess(
    `const { createFront } = await import('#lib/http/front.ts')
    const front = await createFront(async (_, response) => { response.writeHead(404).end() })
    front.listen(0, '127.0.0.1', () => console.log(front.address().port))`,
    { DATABASE_URL: url, DATABASE_POOL_MAX: `${poolMax}` },
  )
  return async () => {
    const startedAt = Date.now()
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${port}/api/account`, { headers })
    const body = await response.json()
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, body, retryAfter, tookMs: Date.now() - startedAt }
  }
}

type TimedResponse = Awaited<ReturnType<Awaited<ReturnType<typeof startApiProcess>>>>

const OK_RESPONSE = { status: 200, body: { name: 'Padaria Aurora', balance: 0 } }

function expectUnavailable(responses: TimedResponse[]): void {
  for (const { status, body, retryAfter, tookMs } of responses) {
    expect({ status, body }).toEqual({ status: 503, body: { error: 'Service unavailable' } })
    expect(retryAfter).toMatch(/^[1-9]\d*$/)
    expect(tookMs).toBeLessThan(RESPONSE_MAX_MS)
  }
}

test.each([1_000, 5_000, 120_000])('the limits of %i ms fit into it, the server’s first', total => {
  supplyEnv({ DATABASE_TIMEOUT_MS: `${total}` })
  const { connection, query, statement } = databaseLimits()
  expect(connection + query).toBeLessThanOrEqual(total)
  expect(query - statement).toBe(200)
  if (total === 5_000) expect([connection, query, statement]).toEqual([2_000, 2_800, 2_600])
})

describe('a pool with all connections busy', () => {
  test('refuses the next query after a while as a temporary failure, before the others end', async () => {
    const pool = connect({ poolMax: 2, queryTimeoutMs: 8_000 })
    const ended: string[] = []
    const run = (name: string, seconds: number) =>
      pool.$queryRaw`SELECT pg_sleep(${seconds})`
        .catch(error => error)
        .finally(() => ended.push(name))
    await Promise.all([run('warm', 0.1), run('warm', 0.1)])
    ended.length = 0
    const busy = [1, 2].map(() => run('busy', 60))
    await sleep(200)
    const errors = await Promise.all([run('next', 0), ...busy])
    expect(errors.map(isDatabaseUnavailable)).toEqual([true, true, true])
    expect(ended).toEqual(['next', 'busy', 'busy'])
    expect(await pool.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }])
    await pool.$disconnect()
  })

  testInTorture('responds 503 to all requests, and works again without a restart', async () => {
    const url = await makeDatabase()
    const request = await startApiProcess(url)
    expect(await request()).toMatchObject(OK_RESPONSE)
    const blocker = new Client({ connectionString: url })
    await blocker.connect()
    await blocker.query('BEGIN; LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE')
    expectUnavailable(await Promise.all([1, 2, 3, 4, 5].map(request)))
    await blocker.end()
    expect(await request()).toMatchObject(OK_RESPONSE)
  })

  test('a pool without a query timeout does not cut off a transaction that lifts the limit of its role', async () => {
    const pool = connect({ poolMax: 2 })
    const readSlowly = async (tx: Tx) => {
      await tx.$executeRaw`SET LOCAL statement_timeout = 0`
      return tx.$queryRaw`SELECT 1 AS one FROM pg_sleep(4.8)`
    }
    expect(await pool.$transaction(readSlowly, { timeout: 60_000 })).toEqual([{ one: 1 }])
    await pool.$disconnect()
  })
})

/** `bin/start` kills the database under a server, and one test above lets all connections be busy. */
testInTorture(
  'the API needs no restart after the database hangs, dies and comes back',
  async () => {
    const dataFolder = makeFolder()
    // The second server must use the same port; findFreePort avoids the ports that the kernel gives
    // to other sockets.
    const port = `${await findFreePort()}`
    const embedded = await openForTest(dataFolder, { settings: { port } })
    await prepareDatabase(embedded)
    const request = await startApiProcess(embedded.url, 4)
    expect(await request()).toMatchObject(OK_RESPONSE)

    const frozen = findProcessesIn(embedded.location)
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    const requests = [request(), request(), sleep(1_000).then(request)]
    await sleep(6_000)
    for (const pid of frozen) process.kill(pid, 'SIGCONT')
    expectUnavailable(await Promise.all(requests))
    expect(await request()).toMatchObject(OK_RESPONSE)

    process.kill(embedded.pid, 'SIGKILL')
    await expect.poll(() => findProcessesIn(embedded.location), { timeout: 5_000 }).toEqual([])
    expectUnavailable(await Promise.all([request(), request(), request()]))
    await openForTest(dataFolder, { settings: { port } })
    expect(await request()).toMatchObject(OK_RESPONSE)
  },
)

describe('a lost database is recognized in raw statements, queries and transactions', () => {
  const operations = {
    'raw statement': (pool: Database) => pool.$queryRaw`SELECT 1 FROM pg_sleep(1)`,
    query: (pool: Database) => pool.account.findMany({ take: 1 }),
    transaction: (pool: Database) => pool.$transaction(tx => tx.$queryRaw`SELECT pg_sleep(1)`),
  }

  async function expectDatabaseLost(url: string, names = Object.keys(operations)): Promise<void> {
    for (const [name, run] of Object.entries(operations)) {
      if (!names.includes(name)) continue
      const pool = connect({ url, poolMax: 1 })
      const error = await run(pool).then(
        () => new Error('it answered'),
        fault => fault,
      )
      expect(isDatabaseUnavailable(error), `${name}: ${error.message}`).toBe(true)
      await pool.$disconnect()
    }
  }

  /** Connects through a proxy that ends every connection after 300 ms. */
  async function expectLostBehindProxy(end: (socket: Socket) => void): Promise<void> {
    const url = new URL(runDatabase)
    const server = createServer(socket => {
      const upstream = connectSocket(Number(url.port), url.hostname)
      socket.pipe(upstream).pipe(socket)
      for (const side of [socket, upstream]) side.on('error', () => upstream.destroy())
      setTimeout(() => end(socket), 300)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url.port = `${(server.address() as AddressInfo).port}`
    await expectDatabaseLost(url.href, ['raw statement', 'transaction'])
    server.close()
  }

  test('no process listens on the port', () =>
    expectDatabaseLost('postgresql://ana@127.0.0.1:1/pix'))
  test('the host name is unknown', () =>
    expectDatabaseLost('postgresql://ana@database.invalid/pix'))
  test('the connection is reset', () => expectLostBehindProxy(socket => socket.resetAndDestroy()))
  test('the connection is closed', () => expectLostBehindProxy(socket => socket.destroy()))

  test('the database accepts no more connections', async () => {
    const url = await makeDatabase()
    await runAsOwner(`ALTER DATABASE ${new URL(url).pathname.slice(1)} CONNECTION LIMIT 0`)
    await expectDatabaseLost(url)
  })

  test('a session that ends between two statements costs its holder the next one, and no process', async () => {
    const client = await pool().connect()
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const socketClosed = once(
      (client as unknown as { connection: { stream: Socket } }).connection.stream,
      'close',
    )
    await pool().query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
    await socketClosed
    const error = await client.query('SELECT').catch(fault => fault)
    expect(isDatabaseUnavailable(error)).toBe(true)
    client.release()
    expect((await pool().query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })

  test('an error in a statement does not count as a lost database', async () => {
    const error = await db().$queryRaw`SELECT 1 FROM missing`.catch(fault => fault)
    expect(isDatabaseUnavailable(error)).toBe(false)
  })
})

describe('named statements', () => {
  const listPreparedNames = async () => {
    const pool = connect({ poolMax: 1 })
    for (const value of [1, 2]) await pool.$queryRaw`SELECT ${value}::int AS answer`
    await pool.account.findMany({ take: 1 })
    const rows = await pool.$queryRaw<{ name: string }[]>`
      SELECT name FROM pg_prepared_statements WHERE statement NOT LIKE '%pg_prepared_statements%'`
    await pool.$disconnect()
    return rows.map(row => row.name)
  }

  test('have one plan per SQL text, whatever the values', async () => {
    const names = await listPreparedNames()
    expect(names).toHaveLength(2)
    for (const name of names) expect(name).toMatch(/^t_[0-9a-f]{24}$/)
  })

  test('are not used with PG_NAMED_STATEMENTS=false', async () => {
    supplyEnv({ PG_NAMED_STATEMENTS: 'false' })
    expect(await listPreparedNames()).toEqual([])
  })
})

describe('the database client of a process', () => {
  testInTorture('has one pool, even if the module is loaded twice', async () => {
    const output = await runInChildProcess(
      `const [one, two] = await Promise.all(
        ['', '?again'].map(copy => import('./lib/db/client.ts' + copy)))
      const ask = ({ db }) => db().$queryRaw\`SELECT pg_backend_pid() AS pid FROM pg_sleep(0.1)\`
      const rows = await Promise.all([one, two, one, two, one, two, one, two].map(ask))
      console.log(JSON.stringify({
        modules: new Set([one.db, two.db]).size,
        pools: new Set([one.db(), two.db(), globalThis[Symbol.for('troco.db')].opened.database]).size,
        connections: new Set(rows.map(([row]) => row.pid)).size,
      }))`,
      { DATABASE_POOL_MAX: '3' },
    )
    expect(JSON.parse(output)).toEqual({ modules: 2, pools: 1, connections: 3 })
  })

  test('uses UTC, whatever the time zone of the server', async () => {
    const url = await makeDatabase({ migrated: false })
    const owner = new Client({ connectionString: url })
    await owner.connect()
    await owner.query(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET timezone = 'Asia/Tokyo'`,
    )
    await owner.end()
    supplyEnv({ DATABASE_URL: url })
    await disconnect()
    expect(await db().$queryRaw`SELECT current_setting('timezone') AS zone`).toEqual([
      { zone: 'UTC' },
    ])
  })

  test('opens a new pool after the old one was closed', async () => {
    const before = db()
    await before.$queryRaw`SELECT 1`
    await disconnect()
    expect(db()).not.toBe(before)
    expect(await db().$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }])
  })
})
