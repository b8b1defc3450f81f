import { expect, test } from 'vitest'
import { Prisma } from '#lib/base/db/client.ts'
import { buildStatement, columnsOf, joinCtes } from '#lib/base/db/statement.ts'
import { formatStatement } from '#lib/testing/statements.ts'

test('each column of the source CTE is named after its key, whatever its expression', () => {
  const statement = buildStatement({
    ctes: { made: Prisma.sql`SELECT 1`, unused: null },
    source: {
      from: Prisma.sql`made m`,
      columns: {
        ...columnsOf('m', ['id']),
        amount: Prisma.sql`m.fee + m.amount`,
        mode: Prisma.sql`${'test'}`,
      },
    },
    parts: [null, Prisma.sql`last AS (SELECT id FROM source)`],
    returning: Prisma.sql`to_json(m.id)`,
  })
  expect(formatStatement(statement.text)).toBe(`WITH made AS (
  SELECT 1
), source AS (
  SELECT m.id, m.fee + m.amount AS amount, $1 AS mode
  FROM made m
), last AS (
  SELECT id
  FROM source
)
SELECT to_json(m.id)::text AS json
FROM made m;
`)
})

test('a CTE that is null leaves no comma', () => {
  const select = Prisma.sql`SELECT 1`
  expect(joinCtes({ a: null, b: select, c: null, d: select }).text).toBe(
    'b AS (SELECT 1), d AS (SELECT 1)',
  )
})
