import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { isDatabaseUnavailable, setupError } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { migrate } from '#lib/db/migrate.ts'
import {
  describeUnsafeServer,
  requireDurableServer,
  type ServerSettings,
  StoppedError,
  whenAvailable,
  withClient,
} from '#lib/db/server.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'
import { findFreePort } from '#lib/testing/server.ts'

const DURABLE: ServerSettings = {
  versionNumber: 180_004,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
}

describe('the settings of a server', () => {
  test.each([
    ['the oldest supported major version', { versionNumber: 150_000 }],
    ['commits that wait for a replica', { synchronousCommit: 'remote_apply' }],
    ['commits that wait for the local disk only', { synchronousCommit: 'local' }],
  ])('%s is accepted', (_what, settings) => {
    expect(describeUnsafeServer({ ...DURABLE, ...settings })).toBeNull()
  })

  test.each([
    [
      { versionNumber: 149_999 },
      'The database is PostgreSQL 14, but Troco requires 15 or newer: upgrade it',
    ],
    [{ fsync: 'off' }, 'The database has fsync off, which can lose paid charges: turn it on'],
    [
      { fullPageWrites: 'off' },
      'The database has full_page_writes off, which can lose paid charges: turn it on',
    ],
    [
      { synchronousCommit: 'off' },
      'The database has synchronous_commit off, which can lose paid charges: turn it on',
    ],
    [
      { fsync: 'off', synchronousCommit: 'off' },
      'The database has fsync and synchronous_commit off, which can lose paid charges: turn them on',
    ],
  ])('%j is refused in one line with the remedy', (settings, line) => {
    expect(describeUnsafeServer({ ...DURABLE, ...settings })).toBe(line)
  })
})

describe('checking a real server', () => {
  const checkServer = async (url: string) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    return requireDurableServer(client).finally(() => client.end())
  }

  test('a server with default settings passes', async () => {
    await expect(checkServer(await makeDatabase({ migrated: false }))).resolves.toBeUndefined()
  })

  test('a standby is refused as a database that may become available', async () => {
    const url = await makeDatabase({ migrated: false })
    await query(
      url,
      `CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';
       ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = public, pg_catalog`,
    )
    const error = await checkServer(url).catch(stop => stop)
    expect(error.message).toMatch(/^The database is a standby, which only reads: /)
    expect(isDatabaseUnavailable(error)).toBe(true)
  })

  test('synchronous_commit = off is refused, and nothing is migrated', async () => {
    const url = await makeDatabase({ migrated: false })
    await query(
      url,
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`,
    )
    const refusal = { code: 'setup_failed', message: expect.stringContaining('synchronous_commit') }
    await expect(checkServer(url)).rejects.toMatchObject(refusal)
    await expect(migrate(url)).rejects.toMatchObject(refusal)
    expect(await query(url, `SELECT * FROM pg_tables WHERE schemaname = 'public'`)).toEqual([])
  })
})

/** Makes the tests' database reachable at a port that is closed until `open` is called. */
async function placeBehindPort() {
  const url = new URL(env().DATABASE_URL ?? '')
  const [host, port] = [url.hostname, Number(url.port)]
  const server = createServer(socket => {
    const upstream = connect(port, host)
    socket.pipe(upstream).pipe(socket)
    for (const end of [socket, upstream]) end.on('error', () => {})
  })
  url.hostname = '127.0.0.1'
  url.port = String(await findFreePort())
  const open = async () => {
    server.listen(Number(url.port), '127.0.0.1')
    await once(server, 'listening')
    return server.address() as AddressInfo
  }
  const select = () =>
    withClient(url.href, 'DATABASE_URL', async client => (await client.query('SELECT 1')).rowCount)
  return { select, open, host: url.host, close: () => server.close() }
}

test('a start waits for a database that comes late, and says why once', async () => {
  const place = await placeBehindPort()
  const lines: string[] = []
  const report = (line: string) => {
    lines.push(line)
    place.open()
  }
  const rows = await whenAvailable(place.select, { maxSeconds: 60, report })
  place.close()
  expect(rows).toBe(1)
  const [line = '', ...others] = lines
  expect(others).toEqual([])
  expect(line).toMatch(/ is unreachable \(ECONNREFUSED\): .*\. Waiting for it, 60 s at most$/)
  expect(line).toContain(place.host)
})

test('without time to wait, or if something else is wrong, the start ends at once', async () => {
  const lines: string[] = []
  const report = (line: string) => void lines.push(line)
  const { select } = await placeBehindPort()
  await expect(whenAvailable(select, { maxSeconds: 0, report })).rejects.toThrow('is unreachable')
  const fail = () => Promise.reject(setupError('fsync is off'))
  await expect(whenAvailable(fail, { maxSeconds: 60, report })).rejects.toThrow('fsync is off')
  expect(lines).toEqual([])
})

test('a request to stop ends the wait between two attempts and during one', async () => {
  const { select } = await placeBehindPort()
  const { promise: stopRequested, resolve: report } = Promise.withResolvers<unknown>()
  const patience = { maxSeconds: 3_600, stopRequested, report }
  await expect(whenAvailable(select, patience)).rejects.toThrow(StoppedError)
  const hang = () => new Promise(() => {})
  await expect(whenAvailable(hang, patience)).rejects.toThrow(StoppedError)
})
