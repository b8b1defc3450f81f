import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clients, readBooks, type Said, WHOLE } from '#e2e/torture/clients.ts'
import { figure, recordFigures } from '#e2e/torture/figures.ts'
import { OwnPostgres, removeOwnPostgres } from '#e2e/torture/own-postgres.ts'
import { type OwnStage, openOwnStage } from '#e2e/torture/own-stage.ts'

const AT_ONCE = figure(40, 200)
const CLIENTS = 16
const PAUSE_MS = 8_000
/** Troco responds within 5 s; a slow machine gets twice that. */
const ANSWERED_WITHIN_MS = 10_000

const AT_WORK = `SELECT pid FROM pg_stat_activity
  WHERE usename = 'troco' AND state <> 'idle' AND pid <> pg_backend_pid()`

let stage: OwnStage
beforeAll(async () => {
  const postgres = await OwnPostgres.make()
  await postgres.start()
  stage = await openOwnStage(postgres)
})
afterAll(async () => {
  await stage?.close()
  await removeOwnPostgres()
})

/** Locks a table until the returned function is called. */
async function holdTable(url: string, table: 'charges' | 'tokens'): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  return () => client.end()
}

function expectUnavailable(answers: Said[]): void {
  const told = answers.map(({ status, text, headers }) =>
    [status, text, /^[1-9]\d*$/.test(headers.get('retry-after') ?? '')].join(' '),
  )
  expect(new Set(told)).toEqual(new Set(['503 {"error":"Service unavailable"} true']))
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(ANSWERED_WITHIN_MS)
}

function createAtOnce(clients: Clients, count: number): Promise<Said[]> {
  return Promise.all(Array.from({ length: count }, async () => (await clients.create()).said))
}

test.each((['charges', 'tokens'] as const).slice(0, figure(1, 2)))(
  'while the table %s is locked, requests get 503 in time; afterwards they succeed',
  async table => {
    const { accountId, clients } = await stage.openClients()
    const ids: string[] = []
    for (let count = 0; count < 4; count++) ids.push((await clients.create()).id ?? '')
    const letGo = await holdTable(stage.postgres.url, table)
    const began = performance.now()
    const payments = ids.map(id => clients.pay(id))
    const refused = [
      ...(await Promise.all([...payments, clients.send('/transactions')])),
      ...(await createAtOnce(clients, AT_ONCE)),
    ]
    const heldMs = performance.now() - began
    await letGo()
    expectUnavailable(refused)

    const after = await createAtOnce(clients, AT_ONCE)
    for (const id of ids) await clients.pay(id)
    recordFigures(`table ${table} locked`, {
      refused: refused.length,
      'slowest refusal': `${Math.round(Math.max(...refused.map(({ tookMs }) => tookMs)))} ms`,
      held: `${Math.round(heldMs)} ms`,
    })
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]))
    const { found, ...books } = await readBooks(accountId, clients)
    expect(books).toEqual(WHOLE)
    expect(found).toBe(ids.length + AT_ONCE)
    expect(clients.paid.size).toBe(ids.length)
  },
)

test('while PostgreSQL is paused, requests get 503 in time; afterwards they succeed', async () => {
  const { postgres, api } = stage
  const { accountId, clients } = await stage.openClients()
  clients.start(CLIENTS)
  await clients.untilCreated(CLIENTS)
  postgres.pause()
  try {
    await sleep(PAUSE_MS)
  } finally {
    postgres.resume()
  }
  const resumed = performance.now()
  await clients.untilCreated(CLIENTS)
  const backMs = Math.round(performance.now() - resumed)
  await clients.stop()
  // A statement whose client is gone may still be running.
  await expect.poll(() => postgres.asSuperuser(AT_WORK), { timeout: 10_000 }).toEqual([])

  const refused = clients.answers.filter(({ status }) => status !== 200)
  const { found, ...books } = await readBooks(accountId, clients)
  recordFigures('PostgreSQL paused', {
    paused: `${PAUSE_MS} ms`,
    refused: refused.length,
    'slowest refusal': `${Math.round(Math.max(...refused.map(({ tookMs }) => tookMs)))} ms`,
    'served again after': `${backMs} ms`,
    acknowledged: clients.created.size,
    found,
  })
  expect(refused.length).toBeGreaterThanOrEqual(CLIENTS)
  expectUnavailable(refused)
  expect(books).toEqual(WHOLE)
  expect(api.end()).toBeNull()
  expect((await api.measure()).problems).toEqual([])
})
