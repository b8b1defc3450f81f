import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  archiveNow,
  hasPgBackRest,
  openPgBackRestStage,
  type PgBackRestStage,
  passTime,
  STANZA,
} from '#e2e/torture/own-pgbackrest.ts'
import { listBackups } from '#lib/backup/manifest.ts'
import { readLastRuns } from '#lib/backup/records.ts'
import { examineBackups } from '#lib/operator/database.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'

let stage: PgBackRestStage
const labels = () => listBackups(stage.backups).map(({ repository }) => repository?.label ?? '')

describe.skipIf(!hasPgBackRest)('a PostgreSQL that pgBackRest backs up', () => {
  beforeAll(async () => {
    stage = await openPgBackRestStage({ lines: ['repo1-retention-full=2'] })
  })
  afterAll(() => stage.close())

  test('a stanza that does not exist is an error that quotes pgBackRest, and no backup', async () => {
    const refused = await stage.troco('backup')
    expect(refused.code).toBe(1)
    expect(refused.output).toMatch(/pgBackRest reported: .*stanza/)
    expect(listBackups(stage.backups)).toEqual([])
    const problem = expect.stringContaining('backup.info')
    expect(await readLastRuns()).toMatchObject([{ kind: 'backup', problem }])
  })

  test('is drilled, and restored to a time between two payments', async () => {
    const { troco, folder, settings } = stage
    const merchant = await makeMerchant()
    stage.pgBackRest('stanza-create')
    const made = await troco('backup')
    expect(made.output).toContain('It opens only with TROCO_SECRET (fingerprint ')
    expect(made).toMatchObject({ code: 0 })
    await fundMerchant(merchant, 1_100)
    const between = await passTime(stage)
    await fundMerchant(merchant, 2_200)
    await archiveNow(stage)
    const drilled = await troco('drill')
    expect(drilled.output).not.toContain('WRONG')
    expect(drilled, drilled.output).toMatchObject({ code: 0 })
    const into = join(folder, 'restored')
    const restored = await troco('restore', '--to', between, '--into', into)
    expect(restored.output).toContain(`Start PostgreSQL with the data directory ${into}.`)
    expect(restored).toMatchObject({ code: 0 })
    await stage.serve(into)
    const sql = `SELECT amount::int FROM charges WHERE status = 'paid'`
    expect(await query(settings.DATABASE_URL ?? '', sql)).toEqual([{ amount: 1_100 }])
    expect((await troco('worker')).output).toContain(`was restored to ${between}.`)
  })

  test('a time that the archived WAL does not reach, or before the first backup, is refused', async () => {
    const { troco, folder } = stage
    await fundMerchant(await makeMerchant(), 3_300)
    const later = await passTime(stage)
    const into = join(folder, 'later')
    const refused = await troco('restore', '--to', later, '--into', into)
    expect(refused.output).toContain(`The archived WAL ends before ${later}`)
    expect(refused.code).toBe(1)
    expect(readdirSync(folder)).not.toContain('later')
    const early = await troco('restore', '--to', '2026-01-01T00:00Z', '--into', into)
    expect(early.output).toContain('cannot be restored')
  })

  test('copies are whole or of changes as --type says, and the manifests follow the retention', async () => {
    const { troco } = stage
    const wrong = await troco('backup', '--type', 'whole')
    expect(wrong.output).toContain('--type must be full, diff or incr')
    expect(wrong.code).toBe(1)
    const [first = ''] = labels()
    for (const type of ['diff', 'incr', 'full'])
      expect(await troco('backup', '--type', type)).toMatchObject({ code: 0 })
    const [, diff, incremental, full] = labels()
    expect([diff, incremental]).toEqual([
      expect.stringMatching(new RegExp(`^${first}_\\d{8}-\\d{6}D$`)),
      expect.stringMatching(new RegExp(`^${first}_\\d{8}-\\d{6}I$`)),
    ])
    expect(full).toMatch(/^\d{8}-\d{6}F$/)
    const last = await troco('backup', '--type', 'full')
    expect(last.output.match(/^\S+ removed$/gm)).toHaveLength(3)
    expect(labels()).toEqual([full, expect.stringMatching(/F$/)])
    expect(await troco('drill')).toMatchObject({ code: 0 })
  })

  test('what pgBackRest has removed is no longer offered', async () => {
    const { troco, pgBackRest } = stage
    pgBackRest('--type=full', 'backup')
    pgBackRest('--repo1-retention-full=1', 'expire')
    const gone = await troco('drill')
    expect(gone.output).toMatch(/contains no backup that pgBackRest still has/)
    expect(await troco('backup')).toMatchObject({ code: 0 })
    expect(listBackups(stage.backups)).toHaveLength(1)
    expect(await troco('drill')).toMatchObject({ code: 0 })
  })

  test('a backup asks for no room in the folder of the manifests', async context => {
    const { settings, folder, troco } = stage
    const small = join(folder, 'small')
    mkdirSync(small)
    try {
      execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', 'size=1m', 'troco', small])
    } catch {
      return context.skip('no file system can be mounted here')
    }
    try {
      settings.BACKUP_FOLDER = small
      const made = await troco('backup')
      expect(made, made.output).toMatchObject({ code: 0 })
    } finally {
      settings.BACKUP_FOLDER = stage.backups
      execFileSync('/bin/umount', ['-l', small])
    }
  })

  test('a database with tablespaces is refused, because they would be restored over its own', async () => {
    const { superuserUrl, folder, troco } = stage
    await query(superuserUrl, `CREATE TABLESPACE other LOCATION '${join(folder, 'tablespace')}'`)
    const before = labels()
    const refused = await troco('backup')
    expect(refused.output).toContain('The database has tablespaces')
    expect(refused.code).toBe(1)
    expect(labels()).toEqual(before)
    await query(superuserUrl, 'DROP TABLESPACE other')
  })
})

