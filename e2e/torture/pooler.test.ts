import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { pickSize } from '#e2e/torture/figures.ts'
import { connect, db, disconnect } from '#lib/base/db/client.ts'
import { listenForWakeUps } from '#lib/base/db/listen.ts'
import { inspectPooler } from '#lib/base/db/pooler.ts'
import { prepareDatabase } from '#lib/base/db/roles.ts'
import { onWake } from '#lib/base/db/wake.ts'
import { env, supplyEnv } from '#lib/base/env.ts'
import { withSnapshot } from '#lib/services/ledger/verify.ts'
import { ownerUrlOf, runAsOwner } from '#lib/testing/database.ts'
import { findInRelease, findProgram } from '#lib/testing/debian.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

/** Installed only by `npm run torture`, and only as root on Debian. */
const isTorture = pickSize(false, true)
const NEWER = ['pgbouncer', 'libevent-2.1-7t64', 'libssl3t64', 'libc6']
const POOLERS = [
  {
    name: 'PgBouncer of Debian 12',
    program: isTorture ? await findProgram('pgbouncer', ['pgbouncer']) : null,
    hasStatements: false,
  },
  {
    name: 'PgBouncer of Debian 13, which keeps named statements,',
    program: isTorture ? await findInRelease('trixie', NEWER, 'usr/sbin/pgbouncer') : null,
    hasStatements: true,
  },
]
const directUrl = env().DATABASE_URL ?? ''
const urls = { url: '', ownerUrl: '' }

for (const { name, program, hasStatements } of POOLERS)
  describe.skipIf(program === null)(`behind ${name} in transaction mode`, () => {
    let folder: string
    let pooler: ChildProcess
    beforeAll(async () => {
      folder = makeScratchFolder('troco-pooler-')
      const port = await findFreePort()
      pooler = spawn(program ?? '', [writeSettings(folder, port)], {
        stdio: 'ignore',
        // PgBouncer refuses to run as root.
        ...(process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}),
      })
      const pooledUrls = [directUrl, ownerUrlOf()].map(direct => {
        const url = new URL(direct)
        return Object.assign(url, { port: `${port}`, pathname: `/${url.username}` }).href
      })
      ;[urls.url = '', urls.ownerUrl = ''] = pooledUrls
      await vi.waitFor(() => query(urls.url, 'SELECT 1'), { timeout: 10_000 })
      await disconnect()
      supplyEnv({
        ...{ DATABASE_URL: urls.url, PG_NAMED_STATEMENTS: String(hasStatements) },
        ...{ DATABASE_DIRECT_URL: directUrl },
      })
    })
    afterAll(async () => {
      await disconnect()
      supplyEnv({ DATABASE_URL: directUrl, PG_NAMED_STATEMENTS: 'true', DATABASE_DIRECT_URL: '' })
      const ended = once(pooler, 'exit')
      pooler.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    })

    /** Sessions of both roles, which the pooler gives to one transaction after the other. */
    const readLimits = () => db().$queryRaw`SELECT current_setting('timezone') AS zone,
    current_setting('statement_timeout') AS statement,
    current_setting('idle_in_transaction_session_timeout') AS idle`
    const LIMITS = [{ zone: 'UTC', statement: '2600ms', idle: '1min' }]

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
        const applied = await Promise.all([prepareDatabase(urls), prepareDatabase(urls)])
        expect(applied).toEqual([[], []])
        expect(await readLimits()).toEqual(LIMITS)
      }
      isOver = true
      await requests
      expect(failures).toEqual([])
      const locks = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 72707369`
      expect(await query(directUrl, locks)).toEqual([])
      await db().charge.count()
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
      expect(await faults({ PG_NAMED_STATEMENTS: 'true' })).toEqual(
        hasStatements ? [] : ['PG_NAMED_STATEMENTS'],
      )
      supplyEnv({ PG_NAMED_STATEMENTS: String(hasStatements) })
      expect(await faults({ DATABASE_DIRECT_URL: '' })).toEqual(['DATABASE_DIRECT_URL'])
      supplyEnv({ DATABASE_DIRECT_URL: directUrl })
    })

    test('a server that does not know the password of the owner connects', async () => {
      const { DATABASE_OWNER_URL = '' } = env()
      supplyEnv({ DATABASE_OWNER_URL: '' })
      const database = connect({ poolMax: 1, queryTimeoutMs: 1_000 })
      const rows = database.$queryRaw`SELECT current_setting('statement_timeout') AS statement`
      expect(await rows.finally(() => database.$disconnect())).toEqual([{ statement: '2600ms' }])
      supplyEnv({ DATABASE_OWNER_URL })
    })

    test('money moves', async () => {
      const merchant = await makeMerchant()
      await fundMerchant(merchant, 5_000)
      await expect(db().$executeRaw`DELETE FROM ledger_entries`).rejects.toThrow(/42501/)
    })
  })

/** The pooler's own defaults, except for its mode. A database per role, by the name of the role. */
function writeSettings(folder: string, port: number): string {
  const databases = [directUrl, ownerUrlOf()].map(url => {
    const { hostname, port: serverPort, username, password, pathname } = new URL(url)
    return `${username} = host=${hostname} port=${serverPort} dbname=${pathname.slice(1)} user=${username} password=${password}`
  })
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${databases.join('\n')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
`,
  )
  chmodSync(file, 0o644)
  return file
}
