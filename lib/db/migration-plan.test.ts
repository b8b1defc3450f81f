import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listMigrations, migrate } from '#lib/db/migrate.ts'
import { planMigrations } from '#lib/db/migration-plan.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

let url: string
let folder: string
beforeEach(async () => {
  url = await makeDatabase({ migrated: false })
  folder = mkdtempSync(join(tmpdir(), 'troco-plan-'))
  writeMigration('1_notes', 'CREATE TABLE notes (id int)')
  await migrate(url, { folder })
  await query(url, 'INSERT INTO notes SELECT FROM generate_series(1, 1000)')
})
afterEach(() => rmSync(folder, { recursive: true }))

function writeMigration(name: string, sql: string): void {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, 'migration.sql'), sql)
}

test('nothing is planned for a database that has all migrations', async () => {
  expect(await planMigrations(url, folder)).toEqual({ migrations: [], functions: [] })
})

test('each pending migration is planned with its effect, rows and duration, and none is applied', async () => {
  writeMigration(
    '2_text',
    '-- What is written.\n--\n-- Locks: one.\nALTER TABLE notes ADD COLUMN text text',
  )
  writeMigration(
    '3_index',
    '-- For\n-- a list.\nCREATE INDEX CONCURRENTLY notes_id_idx ON notes (id)',
  )
  writeMigration(
    '4_pages',
    '-- Requires 2_text\nCREATE TABLE pages (id int); UPDATE notes SET id = 1',
  )
  const { migrations } = await planMigrations(url, folder)
  const read = { table: 'notes', rows: 1_000, seconds: expect.any(Number) }
  expect(migrations).toEqual([
    {
      ...{ name: '2_text', about: 'What is written.', requires: null },
      steps: [{ kind: 'instant', table: 'notes', rows: 0, seconds: 0 }],
    },
    {
      ...{ name: '3_index', about: 'For a list.', requires: null },
      steps: [{ kind: 'builds_index', ...read }],
    },
    {
      ...{ name: '4_pages', about: '', requires: '2_text' },
      steps: [
        { kind: 'instant', table: 'pages', rows: 0, seconds: 0 },
        { kind: 'blocks', ...read },
      ],
    },
  ])
  for (const { steps } of migrations.slice(1)) expect(steps.at(-1)?.seconds).toBeGreaterThan(0)
  expect(await query(url, `SELECT to_regclass('pages') AS found`)).toEqual([{ found: null }])
})

test('an empty database lacks everything, and its tables have no rows yet', async () => {
  const { migrations, functions } = await planMigrations(await makeDatabase({ migrated: false }))
  expect(migrations.map(({ name }) => name)).toEqual(listMigrations())
  expect(functions.length).toBeGreaterThan(10)
  const rows = migrations.flatMap(({ steps }) => steps.map(step => step.rows))
  expect(new Set(rows)).toEqual(new Set([0]))
})
