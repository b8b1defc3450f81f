import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { PoolConfig } from 'pg'
import { expect, test } from 'vitest'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { type LogContext, withLogContext } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { FairPool } from '#lib/db/fair-pool.ts'

const openPool = (options: PoolConfig = {}) =>
  new FairPool({
    connectionString: env().DATABASE_URL,
    max: 1,
    connectionTimeoutMillis: 30_000,
    ...options,
  })
const connectAs = (pool: FairPool, context: LogContext) =>
  withLogContext(context, () => pool.connect())

/** Lets callers wait for the only connection and returns the order in which they get it. */
async function serveInTurn(
  pool: FairPool,
  waiting: LogContext[],
  holdMs: (context: LogContext) => number,
) {
  const held = await connectAs(pool, { accountId: 'first' })
  const served: string[] = []
  const requests = waiting.map(async context => {
    const client = await connectAs(pool, context)
    served.push(context.accountId ?? context.tokenPrefix ?? context.ip ?? 'job')
    await sleep(holdMs(context))
    client.release()
  })
  held.release()
  await Promise.all(requests)
  await pool.end()
  return served
}

test('an account waits for one statement of another, whatever the number and length of the others', async () => {
  const accounts = [...Array(6).fill('heavy'), ...Array(4).fill('light'), 'busy']
  const contexts = accounts.map(accountId => ({ accountId }))
  const served = await serveInTurn(openPool(), contexts, ({ accountId }) =>
    accountId === 'heavy' ? 500 : 1,
  )
  expect(served.slice(0, 3).sort()).toEqual(['busy', 'heavy', 'light'])
  expect(served.slice(0, 6).filter(account => account === 'heavy')).toEqual(['heavy'])
  expect(served).toHaveLength(11)
})

test('callers of many addresses and tokens wait in turn, and together count as one account', async () => {
  const strangers = Array.from({ length: 40 }, (_, nth) => ({ ip: `203.0.113.${nth}` }))
  const guesser = Array.from({ length: 9 }, () => ({ ip: '203.0.113.7', tokenPrefix: 'troco_x' }))
  const known = [{ accountId: 'light', ip: '203.0.113.7' }, {}]
  const served = await serveInTurn(openPool(), [...guesser, ...strangers, ...known], () => 1)
  expect(served.slice(0, 3).sort()).toEqual(['job', 'light', 'troco_x'])
  expect(served.slice(0, 43).filter(caller => caller === 'troco_x')).toEqual(['troco_x'])
  expect(served).toHaveLength(51)
})

test('a token that reads like the name of the jobs is a stranger’s', async () => {
  const forged = Array.from({ length: 3 }, () => ({ ip: '203.0.113.7', tokenPrefix: 'jobs' }))
  const served = await serveInTurn(openPool(), [...forged, {}], () => 1)
  expect(served.slice(0, 2)).toContain('job')
})

test('what an account used while no other waited does not count', async () => {
  const pool = openPool()
  for (let count = 0; count < 10; count++) {
    const client = await connectAs(pool, { accountId: 'steady' })
    await sleep(30)
    client.release()
  }
  const waiting = ['new', 'new', 'new', 'steady'].map(accountId => ({ accountId }))
  const served = await serveInTurn(pool, waiting, () => 100)
  expect(served.slice(0, 2)).toContain('steady')
})

test('a request that waits while no statement finishes fails after the connection timeout', async () => {
  const pool = openPool({ connectionTimeoutMillis: 100 })
  // On a busy machine it takes longer than 100 ms to connect to the database.
  pool.options.connectionTimeoutMillis = 30_000
  const held = await pool.connect()
  await expect(pool.connect()).rejects.toThrow('timeout exceeded when trying to connect')
  held.release()
  const next = await pool.connect()
  next.release()
  await pool.end()
})

