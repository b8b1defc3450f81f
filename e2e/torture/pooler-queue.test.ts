import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { recordFigures } from '#e2e/torture/figures.ts'
import { openPooler, POOLERS, type PoolerOfTest } from '#e2e/torture/pooler.ts'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { runAsOwner, superuserUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'

/** Sessions that PgBouncer opens at most, by default. */
const POOL_SIZE = 20

for (const { name, program, hasStatements } of POOLERS)
  describe.skipIf(program === null)(`behind ${name}`, () => {
    let pooler: PoolerOfTest
    beforeAll(async () => {
      pooler = await openPooler(program ?? '', hasStatements)
    })
    afterAll(() => pooler.stop())

    /** Takes all sessions of the pooler. Returns the function that gives them back. */
    async function takePool(): Promise<() => Promise<unknown>> {
      const clients = Array.from({ length: POOL_SIZE }, () => new Client(pooler.urls.url))
      onTestFinished(async () => {
        await Promise.all(clients.map(client => client.end()))
      })
      for (const client of clients) {
        await client.connect()
        await client.query('BEGIN')
      }
      return () => Promise.all(clients.map(client => client.query('COMMIT')))
    }

    /** A statement of a request that the pool keeps waiting. Returns the time of its 503. */
    async function fail(sql: string): Promise<number> {
      const error = await db()
        .$executeRawUnsafe(sql)
        .catch(reason => reason)
      expect(isDatabaseUnavailable(error)).toBe(true)
      return Date.now()
    }

    test.each([
      ['gets a session before its request is over', 2_000],
      ['gets a session after its request is over', 3_300],
      ['waits for a session for long', 6_000],
    ])(
      'a statement that %s does not live 1 s after its 503',
      async (_what, heldMs) => {
        const isLate = heldMs > 2_800
        const long = newId()
        const table = `probe_${newId().replaceAll('-', '')}`
        await runAsOwner(
          `CREATE TABLE ${table} (at timestamptz); GRANT INSERT, SELECT ON ${table} TO troco_app`,
          pooler.directUrl,
        )
        onTestFinished(() => runAsOwner(`DROP TABLE ${table}`, pooler.directUrl))
        await Promise.all([db().account.count(), db().account.count()])
        const alive = `SELECT state FROM pg_stat_activity WHERE query LIKE '%${long}%'
          AND pid <> pg_backend_pid() AND state <> 'idle'`
        const seenAt: number[] = []
        let isOver = false
        const watch = async () => {
          for (; !isOver; await sleep(50)) {
            const rows = await query(superuserUrlOf(pooler.directUrl), alive)
            if (rows.length > 0) seenAt.push(Date.now())
          }
        }
        const giveBack = await takePool()
        const released = sleep(heldMs).then(giveBack)
        const watched = watch()
        const [failedAt] = await Promise.all([
          fail(`SELECT pg_sleep(30) /* ${long} */`),
          isLate ? fail(`INSERT INTO ${table} VALUES (clock_timestamp())`) : null,
        ])
        await released
        await sleep(3_000)
        isOver = true
        await watched
        const livedMs = Math.max(0, (seenAt.at(-1) ?? 0) - failedAt)
        const late = await query(pooler.directUrl, `SELECT at FROM ${table}`)
        recordFigures(`behind ${name}`, {
          [`held ${heldMs} ms, alive after the 503`]: `${(livedMs / 1_000).toFixed(1)} s`,
        })
        expect(seenAt.length > 0, 'whether it ever ran').toBe(!isLate)
        expect(livedMs).toBeLessThan(1_000)
        expect(late).toEqual([])
      },
      30_000,
    )
  })
