import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { type Api, makeDatabase, runAsOwner, startApi } from '#lib/testing/fixtures.ts'

let url: string
let api: Api
beforeAll(async () => {
  url = await makeDatabase()
  api = await startApi()
})
beforeEach(async () => {
  await useDatabase(url)
})
afterAll(async () => {
  await api.close()
})

async function useDatabase(target: string): Promise<void> {
  supplyEnv({ DATABASE_URL: target })
  await disconnect()
}

async function request(path: string) {
  const response = await fetch(`${api.url}${path}`)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const code = response.headers.get('x-error-code')
  return { status: response.status, code, body: await response.json() }
}

const OK = { status: 200, code: null, body: { status: 'ok' } }
const unavailable = (reason: unknown) => ({
  status: 503,
  code: 'service_unavailable',
  body: { status: 'unavailable', reason },
})

describe('/readyz', () => {
  test('200 with or without a worker: no other process decides about this one', async () => {
    expect(await request('/readyz')).toEqual(OK)
    expect((await request('/readyz/')).status).toBe(200)
  })

  test('any number of probes at once cost one query of the database', async () => {
    const locker = new Client({ connectionString: ownerUrlOf(url) })
    await locker.connect()
    await locker.query('BEGIN; LOCK TABLE _prisma_migrations')
    const probes = Array.from({ length: 50 }, () => request('/readyz'))
    const countWaiting = async () => {
      const { rows } = await locker.query(
        `SELECT count(*)::int AS count FROM pg_locks
         WHERE NOT granted AND relation = '_prisma_migrations'::regclass`,
      )
      return rows[0].count
    }
    await expect.poll(countWaiting).toBe(1)
    // Time for the others to arrive.
    await sleep(200)
    expect(await countWaiting()).toBe(1)
    await locker.query('COMMIT')
    await locker.end()
    for (const { status } of await Promise.all(probes)) expect(status).toBe(200)
  })

  test('503 with the name of a migration of this version that is missing or unfinished', async () => {
    const [last] = await db().$queryRaw<{ name: string }[]>`
      SELECT max(migration_name) AS name FROM _prisma_migrations`
    const reason = `migrations are pending: ${last?.name}`
    const setState = (change: string) =>
      runAsOwner(`UPDATE _prisma_migrations SET ${change} WHERE migration_name = '${last?.name}'`)
    await setState('finished_at = NULL')
    expect(await request('/readyz')).toEqual(unavailable(reason))
    await setState('finished_at = now(), rolled_back_at = now()')
    expect(await request('/readyz')).toEqual(unavailable(reason))
    await setState('rolled_back_at = NULL')
    expect((await request('/readyz')).status).toBe(200)
  })

  test('503 on an empty database', async () => {
    await useDatabase(await makeDatabase({ migrated: false }))
    expect(await request('/readyz')).toEqual(unavailable('the database has not been migrated'))
  })

  test('503 without a database, and the response does not contain its address', async () => {
    await useDatabase('postgresql://ana:secret@127.0.0.1:1/pix')
    expect(await request('/readyz')).toEqual(unavailable('the database is unreachable'))
  })
})

describe('/healthz', () => {
  test('200 while the process responds, even without a database', async () => {
    await useDatabase('postgresql://ana:secret@127.0.0.1:1/pix')
    expect(await request('/healthz')).toEqual(OK)
  })
})