describe.skipIf(!hasPgBackRest)('a repository that is encrypted by a variable', () => {
  beforeAll(async () => {
    stage = await openPgBackRestStage({
      lines: ['repo1-cipher-type=aes-256-cbc', 'repo1-retention-full=9'],
      variables: { PGBACKREST_REPO1_CIPHER_PASS: 'a passphrase of this test' },
    })
    stage.pgBackRest('stanza-create')
    expect(await stage.troco('backup')).toMatchObject({ code: 0 })
  })
  afterAll(() => stage.close())

  test('is restored with the same variable, from a quoted path, after an offline backup', async () => {
    const { troco, stop, serve, pgBackRest, folder } = stage
    await fundMerchant(await makeMerchant(), 1_100)
    await archiveNow(stage)
    await stop()
    pgBackRest('--no-online', '--type=full', 'backup')
    await serve()
    const drilled = await troco('drill')
    expect(drilled.output).not.toContain('WRONG')
    expect(drilled, drilled.output).toMatchObject({ code: 0 })
    const into = join(folder, "it's 100%f")
    const restored = await troco('restore', '--to', 'latest', '--into', into)
    expect(restored.output).toContain('Last movement of money: charge_paid')
    expect(restored, restored.output).toMatchObject({ code: 0 })
  })

  test('a segment of the WAL that is damaged or missing ends a drill and a restore, and is named', async () => {
    const { troco, folder } = stage
    await archiveNow(stage)
    await fundMerchant(await makeMerchant(), 2_200)
    const segment = await archiveNow(stage)
    await fundMerchant(await makeMerchant(), 3_300)
    await archiveNow(stage)
    const [path = ''] = globSync(join(folder, 'repository/archive/*/*/*', `${segment}-*`))
    const content = readFileSync(path)
    const damaged = Buffer.from(content)
    damaged[content.length >> 1]! ^= 1
    writeFileSync(path, damaged)
    const into = join(folder, 'damaged')
    const expectRefusal = async (problem: string) => {
      for (const args of [['drill'], ['restore', '--to', 'latest', '--into', into]]) {
        const refused = await troco(...args)
        expect(refused.output).toContain(problem)
        expect(refused.code).toBe(1)
      }
      expect(existsSync(into)).toBe(false)
    }
    await expectRefusal(`The archived WAL ${segment} cannot be read`)
    unlinkSync(path)
    await expectRefusal('WAL is missing: the recovery ended at ')
    writeFileSync(path, content)
    const restored = await troco('restore', '--to', 'latest', '--into', into)
    expect(restored, restored.output).toMatchObject({ code: 0 })
  })

  test('Ctrl-C during the copy or the recovery leaves no data directory', async () => {
    const { startTroco, folder } = stage
    const into = join(folder, 'interrupted')
    for (const mark of ['base', 'postmaster.pid']) {
      const { child, ended, output } = startTroco('restore', '--to', 'latest', '--into', into)
      await expect.poll(() => existsSync(join(into, mark)), { interval: 5 }).toBe(true)
      child.kill('SIGINT')
      expect(await ended, output()).toBe(130)
      expect(existsSync(into)).toBe(false)
    }
  })

  test('a repository that cannot be read is an error, and no manifest is removed', async () => {
    const { troco, settings, folder, pgBackRest } = stage
    const { PGBACKREST_CONFIG: config = '' } = settings
    const repository = join(folder, 'repository')
    const before = labels()
    const refuse = async () => {
      for (const args of [['drill'], ['restore', '--to', 'latest', '--into', `${folder}/unread`]]) {
        const refused = await troco(...args)
        expect(refused.output).toContain(`pgBackRest cannot list the backups of ${STANZA}: `)
        expect(refused.code).toBe(1)
      }
      expect(labels()).toEqual(before)
    }
    settings.PGBACKREST_CONFIG = join(folder, 'other.conf')
    writeFileSync(settings.PGBACKREST_CONFIG, `[global]\nrepo1-path=${folder}/nowhere\n`)
    await refuse()
    settings.PGBACKREST_CONFIG = config
    chmodSync(join(repository, 'backup'), 0)
    await refuse()
    chmodSync(join(repository, 'backup'), 0o750)
    renameSync(join(repository, 'backup'), join(repository, 'away'))
    await refuse()
    renameSync(join(repository, 'away'), join(repository, 'backup'))
    expect(pgBackRest('info')).toContain('status: ok')
  })

  test('a copy with damaged pages fails, names them, is shown on the health page and is never chosen', async () => {
    const { troco, superuserUrl, folder, pgBackRest } = stage
    const before = labels()
    // Autovacuum would change its pages in memory, and write them over the damage.
    const options = 'WITH (autovacuum_enabled = false)'
    await query(superuserUrl, `CREATE TABLE plain ${options} AS SELECT generate_series(1, 20000)`)
    for (const sql of ['VACUUM (FREEZE) plain', 'CHECKPOINT']) await query(superuserUrl, sql)
    const [row] = await query(superuserUrl, `SELECT pg_relation_filepath('plain') AS path`)
    const path = join(folder, 'data', String(row?.path))
    const content = readFileSync(path)
    const damaged = Buffer.from(content)
    damaged[12_000]! ^= 1
    writeFileSync(path, damaged)
    const refused = await troco('backup', '--type', 'full')
    expect(refused.output).toMatch(/copy \S+F has damaged pages in \S*base\/5\/\d+/)
    expect(refused.code).toBe(1)
    expect(labels()).toEqual(before)
    const { backups } = await examineBackups()
    expect(backups).toMatchObject({
      level: 'problem',
      state: 'backup_failed',
      figures: { problem: expect.stringContaining(String(row?.path)) },
    })
    const [backup] = listBackups(stage.backups)
    const file = join(backup?.folder ?? '', 'manifest.json')
    const manifest = readFileSync(file, 'utf8')
    const [, label = ''] = /copy (\S+F) has/.exec(refused.output) ?? []
    const renamed = join(stage.backups, 'base', '20990101T000000Z')
    mkdirSync(renamed)
    writeFileSync(
      join(renamed, 'manifest.json'),
      manifest.replaceAll(String(backup?.repository?.label), label),
    )
    const drilled = await troco('drill')
    expect(drilled.output).toContain(`backup ${backup?.name}, `)
    expect(drilled, drilled.output).toMatchObject({ code: 0 })
    await query(superuserUrl, 'DROP TABLE plain')
    await query(superuserUrl, 'CHECKPOINT')
    expect(await troco('backup', '--type', 'full')).toMatchObject({ code: 0 })
    expect(labels()).toContain(label)
    expect((await examineBackups()).backups).toMatchObject({ state: 'backup_fresh' })
    expect(pgBackRest('info')).toContain('status: ok')
  })
})
