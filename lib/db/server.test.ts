import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { migrate } from '#lib/db/migrate.ts'
import { describeUnsafeServer, requireDurableServer, type ServerSettings } from '#lib/db/server.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

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
