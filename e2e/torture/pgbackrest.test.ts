import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  archiveNow,
  hasPgBackRest,
  openPgBackRestStage,
  type PgBackRestStage,
  passTime,
} from '#e2e/torture/own-pgbackrest.ts'
import { listBackups } from '#lib/base/backup/manifest.ts'
import { readLastRuns } from '#lib/base/backup/records.ts'
import { query } from '#lib/testing/embedded.ts'
import { fundMerchant, makeMerchant } from '#lib/testing/fixtures.ts'

let stage: PgBackRestStage

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
    expect(made.output).toContain(`pgBackRest archives the WAL`)
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

  test('what pgBackRest has removed is no longer offered, and --keep is refused', async () => {
    const { troco, pgBackRest } = stage
    const kept = await troco('backup', '--keep', '2')
    expect(kept.output).toContain('repo1-retention-full')
    expect(kept.code).toBe(1)
    expect(listBackups(stage.backups)).toHaveLength(1)
    pgBackRest('--type=full', 'backup')
    pgBackRest('--repo1-retention-full=1', 'expire')
    const gone = await troco('drill')
    expect(gone.output).toMatch(/contains no backup that pgBackRest still has/)
    expect(await troco('backup')).toMatchObject({ code: 0 })
    expect(listBackups(stage.backups)).toHaveLength(1)
    expect(await troco('drill')).toMatchObject({ code: 0 })
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
})
