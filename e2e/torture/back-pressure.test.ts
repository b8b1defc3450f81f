import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientResponse, type Clients, checkRecords, NO_LOSS } from '#e2e/torture/clients.ts'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { OwnPostgres, removeOwnPostgres } from '#e2e/torture/own-postgres.ts'
import { openPostgresStage, type PostgresStage } from '#e2e/torture/own-stage.ts'

const REQUEST_COUNT = pickSize(40, 200)
const CLIENT_COUNT = 16
const PAUSE_MS = 8_000
/** Troco responds within 5 s; twice that for a slow machine. */
const RESPONSE_MAX_MS = 10_000

const ACTIVE_BACKENDS = `SELECT pid FROM pg_stat_activity
  WHERE usename = 'troco' AND state <> 'idle' AND pid <> pg_backend_pid()`

let stage: PostgresStage
beforeAll(async () => {
  const postgres = await OwnPostgres.make()
  await postgres.start()
  stage = await openPostgresStage(postgres)
})
afterAll(async () => {
  await stage?.close()
  await removeOwnPostgres()
})

/** Locks a table until the returned function is called. */
async function lockTable(url: string, table: 'charges' | 'tokens'): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  return () => client.end()
}

function expectUnavailable(responses: ClientResponse[]): void {
  const summaries = responses.map(({ status, text, headers }) =>
    [status, text, /^[1-9]\d*$/.test(headers.get('retry-after') ?? '')].join(' '),
  )
  expect(new Set(summaries)).toEqual(new Set(['503 {"error":"Service unavailable"} true']))
  expect(Math.max(...responses.map(({ tookMs }) => tookMs))).toBeLessThan(RESPONSE_MAX_MS)
}

function createConcurrently(clients: Clients, count: number): Promise<ClientResponse[]> {
  return Promise.all(Array.from({ length: count }, async () => (await clients.create()).response))
}

test.each((['charges', 'tokens'] as const).slice(0, pickSize(1, 2)))(
  'while the table %s is locked, requests get 503 in time; afterwards they succeed',
  async table => {
    const { accountId, clients } = await stage.openClients()
    const ids: string[] = []
    for (let count = 0; count < 4; count++) ids.push((await clients.create()).id ?? '')
    const unlock = await lockTable(stage.postgres.url, table)
    const began = performance.now()
    const payments = ids.map(id => clients.pay(id))
    const refused = [
      ...(await Promise.all([...payments, clients.send('/transactions')])),
      ...(await createConcurrently(clients, REQUEST_COUNT)),
    ]
    const lockedMs = performance.now() - began
    await unlock()
    expectUnavailable(refused)

    const afterUnlock = await createConcurrently(clients, REQUEST_COUNT)
    for (const id of ids) await clients.pay(id)
    recordFigures(`table ${table} locked`, {
      refused: refused.length,
      'slowest refusal': `${Math.round(Math.max(...refused.map(({ tookMs }) => tookMs)))} ms`,
      held: `${Math.round(lockedMs)} ms`,
    })
    expect(new Set(afterUnlock.map(({ status }) => status))).toEqual(new Set([200]))
    const { foundCharges: found, ...check } = await checkRecords(accountId, clients)
    expect(check).toEqual(NO_LOSS)
    expect(found).toBe(ids.length + REQUEST_COUNT)
    expect(clients.paid.size).toBe(ids.length)
  },
)

test('while PostgreSQL is paused, requests get 503 in time; afterwards they succeed', async () => {
  const { postgres, api } = stage
  const { accountId, clients } = await stage.openClients()
  clients.start(CLIENT_COUNT)
  await clients.waitForCreated(CLIENT_COUNT)
  postgres.pause()
  try {
    await sleep(PAUSE_MS)
  } finally {
    postgres.resume()
  }
  const resumedAt = performance.now()
  await clients.waitForCreated(CLIENT_COUNT)
  const recoveryMs = Math.round(performance.now() - resumedAt)
  await clients.stop()
  // A statement whose client has disconnected may still be running.
  await expect.poll(() => postgres.asSuperuser(ACTIVE_BACKENDS), { timeout: 10_000 }).toEqual([])

  const refused = clients.responses.filter(({ status }) => status !== 200)
  const { foundCharges: found, ...check } = await checkRecords(accountId, clients)
  recordFigures('PostgreSQL paused', {
    paused: `${PAUSE_MS} ms`,
    refused: refused.length,
    'slowest refusal': `${Math.round(Math.max(...refused.map(({ tookMs }) => tookMs)))} ms`,
    'served again after': `${recoveryMs} ms`,
    acknowledged: clients.created.size,
    found,
  })
  expect(refused.length).toBeGreaterThanOrEqual(CLIENT_COUNT)
  expectUnavailable(refused)
  expect(check).toEqual(NO_LOSS)
  expect(api.exitStatus()).toBeNull()
  expect((await api.measure()).problems).toEqual([])
})
