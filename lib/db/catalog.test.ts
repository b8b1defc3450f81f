import { readFileSync } from 'node:fs'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import { SchemaEngine } from '@prisma/schema-engine-wasm'
import { beforeAll, expect, test } from 'vitest'
import { makeDatabase, ownerUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'

/**
 * Reads columns, keys and indexes, one line each. Leaves out partial indexes, CHECKs and triggers,
 * which schema.prisma cannot express.
 */
async function readCatalog(url: string): Promise<string[]> {
  const rows = await query(
    url,
    `SELECT concat_ws(' ', table_name, column_name, format_type(atttypid, atttypmod),
       CASE WHEN attnotnull THEN 'not null' END, 'default ' || pg_get_expr(adbin, adrelid)) AS line
     FROM information_schema.columns
     JOIN pg_attribute ON attrelid = table_name::regclass AND attname = column_name
     LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE table_schema = 'public' AND table_name <> '_prisma_migrations'
   UNION ALL
     SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
     FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'f')
       AND conrelid::regclass::text <> '_prisma_migrations'
   UNION ALL
     SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') FROM pg_index
     JOIN pg_class ON pg_class.oid = indrelid AND relnamespace = 'public'::regnamespace
     WHERE indpred IS NULL AND relname <> '_prisma_migrations'
   ORDER BY line`,
  )
  return rows.map(row => String(row.line))
}

/** Returns the SQL that Prisma generates for schema.prisma on an empty database. */
async function generateSchemaSql(url: string): Promise<string> {
  const content = readFileSync('prisma/schema.prisma', 'utf8')
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }))
  const engine = await SchemaEngine.new(
    { datamodels: [['schema.prisma', content]] },
    () => {},
    adapter,
  )
  const difference = await engine.diff({
    from: { tag: 'empty' },
    to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }] },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  })
  engine.free()
  return difference.stdout ?? ''
}

let expectedCatalog: string[]
beforeAll(async () => {
  const url = await makeDatabase({ migrated: false })
  await query(url, await generateSchemaSql(url))
  expectedCatalog = await readCatalog(url)
})

test('the migrations create exactly the tables, columns and keys of schema.prisma', async () => {
  expect(expectedCatalog.length).toBeGreaterThan(200)
  expect(await readCatalog(await makeDatabase())).toEqual(expectedCatalog)
})

test.each([
  ['a column was dropped', 'ALTER TABLE charges DROP COLUMN attempts'],
  ['a column was added', 'ALTER TABLE charges ADD COLUMN note text'],
  ['a default was changed', 'ALTER TABLE accounts ALTER COLUMN expires_in SET DEFAULT 3600'],
  ['a type was narrowed', 'ALTER TABLE simulator_orders ALTER COLUMN amount TYPE integer'],
  ['a column may be null', 'ALTER TABLE charges ALTER COLUMN client_doc DROP NOT NULL'],
  ['a unique key is missing', 'DROP INDEX charges_account_id_mode_external_id_key'],
  ['an index is missing', 'DROP INDEX events_account_id_subject_id_idx'],
  [
    'a primary key is missing',
    'ALTER TABLE simulator_orders DROP CONSTRAINT simulator_orders_pkey',
  ],
  ['a foreign key is missing', 'ALTER TABLE tokens DROP CONSTRAINT tokens_account_id_fkey'],
])('the comparison with schema.prisma detects a database in which %s', async (_what, sql) => {
  const url = ownerUrlOf(await makeDatabase())
  await query(url, sql)
  expect(await readCatalog(url)).not.toEqual(expectedCatalog)
})
