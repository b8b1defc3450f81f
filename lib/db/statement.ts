import { Prisma } from '#lib/db/client.ts'

/** Common table expressions by name, in order. Entries that are null are omitted. */
export type Ctes = Record<string, Prisma.Sql | null>

/** Columns are typed keys: a part that needs a column that is not selected does not compile. */
export interface Source<Column extends string> {
  from: Prisma.Sql
  columns: Record<Column, Prisma.Sql>
}

export function joinCtes(ctes: Ctes): Prisma.Sql {
  const present = Object.entries(ctes).flatMap(([name, body]) =>
    body ? [Prisma.sql`${Prisma.raw(name)} AS (${body})`] : [],
  )
  return Prisma.join(present, ', ')
}

export function columnsOf<Column extends string>(
  alias: string,
  names: readonly Column[],
): Record<Column, Prisma.Sql> {
  const columns = names.map(name => [name, Prisma.raw(`${alias}.${name}`)])
  return Object.fromEntries(columns)
}

export function selectSource({ from, columns }: Source<string>): Prisma.Sql {
  const selected = Object.entries(columns).map(([name, value]) =>
    isColumn(value, name) ? value : Prisma.sql`${value} AS ${Prisma.raw(name)}`,
  )
  return Prisma.sql`SELECT ${Prisma.join(selected, ', ')} FROM ${from}`
}

function isColumn({ strings, values }: Prisma.Sql, name: string): boolean {
  return values.length === 0 && /^\w+\.(\w+)$/.exec(strings.join(''))?.[1] === name
}

/**
 * Returns an array parameter whose length the planner does not see. Else a plan for one row looks cheaper than
 * the plan for any number of rows, and PostgreSQL plans the statement anew for each call.
 */
export function arrayOf(type: string, values: unknown[]): Prisma.Sql {
  return Prisma.sql`(SELECT ${values}::${Prisma.raw(type)}[])`
}
