import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { openVersionBefore } from '#e2e/torture/version-before.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { call } from '#lib/testing/call.ts'
import { cleanUp, makeFolder, openForTest, query, readSuperuserUrl } from '#lib/testing/embedded.ts'
import { CHARGE } from '#lib/testing/fixtures.ts'
import { runTroco } from '#lib/testing/process.ts'

/** The first migration after the version that is upgraded. */
const FIRST_MIGRATION = '20261221000000_token_parents'
/** Charges before the upgrade. 20,000 are enough to try this; `npm test` leaves it out. */
const CHARGE_COUNT = Number(process.env.UPGRADE_CHARGES ?? pickSize(0, 1_000_000))
const PER_SECOND = 200
const LANE_COUNT = 16
const PHASE_MS = 10_000
const WAIT_MAX_MS = 1_000

const NEWEST_MIGRATION = readdirSync('prisma/migrations', { withFileTypes: true })
  .flatMap(entry => (entry.isDirectory() ? [entry.name] : []))
  .toSorted()
  .at(-1)

const before = CHARGE_COUNT > 0 ? openVersionBefore(FIRST_MIGRATION) : null
const last = CHARGE_COUNT > 0 ? openVersionBefore(NEWEST_MIGRATION ?? '') : null
if (CHARGE_COUNT > 0 && !before)
  process.stdout.write(
    'The upgrade is not tried: without the history of git there is no old code\n',
  )

const LONGEST_WAIT_SQL = `
  SELECT COALESCE(max(extract(epoch FROM clock_timestamp() - waitstart) * 1000), 0)::float8 AS ms
  FROM pg_locks WHERE NOT granted AND locktype = 'relation'`

/** Copies a paid charge and its event with other ids, sequence and texts that must differ. Triggers do not run. */
const multiply = (id: string, count: number) => `
  SET session_replication_role = replica;
  CREATE TEMPORARY TABLE made AS
    SELECT n, c.id AS copied, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 864000000 + n), 12, '0') || '7'
      || substr(md5(n::text), 1, 3) || 'a' || substr(md5(n::text), 4, 12) || right(c.id::text, 3))::uuid AS id
    FROM charges c, generate_series(1, ${count}) n WHERE c.id = '${id}';
  INSERT INTO charges SELECT r.* FROM charges c JOIN made m ON m.copied = c.id, LATERAL jsonb_populate_record(c,
    jsonb_build_object('id', m.id, 'txid', replace(m.id::text, '-', ''), 'external_id', m.id,
      'end_to_end_id', 'E' || lpad(m.n::text, 31, '0'))) r;
  INSERT INTO events SELECT r.* FROM events e JOIN made m ON m.copied = e.subject_id, LATERAL jsonb_populate_record(e,
    jsonb_build_object('id', m.id, 'subject_id', m.id, 'sequence', e.sequence + m.n)) r;
  UPDATE event_sequences SET last = last + ${count} WHERE last > 0;
  ANALYZE charges, events;`

interface Phase {
  statuses: Record<string, number>
  slowestMs: number
  perSecond: number
}

/** Sends requests at this rate, if the machine has the time, to each server in turn. */
function startLoad(apis: ApiProcess[], token: string): () => Promise<Phase> {
  const phase: Phase = { statuses: {}, slowestMs: 0, perSecond: 0 }
  const created: string[] = []
  const began = performance.now()
  let [count, isEnding] = [0, false]
  const send = async (nth: number) => {
    const { url } = apis[nth % apis.length] as ApiProcess
    const id = nth % 3 === 0 ? undefined : created.shift()
    const sentAt = performance.now()
    const { status, body } = await (id
      ? call(url, 'POST', `/sandbox/transactions/${id}`, { token, body: { outcome: 'paid' } })
      : call(url, 'POST', '/transactions', { token, body: CHARGE }))
    phase.slowestMs = Math.max(phase.slowestMs, performance.now() - sentAt)
    phase.statuses[status] = (phase.statuses[status] ?? 0) + 1
    if (!id && status === 200) created.push(body.data.transaction_id)
  }
  const runLane = async () => {
    while (!isEnding) {
      const nth = count++
      await sleep(began + (nth * 1_000) / PER_SECOND - performance.now())
      await send(nth)
    }
  }
  const running = Promise.all(Array.from({ length: LANE_COUNT }, runLane))
  return async () => {
    isEnding = true
    await running
    const sent = Object.values(phase.statuses).reduce((sum, each) => sum + each, 0)
    return { ...phase, perSecond: Math.round((sent * 1_000) / (performance.now() - began)) }
  }
}

