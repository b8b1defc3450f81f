import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { pickSize } from '#e2e/torture/figures.ts'
import { connect, db, disconnect } from '#lib/base/db/client.ts'
import { env, supplyEnv } from '#lib/base/env.ts'
import { withSnapshot } from '#lib/services/ledger/verify.ts'
import { findProgram } from '#lib/testing/debian.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

/** Installed only by `npm run torture`, and only as root on Debian. */
const program = pickSize(0, 1) === 1 ? await findProgram('pgbouncer', ['pgbouncer']) : null
const directUrl = env().DATABASE_URL ?? ''

describe.skipIf(!program)('behind PgBouncer in transaction mode', () => {
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
    const url = new URL(directUrl)
    url.port = `${port}`
    await vi.waitFor(() => query(url.href, 'SELECT 1'), { timeout: 10_000 })
    await disconnect()
    supplyEnv({ DATABASE_URL: url.href, PG_NAMED_STATEMENTS: 'false' })
  })
  afterAll(async () => {
    await disconnect()
    supplyEnv({ DATABASE_URL: directUrl, PG_NAMED_STATEMENTS: 'true' })
    const ended = once(pooler, 'exit')
    pooler.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })

  test('the limits of the role hold, whatever an earlier session has set', async () => {
    const settings = () => db().$queryRaw`SELECT current_setting('timezone') AS zone,
      current_setting('statement_timeout') AS statement,
      current_setting('idle_in_transaction_session_timeout') AS idle`
    const limits = [{ zone: 'UTC', statement: '2600ms', idle: '1min' }]
    expect(await settings()).toEqual(limits)
    await db().$executeRaw`SET statement_timeout = 0`
    await db().$executeRaw`SET idle_in_transaction_session_timeout = 0`
    expect(await settings()).toEqual(limits)
  })

  test('a statement is cut after 2.6 s, one that reads a snapshot of the books is not', async () => {
    const database = connect({ poolMax: 1 })
    await expect(database.$queryRaw`SELECT pg_sleep(10)::text`).rejects.toThrow(/57014/)
    const read = () => withSnapshot(database, tx => tx.$queryRaw`SELECT 1 AS one FROM pg_sleep(3)`)
    expect(await read()).toEqual([{ one: 1 }])
    await database.$disconnect()
  }, 20_000)

  test('money moves', async () => {
    const merchant = await makeMerchant()
    await fundMerchant(merchant, 5_000)
    await expect(db().$executeRaw`DELETE FROM ledger_entries`).rejects.toThrow(/42501/)
  })
})

function writeSettings(folder: string, port: number): string {
  const { hostname, port: serverPort, username, password, pathname } = new URL(directUrl)
  const file = join(folder, 'pgbouncer.ini')
  const server = `host=${hostname} port=${serverPort} user=${username} password=${password}`
  writeFileSync(
    file,
    `[databases]
${pathname.slice(1)} = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
server_reset_query = DISCARD ALL
server_reset_query_always = 1
ignore_startup_parameters = extra_float_digits
`,
  )
  chmodSync(file, 0o644)
  return file
}
