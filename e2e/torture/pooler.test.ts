import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { pickSize } from '#e2e/torture/figures.ts'
import { openPooler, POOLERS, type PoolerOfTest } from '#e2e/torture/pooler.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { connect, db } from '#lib/db/client.ts'
import { migrate } from '#lib/db/migrate.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { findRefusal, inspectPooler } from '#lib/db/server.ts'
import { listenForWakeUps, onWake } from '#lib/db/wake.ts'
import { withSnapshot } from '#lib/ledger/check.ts'
import { runAsOwner } from '#lib/testing/database.ts'
import { cleanUp, makeFolder, query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'

const { DATABASE_OWNER_URL: ownerUrl = '' } = env()

for (const { name, program, hasStatements } of POOLERS)
  describe.skipIf(program === null)(`behind ${name} in transaction mode`, () => {
    let pooler: PoolerOfTest
    let directUrl: string
    beforeAll(async () => {
      pooler = await openPooler(program ?? '', hasStatements)
      directUrl = pooler.directUrl
    })
    afterAll(() => Promise.all([pooler.stop(), cleanUp()]))

    /** Sessions of both roles, which the pooler gives to one transaction after the other. */
    const readLimits = () => db().$queryRaw`SELECT current_setting('timezone') AS zone,
    current_setting('statement_timeout') AS statement,
    current_setting('idle_in_transaction_session_timeout') AS idle,
    current_setting('client_connection_check_interval') AS client`
    const LIMITS = [{ zone: 'UTC', statement: '2600ms', idle: '1min', client: '500ms' }]

    test(`${pickSize(5, 50)} starts beside requests are ready, change no limit and leave no lock`, async () => {
      let isOver = false
      const failures: unknown[] = []
      const requests = (async () => {
        while (!isOver) {
          await Promise.all([
            sleep(20),
            db()
              .account.count()
              .catch(error => failures.push(error)),
          ])
        }
      })()
      for (let start = 0; start < pickSize(5, 50); start++) {
        // Something is left to do at every second start.
        if (start % 2 === 1) await runAsOwner('REVOKE SELECT ON charges FROM troco_app', directUrl)
        const applied = await Promise.all([
          prepareDatabase(pooler.urls),
          prepareDatabase(pooler.urls),
        ])
        expect(applied).toEqual([[], []])
        expect(await readLimits()).toEqual(LIMITS)
      }
      isOver = true
      await requests
      expect(failures).toEqual([])
      const locks = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 72707369
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
      expect(await query(directUrl, locks)).toEqual([])
      await db().charge.count()
    })

    test('an index is built through it, and no session keeps another limit', async () => {
      const name = '99990101000000_next_index'
      // Behind the next pooler it would be what a newer version has migrated, beside which nothing is granted.
      const undo = `DROP INDEX IF EXISTS events_next_idx;
        DELETE FROM _prisma_migrations WHERE migration_name = '${name}'`
      onTestFinished(() => runAsOwner(undo, directUrl))
      const folder = makeFolder()
      cpSync('prisma/migrations', folder, { recursive: true })
      mkdirSync(join(folder, name))
      writeFileSync(
        join(folder, name, 'migration.sql'),
        'CREATE INDEX CONCURRENTLY events_next_idx ON events (account_id, created_at)',
      )
      const read = () =>
        query(pooler.urls.ownerUrl, `SELECT current_setting('statement_timeout') AS limit`)
      let isOver = false
      const limits = new Set<unknown>()
      const readAlways = async () => {
        while (!isOver) for (const { limit } of await read()) limits.add(limit)
      }
      const reading = Array.from({ length: 8 }, readAlways)
      expect(await migrate(pooler.urls.ownerUrl, { folder })).toEqual([name])
      isOver = true
      await Promise.all(reading)
      expect([...limits]).toEqual(['1h'])
    })

    test('a notification reaches processes by the direct URL', async () => {
      const controller = new AbortController()
      const woken = vi.fn()
      onTestFinished(onWake('charges', woken))
      const listening = listenForWakeUps(controller.signal)
      // When it begins to listen, every topic is woken once.
      await vi.waitFor(() => expect(woken).toHaveBeenCalledTimes(1), { timeout: 10_000 })
      await db().$executeRaw`SELECT pg_notify('troco', 'another-process charges')`
      await vi.waitFor(() => expect(woken).toHaveBeenCalledTimes(2), { timeout: 10_000 })
      controller.abort()
      await listening
    })

    test('a statement is cut after 2.6 s, one that reads a snapshot of the books is not', async () => {
      const database = connect({ poolMax: 1 })
      await expect(database.$queryRaw`SELECT pg_sleep(10)::text`).rejects.toThrow(/57014/)
      const read = () =>
        withSnapshot(database, tx => tx.$queryRaw`SELECT 1 AS one FROM pg_sleep(3)`)
      expect(await read()).toEqual([{ one: 1 }])
      await database.$disconnect()
    }, 20_000)

    test('`doctor` names what the pooler breaks, and what to set', async () => {
      const faults = async (settings: Record<string, string>) => {
        supplyEnv(settings)
        return (await inspectPooler()).faults.map(fault => /set (\w+)/.exec(fault)?.[1])
      }
      expect(await inspectPooler()).toEqual({ isPooled: true, faults: [] })
      expect(await findRefusal()).toBeNull()
      expect(await faults({ PG_NAMED_STATEMENTS: 'true' })).toEqual(
        hasStatements ? [] : ['PG_NAMED_STATEMENTS'],
      )
      supplyEnv({ PG_NAMED_STATEMENTS: String(hasStatements) })
      expect(await faults({ DATABASE_DIRECT_URL: '' })).toEqual(['DATABASE_DIRECT_URL'])
      supplyEnv({ DATABASE_OWNER_URL: '', PG_NAMED_STATEMENTS: 'true' })
      expect(await findRefusal()).toMatch(/unsupported startup.* options.*set DATABASE_OWNER_URL/)
      supplyEnv({ DATABASE_OWNER_URL: ownerUrl, PG_NAMED_STATEMENTS: String(hasStatements) })
      supplyEnv({ DATABASE_DIRECT_URL: directUrl })
    })

    test('a server that does not know the password of the owner connects', async () => {
      supplyEnv({ DATABASE_OWNER_URL: '' })
      const database = connect({ poolMax: 1, queryTimeoutMs: 1_000 })
      const rows = database.$queryRaw`SELECT current_setting('statement_timeout') AS statement`
      expect(await rows.finally(() => database.$disconnect())).toEqual([{ statement: '2600ms' }])
      supplyEnv({ DATABASE_OWNER_URL: ownerUrl })
    })

    test('money moves', async () => {
      const merchant = await makeMerchant()
      await fundMerchant(merchant, 5_000)
      await expect(db().$executeRaw`DELETE FROM ledger_entries`).rejects.toThrow(/42501/)
    })
  })
