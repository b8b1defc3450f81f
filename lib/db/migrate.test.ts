import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import { SchemaEngine } from '@prisma/schema-engine-wasm'
import { Client, Pool } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isDatabaseUnavailable } from '#lib/core/errors.ts'
import { migrate, withMigratorLock } from '#lib/db/migrate.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

let url: string
let folder: string
beforeEach(async () => {
  url = await makeDatabase({ migrated: false })
  folder = mkdtempSync(join(tmpdir(), 'troco-migrations-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function writeMigration(name: string, sql: string): void {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, 'migration.sql'), sql)
}

const run = () => migrate(url, { folder })
const listTables = async () => {
  const rows = await query(url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
  return rows.map(row => row.tablename).sort()
}

async function expectSetupFailure(work: Promise<unknown>, line: RegExp | string): Promise<void> {
  const error = await work.then(
    () => new Error('it went on'),
    stop => stop,
  )
  expect(error).toMatchObject({ name: 'TrocoError', code: 'setup_failed' })
  expect(error.message).toMatch(line)
  expect(error.message).not.toContain('\n')
}

describe('migrating', () => {
  test('waits for a table in use without blocking other sessions meanwhile', async () => {
    writeMigration('1_first', 'CREATE TABLE steps (step int)')
    await run()
    const reader = new Client({ connectionString: url })
    await reader.connect()
    await reader.query('BEGIN; SELECT FROM steps')
    writeMigration('2_second', 'ALTER TABLE steps ADD COLUMN note text')
    const applied = run()
    const waiting = `SELECT FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE steps%' AND datname = current_database()`
    await expect.poll(() => query(url, waiting)).toHaveLength(1)
    await query(url, 'INSERT INTO steps VALUES (1)')
    await reader.end()
    expect(await applied).toEqual(['2_second'])
    expect(await query(url, 'SELECT * FROM steps')).toEqual([{ step: 1, note: null }])
  })

  test('applies migrations in the order of their names, each in its own transaction', async () => {
    writeMigration('2_second', `INSERT INTO steps VALUES (2, txid_current()), (2, txid_current())`)
    writeMigration(
      '1_first',
      `CREATE TABLE steps (step int, tx bigint);
      INSERT INTO steps VALUES (1, txid_current()); INSERT INTO steps VALUES (1, txid_current())`,
    )
    writeFileSync(join(folder, 'migration_lock.toml'), 'provider = "postgresql"')
    expect(await run()).toEqual(['1_first', '2_second'])
    const grouped = `SELECT step, count(*)::int AS rows, count(DISTINCT tx)::int AS transactions
      FROM steps GROUP BY step ORDER BY min(tx)`
    expect(await query(url, grouped)).toEqual([
      { step: 1, rows: 2, transactions: 1 },
      { step: 2, rows: 2, transactions: 1 },
    ])
    expect(await query(url, 'SELECT count(DISTINCT tx)::int AS all FROM steps')).toEqual([
      { all: 2 },
    ])
  })

  test('applies nothing the second time, and only new migrations later', async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int)')
    expect(await run()).toEqual(['1_first'])
    expect(await run()).toEqual([])
    writeMigration('2_second', 'CREATE TABLE two (id int)')
    expect(await run()).toEqual(['2_second'])
  })

  test('five concurrent processes migrate once', async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int); SELECT pg_sleep(0.2)')
    writeMigration('2_second', 'CREATE TABLE two (id int)')
    const applied = await Promise.all(Array.from({ length: 5 }, run))
    expect(applied.flat()).toEqual(['1_first', '2_second'])
    expect(applied.filter(names => names.length === 0)).toHaveLength(4)
  })

  test('a failed migration is rolled back; earlier ones stay, later ones do not run', async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int)')
    writeMigration('2_broken', 'CREATE TABLE two (id int); INSERT INTO missing VALUES (1)')
    writeMigration('3_third', 'CREATE TABLE three (id int)')
    await expectSetupFailure(run(), /^Migration 2_broken failed and was rolled back: .*"missing"/)
    expect(await listTables()).toEqual(['_prisma_migrations', 'one'])
    const recorded = 'SELECT migration_name FROM _prisma_migrations'
    expect(await query(url, recorded)).toEqual([{ migration_name: '1_first' }])
    writeMigration('2_broken', 'CREATE TABLE two (id int)')
    expect(await run()).toEqual(['2_broken', '3_third'])
  })

  describe('an index that is built while the table is written to', () => {
    const BUILD = 'CREATE INDEX CONCURRENTLY steps_idx ON steps (step)'
    const READ_INDEX = `SELECT indisvalid AS valid FROM pg_index
      WHERE indexrelid = to_regclass('steps_idx')`
    beforeEach(async () => {
      writeMigration('1_first', 'CREATE TABLE steps (step int)')
      await run()
      writeMigration('2_index', `-- For reads by step.\n${BUILD.replace(' ON', '\n  ON')};\n`)
    })

    test('does not keep writers out', async () => {
      const writer = new Client({ connectionString: url })
      await writer.connect()
      await writer.query('BEGIN; INSERT INTO steps VALUES (1)')
      const applied = run()
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND query LIKE '%CREATE INDEX CONCURRENTLY%' AND datname = current_database()`
      await expect.poll(() => query(url, waiting)).toHaveLength(1)
      await query(url, `SET lock_timeout = '1s'; INSERT INTO steps VALUES (2)`)
      await writer.query('COMMIT')
      await writer.end()
      expect(await applied).toEqual(['2_index'])
      expect(await query(url, READ_INDEX)).toEqual([{ valid: true }])
    })

    test('is built once by five concurrent processes', async () => {
      const applied = await Promise.all(Array.from({ length: 5 }, run))
      expect(applied.flat()).toEqual(['2_index'])
      expect(await query(url, READ_INDEX)).toEqual([{ valid: true }])
    })

    test('is built again if it was left incomplete', async () => {
      await query(url, 'INSERT INTO steps VALUES (1), (1)')
      await query(url, BUILD.replace('INDEX', 'UNIQUE INDEX')).catch(() => {})
      expect(await query(url, READ_INDEX)).toEqual([{ valid: false }])
      expect(await run()).toEqual(['2_index'])
      expect(await query(url, READ_INDEX)).toEqual([{ valid: true }])
    })

    test('stands alone in its migration', async () => {
      writeMigration('3_two', `${BUILD.replace('steps_idx', 'other_idx')}; SELECT 1`)
      await expectSetupFailure(run(), /^Migration 3_two failed .*CONCURRENTLY/)
    })
  })

  test('a migration that cannot be recorded is rolled back too', async () => {
    writeMigration(
      '1_unrecorded',
      `CREATE TABLE one (id int);
      ALTER TABLE _prisma_migrations ADD CONSTRAINT full_up CHECK (false) NOT VALID`,
    )
    await expectSetupFailure(run(), /^Migration 1_unrecorded failed and was rolled back: .*full_up/)
    expect(await listTables()).toEqual(['_prisma_migrations'])
    writeMigration('1_unrecorded', 'CREATE TABLE one (id int)')
    expect(await run()).toEqual(['1_unrecorded'])
  })
})

describe('the lock of migrators', () => {
  const LOCK = 72_707_369
  let other: Client
  beforeEach(async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int)')
    await run()
    other = new Client({ connectionString: url })
    other.on('error', () => {})
    await other.connect()
  })
  afterEach(() => other.end())

  test('is not taken if nothing is left to do', async () => {
    await other.query(`SELECT pg_advisory_lock(${LOCK})`)
    expect(await run()).toEqual([])
  })

  test('is waited for, and what another process has done meanwhile is not repeated', async () => {
    await other.query(`SELECT pg_advisory_lock(${LOCK})`)
    writeMigration('2_second', 'CREATE TABLE two (id int)')
    writeMigration('3_third', 'CREATE TABLE three (id int)')
    const applied = run()
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
      AND query LIKE '%format(''session %' AND pid <> pg_backend_pid()`
    await expect.poll(() => query(url, waiting)).toHaveLength(1)
    await other.query('CREATE TABLE two (id int)')
    const checksum = createHash('sha256').update('CREATE TABLE two (id int)').digest('hex')
    await other.query(
      `INSERT INTO _prisma_migrations SELECT 'second', '${checksum}', now(), '2_second', NULL, NULL, now(), 1`,
    )
    await other.query(`SELECT pg_advisory_unlock(${LOCK})`)
    expect(await applied).toEqual(['3_third'])
  })

  test('is waited for no longer than the limit, and the error names who holds it', async () => {
    await other.query(`SELECT pg_advisory_lock(${LOCK})`)
    const { rows } = await other.query('SELECT pg_backend_pid() AS pid')
    let hasWorked = false
    const work = async () => {
      hasWorked = true
    }
    const waited = withMigratorLock(url, work, 0.001)
    await expectSetupFailure(waited, new RegExp(`0.001 minutes \\(session ${rows[0].pid} of`))
    expect(hasWorked).toBe(false)
    await other.query(`SELECT pg_advisory_unlock(${LOCK})`)
    await withMigratorLock(url, work)
    expect(hasWorked).toBe(true)
  })

  test('may be lost with its connection: no migration runs twice', async () => {
    await query(url, 'INSERT INTO one VALUES (1)')
    await other.query('BEGIN; LOCK TABLE one')
    writeMigration('2_second', 'INSERT INTO one VALUES (2)')
    const [first, second] = [run(), run()].map(running => running.catch(error => error))
    await expect.poll(() => query(url, holders)).toHaveLength(1)
    await query(url, `SELECT pg_terminate_backend(pid) FROM (${holders}) held`)
    await expect.poll(() => query(url, holders)).toHaveLength(1)
    await other.query('COMMIT')
    const results = await Promise.all([first, second])
    expect(results.filter(result => result instanceof Error)).toHaveLength(1)
    expect(await query(url, 'SELECT id FROM one ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }])
  })
  const holders = `SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND objid = ${LOCK}`
})

describe('a newer version has migrated', () => {
  const newer = async (sql: string) => {
    writeMigration('1_first', 'CREATE TABLE one (id int)')
    writeMigration('2_newer', sql)
    await run()
    rmSync(join(folder, '2_newer'), { recursive: true })
  }

  test('this version starts, and applies nothing', async () => {
    await newer('ALTER TABLE one ADD COLUMN note text')
    expect(await run()).toEqual([])
  })

  test('this version starts if it has what the newer schema requires', async () => {
    await newer('-- Requires 1_first\nALTER TABLE one ADD COLUMN note text')
    expect(await run()).toEqual([])
  })
})

test('a process that may not migrate changes nothing, says what is left, and starts after that', async () => {
  writeMigration('1_first', 'CREATE TABLE one (id int)')
  await expectSetupFailure(
    migrate(url, { folder, isAllowed: false }),
    'The database needs 1_first, and MIGRATE is false: run `npm run -s troco -- migrate`, then start again',
  )
  expect(await listTables()).toEqual([])
  await run()
  expect(await migrate(url, { folder, isAllowed: false })).toEqual([])
})

describe('a database in an unexpected state stops the start', () => {
  beforeEach(async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int)')
    await run()
    writeMigration('2_second', 'CREATE TABLE two (id int)')
  })
  afterEach(async () => expect(await listTables()).toEqual(['_prisma_migrations', 'one']))

  const changeRecord = (change: string) => query(url, `UPDATE _prisma_migrations SET ${change}`)

  test('a migration whose file was changed after it ran', async () => {
    writeMigration('1_first', 'CREATE TABLE one (id int) -- a remark')
    await expectSetupFailure(run(), /^Migration 1_first was changed after it was applied: restore/)
  })

  test('a migration of a newer version that needs what this one does not have', async () => {
    writeMigration('9_future', '-- Requires 8_future\nSELECT 1')
    rmSync(join(folder, '2_second'), { recursive: true })
    await run()
    rmSync(join(folder, '9_future'), { recursive: true })
    await expectSetupFailure(run(), /newer version of Troco \(9_future\): start that version/)
  })

  test('a migration of a newer version that was applied by another program', async () => {
    await changeRecord(`migration_name = '9_future', logs = NULL`)
    await expectSetupFailure(run(), /newer version of Troco \(9_future\): start that version/)
  })

  test.each([
    ['an edited baseline', '1_first_baseline', '-- a remark'],
    ['migrations of before the baseline', '0_older', ''],
  ])('a database that was made by %s', async (_what, name, remark) => {
    await changeRecord(`migration_name = '${name}'`)
    rmSync(folder, { recursive: true })
    writeMigration('1_first_baseline', `CREATE TABLE one (id int) ${remark}`)
    writeMigration('2_second', 'CREATE TABLE two (id int)')
    await expectSetupFailure(
      run(),
      /^The database or data folder was made by .* before 1\.0 .*start with an empty one/,
    )
  })

  test('a migration that Prisma left unfinished', async () => {
    await changeRecord('finished_at = NULL')
    await expectSetupFailure(run(), /^Migration 1_first failed earlier and is incomplete: restore/)
  })
})

