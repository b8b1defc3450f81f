import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Embedded, openEmbedded } from '#lib/db/embedded.ts'
import { findPostgresPackage, prepareBinaries } from '#lib/db/embedded-server.ts'
import {
  cleanUp,
  findProcessesIn,
  killChildren,
  makeFolder,
  openForTest,
  openInOtherProcess,
  query,
  readSuperuserUrl,
} from '#lib/testing/embedded.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const isRoot = process.geteuid?.() === 0

afterEach(cleanUp)

describe('a new data folder', () => {
  test('gets the database troco with settings that protect money and payer data', async () => {
    const { url, location, isAdopted } = await openForTest(join(makeFolder(), 'new', 'data'))
    const expected = {
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      listen_addresses: '127.0.0.1',
      password_encryption: 'scram-sha-256',
      max_connections: '120',
      shared_buffers: '128MB',
      server_encoding: 'UTF8',
      TimeZone: 'UTC',
      idle_in_transaction_session_timeout: '1min',
      log_error_verbosity: 'terse',
      log_min_error_statement: 'panic',
      log_parameter_max_length_on_error: '0',
    }
    const names = Object.keys(expected).map(name => `current_setting('${name}') AS "${name}"`)
    expect(await query(url, `SELECT ${names}`)).toEqual([expected])
    const database = `SELECT current_user AS name, datlocprovider AS provider, datlocale AS locale,
      pg_get_userbyid(datdba) AS owner, rolsuper AS super
      FROM pg_database, pg_roles WHERE datname = current_database() AND rolname = current_user`
    expect(await query(url, database)).toEqual([
      { name: 'troco_app', provider: 'b', locale: 'C.UTF-8', owner: 'troco', super: false },
    ])
    expect(isAdopted).toBe(false)
    expect(readdirSync(join(location, '..')).filter(name => name.includes('.new-'))).toEqual([])
  })

  testInTorture('refuses connections with a wrong password', async () => {
    const dataFolder = makeFolder()
    const { url, location } = await openForTest(dataFolder)
    const wrong = url.replace(/troco_app:.*@/, 'troco_app:guess@')
    await expect(query(wrong, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' })
    const refused = expect(openEmbedded({ dataFolder, password: 'guess' })).rejects
    await refused.toThrow(`The data in ${location} was created with another secrets.json`)
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('keeps statements out of the log', async () => {
    const { url, location } = await openForTest(makeFolder())
    const failing = query(url, `SELECT 'payers-document' FROM missing_table`)
    await expect(failing).rejects.toMatchObject({ code: '42P01' })
    const [name = ''] = readdirSync(join(location, 'log'))
    const log = () => readFileSync(join(location, 'log', name), 'utf8')
    await expect.poll(log).toContain('missing_table')
    expect(log()).not.toContain('payers-document')
  })

  test('is created once when two processes open it at the same moment', async () => {
    const dataFolder = makeFolder()
    const both = await Promise.all([openInOtherProcess(dataFolder), openInOtherProcess(dataFolder)])
    expect(both.map(({ embedded }) => embedded.isAdopted).sort()).toEqual([false, true])
    expect(both.flatMap(({ progress }) => progress)).toHaveLength(1)
    for (const { embedded } of both) {
      expect(await query(embedded.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    }
    const third = await openForTest(dataFolder)
    expect(both.map(({ embedded }) => embedded.pid)).toEqual([third.pid, third.pid])
  })
})

// Its logger ends shortly after the server itself.
describe('releasing PostgreSQL', () => {
  testInTorture(
    'leaves it running for other users; the last user stops all its processes',
    async () => {
      const dataFolder = makeFolder()
      const first = await openForTest(dataFolder)
      const second = await openForTest(dataFolder)
      expect(second).toMatchObject({ isAdopted: true, pid: first.pid, url: first.url })
      await first.release()
      expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
      await second.release()
      await expect.poll(() => findProcessesIn(first.location)).toEqual([])
      expect(existsSync(join(first.location, 'postmaster.pid'))).toBe(false)
    },
  )

  test('does not wait for clients that stay connected', async () => {
    const embedded = await openForTest(makeFolder())
    const sleeping = query(embedded.url, 'SELECT pg_sleep(60)').catch(error => error.code)
    await expect
      .poll(() =>
        query(
          embedded.url,
          `SELECT 1 FROM pg_stat_activity
      WHERE query LIKE 'SELECT pg_sleep%'`,
        ),
      )
      .toHaveLength(1)
    await embedded.release()
    expect(await sleeping).toBe('57P01')
    await expect.poll(() => findProcessesIn(embedded.location)).toEqual([])
  })
})

describe('a problem that the operator must solve is reported in one line', () => {
  const expectRefusal = async (dataFolder: string, line: RegExp, settings = {}) => {
    const error = await openForTest(dataFolder, { settings }).catch(refusal => refusal)
    expect(error).toMatchObject({ code: 'setup_failed', message: expect.stringMatching(line) })
    expect(error.message).not.toContain('\n')
  }

  test('data of another PostgreSQL major version', async () => {
    const dataFolder = makeFolder()
    await (await openForTest(dataFolder)).release()
    writeFileSync(join(dataFolder, 'postgres', 'PG_VERSION'), '17\n')
    await expectRefusal(dataFolder, /PostgreSQL 17, but this version of Troco includes 18: run/)
  })

  test('a folder with other content, which stays unchanged', async () => {
    const dataFolder = makeFolder()
    mkdirSync(join(dataFolder, 'postgres'))
    writeFileSync(join(dataFolder, 'postgres', 'thesis.txt'), 'mine')
    await expectRefusal(dataFolder, /contains files but no PostgreSQL data/)
    expect(readFileSync(join(dataFolder, 'postgres', 'thesis.txt'), 'utf8')).toBe('mine')
  })

  test('a data folder that is a file', async () => {
    const file = join(makeFolder(), 'data')
    writeFileSync(file, '')
    await expectRefusal(file, /data folder .* cannot be used/)
    await expectRefusal(join(file, 'below'), /data folder .* cannot be used/)
  })

  test.skipIf(isRoot)(
    'a data folder without write permission (root may write anyway)',
    async () => {
      const dataFolder = makeFolder()
      chmodSync(dataFolder, 0o555)
      await expectRefusal(dataFolder, /data folder .* cannot be used/)
    },
  )

  test('a PostgreSQL that does not start, with its own error message', async () => {
    const dataFolder = makeFolder()
    await expectRefusal(dataFolder, /FATAL: .*"shared_buffers": "much"/, { shared_buffers: 'much' })
    await expectRefusal(dataFolder, /FATAL: .*max_wal_senders/, {
      max_wal_senders: '9',
      wal_level: 'minimal',
    })
    await expect.poll(() => findProcessesIn(join(dataFolder, 'postgres'))).toEqual([])
  })
})

describe.skipIf(!isRoot)('as root (only root runs PostgreSQL as another user)', () => {
  testInTorture(
    'stores data below /var/lib/troco if the user postgres cannot reach the data folder',
    async () => {
      const home = makeFolder()
      const dataFolder = join(home, 'data')
      chmodSync(home, 0o700)
      const first = await openForTest(dataFolder)
      await query(first.ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS one')
      await first.release()
      expect(first.location).toMatch(/^\/var\/lib\/troco\/[0-9a-f]+\/postgres$/)
      expect(readFileSync(join(dataFolder, 'postgres-location'), 'utf8').trim()).toBe(
        first.location,
      )
      expect(statSync(home).mode & 0o777).toBe(0o700)
      chmodSync(home, 0o755)
      renameSync(dataFolder, join(home, 'moved'))
      const second = await openForTest(join(home, 'moved'))
      expect(second.location).toBe(first.location)
      expect(await query(second.ownerUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }])
    },
  )

  test('copies programs that the user postgres cannot reach, symbolic links included', () => {
    const home = makeFolder()
    const version = `test-${process.pid}`
    const native = join(home, 'native')
    cpSync(findPostgresPackage().native, native, {
      recursive: true,
      filter: path => !lstatSync(path).isSymbolicLink(),
    })
    chmodSync(home, 0o700)
    const user = { uid: 65_534, gid: 65_534 }
    try {
      const bin = prepareBinaries({ native, version, major: '18' }, user, home, () => {})
      const output = execFileSync(join(bin, 'initdb'), ['--version'], { ...user, encoding: 'utf8' })
      expect([bin, output]).toEqual([`/var/lib/troco/${version}/bin`, expect.stringMatching(/18/)])
    } finally {
      rmSync(`/var/lib/troco/${version}`, { recursive: true, force: true })
    }
  })
})

afterEach(cleanUp)

const APPLICATION_PASSWORD = 'postgres-app.password'
const FILES = ['postgres-superuser.password', APPLICATION_PASSWORD]
const WRONG_PASSWORD = { code: '28P01' }

/** Takes the application's role away, as if the process that creates it had been killed before. */
async function dropApplicationRole(dataFolder: string, { url }: Embedded): Promise<void> {
  await query(readSuperuserUrl(dataFolder, url), 'DROP ROLE troco_app')
}

function withUser(url: string, username: string): string {
  const changed = new URL(url)
  changed.username = username
  return changed.href
}

async function expectThreeRoles(dataFolder: string, { url, ownerUrl }: Embedded): Promise<void> {
  const who =
    'SELECT current_user::text AS name, rolsuper FROM pg_roles WHERE rolname = current_user'
  expect(await query(url, who)).toEqual([{ name: 'troco_app', rolsuper: false }])
  expect(await query(ownerUrl, who)).toEqual([{ name: 'troco', rolsuper: false }])
  expect(await query(readSuperuserUrl(dataFolder, url), who)).toEqual([
    { name: 'postgres', rolsuper: true },
  ])
  for (const shared of [url, ownerUrl]) {
    await expect(query(withUser(shared, 'postgres'), who)).rejects.toMatchObject(WRONG_PASSWORD)
  }
  await expect(query(withUser(ownerUrl, 'troco_app'), who)).rejects.toMatchObject(WRONG_PASSWORD)
  for (const name of FILES) expect(statSync(join(dataFolder, name)).mode & 0o777).toBe(0o600)
}

test('new data has three roles with a password each, stored for this user only', async () => {
  const dataFolder = makeFolder()
  await expectThreeRoles(dataFolder, await openForTest(dataFolder))
})

testInTorture('a later start keeps roles, passwords and data', async () => {
  const dataFolder = makeFolder()
  const first = await openForTest(dataFolder)
  await query(first.ownerUrl, 'CREATE TABLE kept AS SELECT 1 AS one')
  const passwords = () => FILES.map(name => readFileSync(join(dataFolder, name), 'utf8'))
  const stored = passwords()
  await first.release()
  const second = await openForTest(dataFolder)
  await expectThreeRoles(dataFolder, second)
  expect(passwords()).toEqual(stored)
  expect(await query(second.ownerUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }])
})

testInTorture('a missing role of the application is created by the next start', async () => {
  const dataFolder = makeFolder()
  await dropApplicationRole(dataFolder, await openForTest(dataFolder))
  await expectThreeRoles(dataFolder, await openForTest(dataFolder))
})

testInTorture(
  'kill -9 of the process that creates it, at any moment, leaves data that the next start completes',
  async () => {
    const dataFolder = makeFolder()
    const before = await openForTest(dataFolder)
    for (let delayMs = 0; delayMs <= 40; delayMs += 10) {
      await dropApplicationRole(dataFolder, before)
      rmSync(join(dataFolder, APPLICATION_PASSWORD))
      const opening = openInOtherProcess(dataFolder).catch(() => {})
      await expect
        .poll(() => existsSync(join(dataFolder, APPLICATION_PASSWORD)), { interval: 1 })
        .toBe(true)
      await sleep(delayMs)
      await killChildren()
      await opening
      const next = await openForTest(dataFolder)
      await expectThreeRoles(dataFolder, next)
      await next.release()
    }
  },
  60_000,
)

testInTorture('a lost password file is replaced, and the role gets the new password', async () => {
  const dataFolder = makeFolder()
  const first = await openForTest(dataFolder)
  rmSync(join(dataFolder, APPLICATION_PASSWORD))
  const second = await openForTest(dataFolder)
  expect(second.url).not.toBe(first.url)
  await expectThreeRoles(dataFolder, second)
})
