import { expect, test } from 'vitest'
import { Prisma } from '#lib/db/client.ts'
import { columnsOf, joinCtes, selectSource } from '#lib/db/sql.ts'

test('each column of a source is named after its key, whatever its expression', () => {
  const source = selectSource({
    from: Prisma.sql`made m`,
    columns: {
      ...columnsOf('m', ['id']),
      amount: Prisma.sql`m.fee + m.amount`,
      mode: Prisma.sql`${'test'}`,
    },
  })
  expect(source.text).toBe('SELECT m.id, m.fee + m.amount AS amount, $1 AS mode FROM made m')
})

test('a CTE that is null leaves no comma', () => {
  const select = Prisma.sql`SELECT 1`
  expect(joinCtes({ a: null, b: select, c: null, d: select }).text).toBe(
    'b AS (SELECT 1), d AS (SELECT 1)',
  )
})