test('a migration that Prisma marked as rolled back is applied', async () => {
  writeMigration('1_first', 'CREATE TABLE one (id int)')
  await run()
  await query(url, 'DROP TABLE one')
  await query(url, 'UPDATE _prisma_migrations SET rolled_back_at = now(), finished_at = NULL')
  expect(await run()).toEqual(['1_first'])
  expect(await listTables()).toContain('one')
})

describe('the table _prisma_migrations', () => {
  /** Runs `prisma migrate deploy` through its library: the command line would download a binary. */
  async function deploy(target: string): Promise<string[]> {
    const schema = readFileSync('prisma/schema.prisma', 'utf8')
    // A pool of its own: the pool of the engine would hold Prisma's lock until it times out.
    const pool = new Pool({ connectionString: target })
    const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool))
    const engine = await SchemaEngine.new(
      { datamodels: [['schema.prisma', schema]] },
      () => {},
      adapter,
    )
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: folder,
        lockfile: { path: 'migration_lock.toml', content: null },
        shadowDbInitScript: '',
        migrationDirectories: readdirSync(folder).map(name => {
          const value = readFileSync(join(folder, name, 'migration.sql'), 'utf8')
          return {
            path: name,
            migrationFile: { path: 'migration.sql', content: { tag: 'ok', value } },
          }
        }),
      },
      filters: { externalTables: [], externalEnums: [] },
    })
    engine.free()
    await pool.end()
    return appliedMigrationNames
  }

  const readColumns = (target: string) =>
    query(
      target,
      `SELECT column_name, data_type, character_maximum_length, is_nullable, column_default
       FROM information_schema.columns WHERE table_name = '_prisma_migrations'
       ORDER BY column_name`,
    )
  const readRecords = (target: string) =>
    query(
      target,
      `SELECT migration_name, checksum, applied_steps_count, rolled_back_at,
         finished_at >= started_at AS finished
       FROM _prisma_migrations ORDER BY migration_name`,
    )

  beforeEach(() => {
    writeMigration('1_first', 'CREATE TABLE one (id int); -- coração')
    writeMigration('2_second', 'CREATE TABLE two (id int);\r\n')
  })

  test('has the columns and checksums that Prisma uses', async () => {
    const prismaUrl = await makeDatabase({ migrated: false })
    expect(await deploy(prismaUrl)).toEqual(['1_first', '2_second'])
    await run()
    expect(await readColumns(url)).toEqual(await readColumns(prismaUrl))
    expect(await readRecords(url)).toEqual(await readRecords(prismaUrl))
    const sha256 = createHash('sha256').update('CREATE TABLE two (id int);\r\n').digest('hex')
    expect(await readRecords(url)).toContainEqual(expect.objectContaining({ checksum: sha256 }))
  })

  test('is shared with Prisma: neither repeats a migration of the other', async () => {
    await run()
    expect(await deploy(url)).toEqual([])
    writeMigration('3_third', 'CREATE TABLE three (id int)')
    expect(await deploy(url)).toEqual(['3_third'])
    expect(await run()).toEqual([])
  })
})

