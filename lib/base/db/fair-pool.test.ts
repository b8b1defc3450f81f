import { expect, test } from 'vitest'
import { FairPool } from '#lib/base/db/fair-pool.ts'
import { env } from '#lib/base/env.ts'
import { withLogContext } from '#lib/base/log.ts'

test('waiting accounts get a connection in turn, whatever the number of their requests', async () => {
  const pool = new FairPool({
    connectionString: env().DATABASE_URL,
    max: 1,
    connectionTimeoutMillis: 30_000,
  })
  const held = await pool.connect()
  const served: string[] = []
  const request = (accountId: string) =>
    withLogContext({ accountId }, async () => {
      const client = await pool.connect()
      served.push(accountId)
      client.release()
    })
  const requests = ['heavy', 'heavy', 'heavy', 'heavy', 'busy', 'busy', 'light'].map(request)
  held.release()
  await Promise.all(requests)
  await pool.end()
  expect(served).toEqual(['heavy', 'busy', 'light', 'heavy', 'busy', 'heavy', 'heavy'])
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
