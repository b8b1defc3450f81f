import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordFailure, recordRun } from '#lib/backup/records.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { inOwnDatabase, runAsOwner } from '#lib/testing/fixtures.ts'
import { examineBackups } from './database.ts'
import { readDatabaseMetrics } from './metrics.ts'

inOwnDatabase()
beforeEach(() => db().backupRun.deleteMany())
afterEach(() => supplyEnv({ PGBACKREST_STANZA: '', TROCO_ENV: 'local' }))

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000)
const readStates = async () => {
  const { backups, drill } = await examineBackups()
  return [backups.level, backups.state, drill.level, drill.state]
}

test('backups are missed only where they are set up', async () => {
  expect(await readStates()).toEqual(['warning', 'backups_none', 'ok', 'drill_none'])
  supplyEnv({ PGBACKREST_STANZA: 'troco' })
  expect(await readStates()).toEqual(['problem', 'backup_missing', 'warning', 'drill_missing'])
})

test('in production, none is a warning at once and a problem after a day, also as a metric', async () => {
  const { DATABASE_URL = '', TROCO_SECRET = '' } = env()
  supplyEnv({
    DATABASE_URL,
    TROCO_SECRET,
    PUBLIC_URL: 'https://pay.example',
    TROCO_ENV: 'production',
  })
  expect(await readStates()).toEqual(['warning', 'backup_missing', 'warning', 'drill_missing'])
  await runAsOwner(`UPDATE _prisma_migrations SET started_at = now() - interval '26 hours'`)
  expect(await readStates()).toEqual(['problem', 'backup_missing', 'warning', 'drill_missing'])
  expect((await examineBackups()).backups.figures.age_s).toBeCloseTo(26 * 3_600, -2)
  const age = (await readDatabaseMetrics()).find(({ name }) => name === 'troco_backup_age_seconds')
  expect(age?.value).toBeCloseTo(26 * 3_600, -2)
})

test('the newest backup is a problem after a day, and its age is a metric', async () => {
  await recordRun({ kind: 'backup', beganAt: hoursAgo(26), bytes: 5 })
  expect(await readStates()).toEqual(['problem', 'backup_old', 'warning', 'drill_missing'])
  const age = (await readDatabaseMetrics()).find(({ name }) => name === 'troco_backup_age_seconds')
  expect(age?.value).toBeCloseTo(26 * 3_600, -2)
  await recordRun({ kind: 'backup', beganAt: hoursAgo(24), bytes: 5 })
  await recordRun({ kind: 'drill', beganAt: hoursAgo(2), bytes: 5, problem: 'wrong key' })
  expect(await readStates()).toEqual(['ok', 'backup_fresh', 'problem', 'drill_failed'])
  await recordRun({ kind: 'drill', beganAt: hoursAgo(1), bytes: 5 })
  expect(await readStates()).toEqual(['ok', 'backup_fresh', 'ok', 'drill_passed'])
})

test('a backup that failed after the newest one is a problem, but not the age of the newest', async () => {
  await recordRun({ kind: 'backup', beganAt: hoursAgo(3), bytes: 5 })
  await recordRun({ kind: 'backup', beganAt: hoursAgo(1), bytes: 0, problem: 'damaged pages' })
  expect((await examineBackups()).backups).toEqual({
    level: 'problem',
    state: 'backup_failed',
    figures: {
      age_s: expect.any(Number),
      problem: 'damaged pages',
      has_other: 'true',
      good_s: expect.any(Number),
    },
  })
  const age = (await readDatabaseMetrics()).find(({ name }) => name === 'troco_backup_age_seconds')
  expect(age?.value).toBeCloseTo(3 * 3_600, -2)
  await recordRun({ kind: 'backup', bytes: 5 })
  expect(await readStates()).toEqual(['ok', 'backup_fresh', 'warning', 'drill_missing'])
})

test('a failure is recorded and thrown', async () => {
  const fail = () => Promise.reject(new Error('no room'))
  await expect(recordFailure('backup', fail)).rejects.toThrow('no room')
  const { backups } = await examineBackups()
  expect(backups).toMatchObject({ state: 'backup_failed', figures: { problem: 'no room' } })
})