describe('a connection error names the database in one line, without its password', () => {
  const secret = 'my%20pass-word'
  const port = () => Number(new URL(url).port)

  async function expectNamed(
    target: string,
    address: string,
    reason: RegExp,
    code: string | undefined = expect.any(String),
  ): Promise<void> {
    const error = await migrate(target, { folder }).catch(stop => stop)
    await expectSetupFailure(Promise.reject(error), reason)
    expect(error.message).toContain(`The database at ${address} is unreachable (`)
    expect(error.message).toContain('check DATABASE_URL')
    expect(JSON.stringify([error.message, error.stack])).not.toMatch(/my(%20| )pass-word/)
    expect(error.cause).toEqual({ code })
  }

  test('no process listens on the port', async () => {
    const target = `postgresql://ana:${secret}@127.0.0.1:1/pix`
    await expectNamed(target, '127.0.0.1:1/pix', /ECONNREFUSED/)
  })

  test('the host name is unknown', async () => {
    const target = `postgresql://ana:${secret}@database.invalid/pix`
    await expectNamed(target, 'database.invalid/pix', /ENOTFOUND|EAI_AGAIN/)
  })

  test('the password is wrong', async () => {
    const address = `127.0.0.1:${port()}/pix`
    await expectNamed(`postgresql://troco:${secret}@${address}`, address, /28P01/)
  })

  test('the server accepts the connection and never responds', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}/pix`
    await expectNamed(`postgresql://ana:${secret}@${address}`, address, /timeout/, 'ETIMEDOUT')
    silent.close()
  })

  test('the server closes the connection', async () => {
    const closing = createServer(socket => socket.on('error', () => {}).end()).listen(
      0,
      '127.0.0.1',
    )
    await once(closing, 'listening')
    const address = `127.0.0.1:${(closing.address() as AddressInfo).port}/pix`
    await expectNamed(`postgresql://ana:${secret}@${address}`, address, /unreachable/, 'ECONNRESET')
    closing.close()
  })

  test.each([
    ['troco@', '', /password must be a string/],
    [`troco:${secret}@`, '?sslmode=require', /does not support SSL/],
  ])('the settings are wrong, for which no start waits: %s%s', async (user, options, reason) => {
    const address = `127.0.0.1:${port()}/pix`
    const error = await migrate(`postgresql://${user}${address}${options}`, { folder }).catch(
      e => e,
    )
    expect(error.message).toMatch(reason)
    expect(isDatabaseUnavailable(error)).toBe(false)
  })

  test.each([
    'postgresql://ana:1/my%20pass-word@127.0.0.1/pix',
    'postgresql://ana:1#my%20pass-word@127.0.0.1/pix',
    'postgresql://ana:1?my%20pass-word@127.0.0.1/pix',
    'postgresql://ana:x/my%20pass-word@127.0.0.1/pix',
    'postgresql://ana:%zz-my%20pass-word@127.0.0.1:1/pix',
  ])('the URL is malformed: %s', async target => {
    const error = await migrate(target, { folder }).catch(stop => stop)
    await expectSetupFailure(
      Promise.reject(error),
      /^The database at \S+ is unreachable \(.*DATABASE_URL/,
    )
    expect(error.message).not.toMatch(/my(%20| )pass-word|ana/)
  })
})
