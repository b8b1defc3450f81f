import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listMigrations } from '#lib/db/migrate.ts'
import { describeSteps, listBlocking, type StepKind } from '#lib/db/migration-steps.ts'

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
