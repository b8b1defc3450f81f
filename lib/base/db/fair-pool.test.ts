import { expect, test } from 'vitest'
import { FairPool } from '#lib/base/db/fair-pool.ts'
import { env } from '#lib/base/env.ts'
import { type LogContext, withLogContext } from '#lib/base/log.ts'

/** Lets callers wait for the only connection and returns the order in which they get it. */
async function serveInTurn(waiting: LogContext[]): Promise<string[]> {
  const pool = new FairPool({
    connectionString: env().DATABASE_URL,
    max: 1,
    connectionTimeoutMillis: 30_000,
  })
  const held = await pool.connect()
  const served: string[] = []
  const requests = waiting.map(context =>
    withLogContext(context, async () => {
      const client = await pool.connect()
      served.push(context.accountId ?? context.tokenPrefix ?? context.ip ?? 'job')
      client.release()
    }),
  )
  held.release()
  await Promise.all(requests)
  await pool.end()
  return served
}

test('waiting accounts get a connection in turn, whatever the number of their requests', async () => {
  const accounts = ['heavy', 'heavy', 'heavy', 'heavy', 'busy', 'busy', 'light']
  expect(await serveInTurn(accounts.map(accountId => ({ accountId })))).toEqual([
    'heavy',
    'busy',
    'light',
    'heavy',
    'busy',
    'heavy',
    'heavy',
  ])
})

test('callers of many addresses and tokens delay an account or a job by one statement each', async () => {
  const strangers = Array.from({ length: 40 }, (_, nth) =>
    nth % 2 ? { ip: `203.0.113.${nth}` } : { ip: '203.0.113.1', tokenPrefix: `forged-${nth}` },
  )
  const known = [{ accountId: 'light', ip: '203.0.113.7' }, { accountId: 'light' }, {}]
  const served = await serveInTurn([...strangers, ...known])
  expect(served.slice(0, 6).filter(caller => ['light', 'job'].includes(caller))).toEqual([
    'light',
    'job',
    'light',
  ])
  expect(served.slice(0, 6)).toEqual(expect.arrayContaining(['forged-0', '203.0.113.1']))
  expect(served).toHaveLength(43)
})

test('a request that waits while no statement finishes fails after the connection timeout', async () => {
  const pool = new FairPool({
    connectionString: env().DATABASE_URL,
    max: 1,
    connectionTimeoutMillis: 100,
  })
  // On a busy machine it takes longer than 100 ms to connect to the database.
  pool.options.connectionTimeoutMillis = 30_000
  const held = await pool.connect()
  await expect(pool.connect()).rejects.toThrow('timeout exceeded when trying to connect')
  held.release()
  const next = await pool.connect()
  next.release()
  await pool.end()
})