/** Returns the longest wait for a lock of a table so far: what a migration can make requests wait for. */
function watchLocks(url: string): () => Promise<number> {
  let [longestMs, isEnding] = [0, false]
  const watch = async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    while (!isEnding) {
      const { rows } = await client.query(LONGEST_WAIT_SQL)
      longestMs = Math.max(longestMs, rows[0].ms)
      await sleep(20)
    }
    await client.end()
  }
  const watching = watch()
  return async () => {
    isEnding = true
    await watching
    return Math.round(longestMs)
  }
}

afterAll(async () => {
  await cleanUp()
  before?.remove()
  last?.remove()
})

test.skipIf(!last)(
  'the version before starts and serves on the schema of this one',
  async () => {
    if (!last) return
    const { url, ownerUrl } = await openForTest(makeFolder())
    const settings = { DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl, TROCO_DATA: makeFolder() }
    const migrated = await runTroco(['migrate'], settings)
    expect(migrated.code, migrated.output).toBe(0)
    const args = ['account', 'create', '--name', 'Loja', '--email', 'owner@example.com']
    const account = last.runTroco(args, settings)
    const token = last.runTroco(['token', 'create', '--account', account, '--name', 'x'], settings)
    const old = await startApiProcess(settings, last.folder)
    const { status, body } = await call(old.url, 'POST', '/transactions', { token, body: CHARGE })
    expect(status).toBe(200)
    const path = `/sandbox/transactions/${body.data.transaction_id}`
    const paid = await call(old.url, 'POST', path, { token, body: { outcome: 'paid' } })
    expect(paid.status).toBe(200)
    await old.close()
  },
  300_000,
)

describe.skipIf(!before)('an upgrade from the version before', () => {
  test(`of ${CHARGE_COUNT} charges fails no request, and lets none wait`, async () => {
    if (!before) return
    const folder = makeFolder()
    const { url, ownerUrl } = await openForTest(folder)
    const settings = { DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl, TROCO_DATA: makeFolder() }
    before.runTroco(['migrate'], settings)
    const owner = ['--email', 'owner@example.com']
    const account = before.runTroco(['account', 'create', '--name', 'Loja', ...owner], settings)
    const token = before.runTroco(
      ['token', 'create', '--account', account, '--name', 'load'],
      settings,
    )
    const old = await startApiProcess(settings, before.folder)
    const { body } = await call(old.url, 'POST', '/transactions', { token, body: CHARGE })
    const id = body.data.transaction_id
    await call(old.url, 'POST', `/sandbox/transactions/${id}`, { token, body: { outcome: 'paid' } })
    const superuserUrl = readSuperuserUrl(folder, ownerUrl)
    await query(superuserUrl, multiply(id, CHARGE_COUNT))

    const run = async (apis: ApiProcess[]) => {
      const end = startLoad(apis, token)
      await sleep(PHASE_MS)
      return end()
    }
    const first = await run([old])
    const quiet = await run([old])

    const endWatch = watchLocks(superuserUrl)
    const began = performance.now()
    const endUpgrade = startLoad([old], token)
    const migrated = await runTroco(['migrate'], settings)
    const upgradeMs = performance.now() - began
    const upgrade = await endUpgrade()
    const lockMs = await endWatch()
    expect(migrated.code, migrated.output).toBe(0)

    const current = await startApiProcess(settings)
    const cold = await run([old, current])
    const both = await run([old, current])
    await Promise.all([old.close(), current.close()])

    const format = ({ statuses, slowestMs, perSecond }: Phase) =>
      `${JSON.stringify(statuses)}, ${perSecond}/s, slowest ${Math.round(slowestMs)} ms`
    recordFigures('upgrade', {
      charges: CHARGE_COUNT,
      took: `${Math.round(upgradeMs)} ms`,
      'longest lock': `${lockMs} ms`,
      'before, cold': format(first),
      before: format(quiet),
      during: format(upgrade),
      'after, cold': format(cold),
      after: format(both),
    })
    for (const { statuses } of [first, quiet, upgrade, cold, both])
      expect(Object.keys(statuses)).toEqual(['200'])
    expect(lockMs).toBeLessThanOrEqual(WAIT_MAX_MS)
    // A machine that is slower without an upgrade is measured against itself, and warm processes.
    const waitMaxMs = Math.max(WAIT_MAX_MS, quiet.slowestMs)
    expect(upgrade.slowestMs).toBeLessThanOrEqual(waitMaxMs)
    expect(both.slowestMs).toBeLessThanOrEqual(waitMaxMs)
  }, 1_800_000)
})