test('a statement ends after the time limit of the connection, which is not used again', async () => {
  const pool = openPool({ query_timeout: 2_000 })
  const run = async (text: string) => (await pool.run<{ pid: number }>({ text })).rows[0]?.pid
  const first = await run('SELECT pg_backend_pid() AS pid')
  const error = await run('SELECT pg_sleep(600)').catch(error => error)
  expect(isDatabaseUnavailable(error)).toBe(true)
  expect(await run('SELECT pg_backend_pid() AS pid')).not.toBe(first)
  await pool.end()
})

const pidOf = async (pool: FairPool) =>
  (await pool.run<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid' })).rows[0]?.pid

test('a returned connection is lent again, unless its session has ended meanwhile', async () => {
  const pool = openPool()
  const lost: Error[] = []
  pool.on('error', error => lost.push(error))
  const first = await pidOf(pool)
  expect(await pidOf(pool)).toBe(first)
  const killer = openPool()
  await killer.run({ text: 'SELECT pg_terminate_backend($1)', values: [first] })
  await killer.end()
  await expect.poll(() => lost.length).toBe(1)
  expect(pool.use).toEqual({ inUse: 0, idle: 0, waiting: 0 })
  expect(await pidOf(pool)).not.toBe(first)
  await pool.end()
})

test('a connection that nobody uses for a while is closed', async () => {
  const pool = openPool({ max: 2, idleTimeoutMillis: 1 })
  const [first, second] = await Promise.all([pool.connect(), pool.connect()])
  first.release()
  second.release()
  expect(pool.use.idle).toBe(2)
  await expect.poll(() => pool.use.idle).toBe(0)
  await expect.poll(() => pool.totalCount).toBe(0)
  await pool.end()
})

test('a connection is released once, and closed if that happens after the end of the pool', async () => {
  const pool = openPool()
  const client = await pool.connect()
  const ended = pool.end()
  client.release()
  await ended
  expect(pool.totalCount).toBe(0)
  expect(() => client.release()).toThrow('twice')
})

test('a connection with an open transaction is not lent again', async () => {
  const pool = openPool()
  const first = await pidOf(pool)
  const client = await pool.connect()
  await client.query('BEGIN')
  client.release()
  expect(await pidOf(pool)).not.toBe(first)
  await pool.end()
})

test('a connection whose ROLLBACK exceeded the time limit behind another statement is not lent again', async () => {
  const pool = openPool({ query_timeout: 2_000 })
  const first = await pidOf(pool)
  const client = await pool.connect()
  await client.query('BEGIN')
  for (const text of ['SELECT pg_sleep(600)', 'ROLLBACK'])
    await expect(client.query(text)).rejects.toThrow('timeout')
  client.release()
  expect(await pidOf(pool)).not.toBe(first)
  await pool.end()
})

test('the end of a pool does not wait for a server that no longer responds', async () => {
  const url = new URL(env().DATABASE_URL ?? '')
  const [port, host] = [Number(url.port), url.hostname]
  const sockets: Socket[] = []
  const proxy = createServer(client => {
    const server = connect(port, host)
    sockets.push(client, server)
    client.pipe(server)
    server.pipe(client)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  url.port = String((proxy.address() as AddressInfo).port)
  url.hostname = '127.0.0.1'
  const pool = openPool({ connectionString: url.href })
  await pidOf(pool)
  for (const socket of sockets) socket.unpipe().pause()
  await pool.end()
  for (const socket of sockets) socket.destroy()
  proxy.close()
})

test('all requests that wait fail when the pool ends', async () => {
  const pool = openPool()
  const held = await pool.connect()
  const waiting = Array.from({ length: 4_000 }, () => pool.connect())
  const ended = pool.end()
  held.release()
  const outcomes = await Promise.allSettled(waiting)
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
  await ended
})

test('a connection keeps no result of an earlier statement', async () => {
  const pool = openPool()
  const results: WeakRef<object>[] = []
  for (let count = 0; count < 3; count++)
    results.push(new WeakRef(await pool.run({ text: 'SELECT 1' })))
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  await expect
    .poll(() => {
      collect()
      return results.filter(result => result.deref()).length
    })
    .toBe(0)
  await pool.end()
})
