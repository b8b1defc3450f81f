import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDataFolder } from '#bin/runtime.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { readArchive, timelineHistory } from '#lib/backup/archive.ts'
import { archiveInto } from '#lib/backup/folder.ts'
import { listBackups } from '#lib/backup/manifest.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { type Embedded, openEmbedded } from '#lib/db/embedded.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import { examineBackups } from '#lib/operator/backups.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import { type Installation, makeInstallation, processesOf, runTroco } from '#lib/testing/process.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const shared = { DATABASE_URL: env().DATABASE_URL ?? '', TROCO_SECRET: env().TROCO_SECRET ?? '' }
let installation: Installation
let embedded: Embedded | null = null
let merchant: Account
/** A quote, a space and a percent sign: the path becomes part of a shell command of PostgreSQL. */
const backups = () => join(installation.folder, "back ups' 100%f")

beforeAll(async () => {
  installation = await makeInstallation()
  installation.settings.BACKUP_FOLDER = backups()
  // The embedded PostgreSQL has no stanza.
  installation.settings.PGBACKREST_STANZA = 'unused'
  const { folder, secrets } = openDataFolder(join(installation.folder, 'data'))
  await disconnect()
  embedded = await open(folder, secrets.database)
  await prepareDatabase(embedded)
  supplyEnv({ DATABASE_URL: embedded.url, TROCO_SECRET: secrets.server })
  merchant = await makeMerchant()
})

afterAll(async () => {
  await close()
  supplyEnv(shared)
  installation.remove()
})

function open(dataFolder: string, password: string): Promise<Embedded> {
  return openEmbedded({ dataFolder, password, settings: archiveInto(backups(), dataFolder) })
}

async function close(): Promise<void> {
  await disconnect()
  await embedded?.release()
  embedded = null
}

const troco = (...args: string[]) => runTroco(args, installation.settings)

/** Ends the current segment of the WAL and waits until it is archived. */
async function archiveNow(): Promise<void> {
  const { superuserUrl = '' } = embedded ?? {}
  const [row] = await query(superuserUrl, 'SELECT pg_walfile_name(pg_switch_wal()) AS name')
  await expect.poll(() => readArchive(backups()).segments).toContain(row?.name)
}

/** Returns a time after all that was committed and before all that follows. */
async function markTime(): Promise<Date> {
  const [row] = await db().$queryRaw<[{ at: Date }]>`
    SELECT date_trunc('milliseconds', clock_timestamp()) + interval '2 ms' AS at`
  await db().$executeRaw`SELECT pg_sleep(0.005)`
  return row.at
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
}

test('a backup under writes is complete, private and without the key', async () => {
  mkdirSync(join(backups(), 'base', '.new-killed'), { recursive: true })
  writeFileSync(join(backups(), 'base', '.new-killed', 'manifest.json'), '{}')
  let isWriting = true
  const writing = (async () => {
    let written = 0
    for (; isWriting; written++) await openCharge(merchant)
    return written
  })()
  const made = await troco('backup')
  isWriting = false
  expect(await writing).toBeGreaterThan(0)
  expect(made).toMatchObject({ code: 0 })
  expect(made.output).toMatch(/It opens only with TROCO_SECRET or secrets\.json/)
  const [backup, ...others] = listBackups(backups())
  expect(others).toEqual([])
  expect(backup?.kind).toBe('embedded')
  const refused = await troco('backup', '--type', 'full')
  expect(refused.output).toContain('--type is for pgBackRest only')
  expect(refused.code).toBe(1)
  expect(readdirSync(join(backups(), 'base'))).toEqual([backup?.name])
  const secret = readFileSync(join(installation.folder, 'data', 'secrets.json'), 'utf8')
  const { server, database } = JSON.parse(secret)
  for (const path of filesIn(join(backups(), 'base'))) {
    expect(statSync(path).mode & 0o077, path).toBe(0)
    const content = readFileSync(path)
    expect(
      [server, database].some(text => content.includes(text)),
      path,
    ).toBe(false)
  }
  expect((await examineBackups()).backups).toMatchObject({ state: 'backup_fresh' })
})

