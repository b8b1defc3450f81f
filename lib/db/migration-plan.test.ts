import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listMigrations, migrate } from '#lib/db/migrate.ts'
import {
  describeSteps,
  listBlocking,
  planMigrations,
  type StepKind,
} from '#lib/db/migration-plan.ts'
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
      name: '2_text',
      about: 'What is written.',
      requires: null,
      steps: [{ kind: 'instant', table: 'notes', rows: 0, seconds: 0 }],
    },
    {
      name: '3_index',
      about: 'For a list.',
      requires: null,
      steps: [{ kind: 'builds_index', ...read }],
    },
    {
      name: '4_pages',
      about: '',
      requires: '2_text',
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

/** It creates the tables, so nobody uses them yet. */
const BASELINE = '20261128000000_baseline'

const kindsOf = (sql: string) => describeSteps(sql).map(({ kind }) => kind)

test.each<[StepKind[], string]>([
  [['instant'], 'ALTER TABLE charges ADD COLUMN note text'],
  [
    ['instant'],
    'ALTER TABLE charges ADD COLUMN at timestamptz NOT NULL DEFAULT now(), DROP COLUMN x',
  ],
  [['instant'], "ALTER TABLE charges ADD COLUMN note text NOT NULL DEFAULT 'a;b, (c'"],
  [['instant'], 'ALTER TABLE charges ADD CONSTRAINT short CHECK (length(note) < 9) NOT VALID'],
  [['instant'], 'ALTER TABLE charges ADD CONSTRAINT one UNIQUE USING INDEX charges_one'],
  [['instant'], 'ALTER TABLE charges ALTER COLUMN note DROP NOT NULL, ALTER note SET DEFAULT 1'],
  [
    ['instant', 'instant'],
    'DROP INDEX charges_one; ALTER INDEX charges_two RENAME TO charges_one;',
  ],
  [
    ['instant', 'instant', 'instant'],
    'CREATE TABLE notes (id uuid); CREATE INDEX a ON notes (id); INSERT INTO notes SELECT id FROM charges',
  ],
  [
    ['instant'],
    "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ UPDATE charges SET x = ';' $$",
  ],
  [['builds_index'], '-- UPDATE\nCREATE UNIQUE INDEX CONCURRENTLY charges_one ON charges (id);\n'],
  [
    ['validates', 'validates'],
    'ALTER TABLE a VALIDATE CONSTRAINT b; ALTER TABLE c VALIDATE CONSTRAINT d',
  ],
  [['instant', 'blocks'], 'ALTER TABLE a ADD COLUMN b int; ALTER TABLE a VALIDATE CONSTRAINT b'],
  [['instant', 'blocks'], 'DROP INDEX a; CREATE INDEX CONCURRENTLY a ON charges (id)'],
  [['delays_none'], 'CREATE INDEX request_log_id ON request_log (id)'],
  [['blocks'], 'CREATE INDEX charges_one ON charges (id)'],
  [['blocks'], 'ALTER TABLE charges SET TABLESPACE fast'],
  [['blocks'], 'ALTER TABLE charges ADD CONSTRAINT one PRIMARY KEY USING INDEX charges_one'],
  [['blocks'], 'ALTER TABLE charges ADD COLUMN note text DEFAULT (random()::text)'],
  [['blocks'], 'ALTER TABLE charges ADD COLUMN id2 uuid DEFAULT pg_catalog.gen_random_uuid()'],
  [
    ['instant', 'instant', 'blocks'],
    'ALTER TABLE charges ADD x int; CREATE TABLE n (i uuid); INSERT INTO n SELECT id FROM charges',
  ],
  [['blocks'], 'ALTER TABLE charges ADD COLUMN id2 uuid DEFAULT gen_random_uuid()'],
  [['blocks'], 'ALTER TABLE charges ADD COLUMN sum bigint GENERATED ALWAYS AS (a + b) STORED'],
  [['blocks'], 'ALTER TABLE charges ADD COLUMN note text CHECK (length(note) < 9)'],
  [['blocks'], 'ALTER TABLE charges ADD CONSTRAINT short CHECK (length(note) < 9)'],
  [['blocks'], 'ALTER TABLE charges ADD COLUMN note text, ADD FOREIGN KEY (id) REFERENCES a (id)'],
  [['blocks'], 'ALTER TABLE charges ADD UNIQUE (note)'],
  [['blocks'], 'ALTER TABLE charges ALTER COLUMN amount TYPE numeric'],
  [['blocks'], 'ALTER TABLE charges ALTER COLUMN note SET NOT NULL'],
  [['blocks'], "UPDATE charges SET note = ''"],
  [['blocks'], 'DELETE FROM charges WHERE note IS NULL'],
  [['blocks'], 'INSERT INTO notes SELECT id FROM charges'],
  [['blocks'], 'LOCK TABLE charges'],
  [['blocks'], 'DO $$ BEGIN DROP INDEX a; END $$'],
  [['blocks'], 'VACUUM FULL charges'],
])('%j: %s', (kinds, sql) => {
  expect(kindsOf(sql)).toEqual(kinds)
})

test('no migration after the baseline makes others wait while a big table is read or written', () => {
  const blocking = listMigrations()
    .filter(name => name !== BASELINE)
    .flatMap(name =>
      listBlocking(readFileSync(`prisma/migrations/${name}/migration.sql`, 'utf8')).map(
        ({ statement }) => `${name}: ${statement}`,
      ),
    )
  expect(blocking, 'docs/recipes.md says how to do it while requests go on').toEqual([])
})