testInTorture(
  'a restore that fails after the recovery leaves the log, and the next backup of the kept database counts',
  async () => {
    const { superuserUrl = '' } = embedded ?? {}
    await query(superuserUrl, 'ALTER TABLE restore_marks RENAME TO hidden_marks')
    const to = (await markTime()).toISOString()
    await query(superuserUrl, 'ALTER TABLE hidden_marks RENAME TO restore_marks')
    await archiveNow()
    await close()
    const failed = await troco('restore', '--to', to, '--replace')
    expect(failed).toMatchObject({ code: 1, output: expect.stringContaining('Reached ') })
    expect(failed.output).toContain('relation "restore_marks" does not exist')
    expect(readArchive(backups()).newestTimeline).toBe(1)
    const dataFolder = join(installation.folder, 'data')
    embedded = await open(dataFolder, openDataFolder(dataFolder).secrets.database)
    supplyEnv({ DATABASE_URL: embedded.url })
    expect(await troco('backup')).toMatchObject({ code: 0 })
  },
)

test('a drill restores the newest backup with its WAL and leaves nothing behind', async () => {
  await fundMerchant(merchant, 700)
  await archiveNow()
  const drilled = await troco('drill')
  expect(drilled).toMatchObject({ code: 0 })
  expect(drilled.output).not.toContain('WRONG')
  const newest = listBackups(backups()).at(-1)
  expect(drilled.output).toContain(`backup ${newest?.name}, `)
  const transfers = await db().ledgerTransfer.count()
  expect(drilled.output).toContain(`ledger verified, ${transfers} transfers`)
  expect(readdirSync(backups()).toSorted()).toEqual(['base', 'wal'])
  expect((await examineBackups()).drill).toMatchObject({ level: 'ok', state: 'drill_passed' })
})

test('a drill of a damaged backup fails loudly, and the health page says so', async () => {
  const backup = listBackups(backups()).at(-1)
  const data = join(backup?.folder ?? '', 'data')
  const largest = filesIn(join(data, 'base')).toSorted(
    (a, b) => statSync(b).size - statSync(a).size,
  )
  const content = readFileSync(largest[0] ?? '')
  const damaged = Buffer.from(content)
  damaged[content.length >> 1]! ^= 1
  writeFileSync(largest[0] ?? '', damaged)
  const drilled = await troco('drill')
  writeFileSync(largest[0] ?? '', content)
  expect(drilled.code).toBe(1)
  expect(drilled.output).toContain(`The backup is damaged: ${largest[0]} has another checksum`)
  expect((await examineBackups()).drill).toMatchObject({
    level: 'problem',
    figures: { problem: expect.stringContaining('another checksum') },
  })
})

test('a restore to a time has the payments before it and none after, and serves nothing before `restore begin`', async () => {
  await fundMerchant(merchant, 1100)
  const between = await markTime()
  await fundMerchant(merchant, 2200)
  await archiveNow()
  const to = between.toISOString()
  const running = await troco('restore', '--to', to, '--replace')
  expect(running.output).toMatch(/Troco runs with .*: stop all its processes first/)
  await close()
  const kept = await troco('restore', '--to', to)
  expect(kept.output).toMatch(/contains a database: add --replace/)
  const restored = await troco('restore', '--to', to, '--replace')
  expect(restored).toMatchObject({ code: 0 })
  expect(restored.output).toContain(`Restoring to ${to}`)
  expect(restored.output).toContain(`Copying ${listBackups(backups()).at(-1)?.name}`)
  expect(readArchive(backups()).newestTimeline).toBe(1)
  expect(restored.output).toMatch(/Reached \S+Z, the commit of the last transaction/)
  expect(restored.output).toContain(`restore begin --to ${to}`)
  expect((await troco('worker')).output).toContain(`The database was restored to ${to}.`)
  const late = new Date(between.getTime() + 1).toISOString()
  const begun = await troco('restore', 'begin', '--to', late)
  expect(begun).toMatchObject({ code: 0, output: expect.stringContaining(`Restored to ${to}: `) })
  const dataFolder = join(installation.folder, 'data')
  const { secrets } = openDataFolder(dataFolder)
  embedded = await open(dataFolder, secrets.database)
  const paid = await query(
    embedded.url,
    `SELECT amount::int FROM charges WHERE status = 'paid' ORDER BY amount`,
  )
  expect(paid.map(({ amount }) => amount)).toEqual([700, 1100])
  const [mark] = await query(embedded.url, 'SELECT count(*)::int AS count FROM restore_marks')
  expect(mark?.count).toBe(0)
  const aside = filesIn(dataFolder).some(path => /postgres\.before-\w+\/PG_VERSION$/.test(path))
  expect(aside || embedded.location.startsWith('/var/lib')).toBe(true)
  expect(processesOf(installation).filter(({ command }) => command.includes('.restore-'))).toEqual(
    [],
  )
  expect(existsSync(join(dataFolder, 'restore-unfinished'))).toBe(false)
  await archiveNow()
  expect(timelineHistory(readArchive(backups()), 2)).toMatchObject([{ timeline: 1 }])
})
