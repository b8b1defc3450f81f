import { Prisma } from '#lib/base/db/client.ts'

/** Common table expressions by name, in order. Entries that are null are omitted. */
export type Ctes = Record<string, Prisma.Sql | null>

/** Columns are typed keys: a part that needs a column that is not selected does not compile. */
export interface Source<Column extends string> {
  from: Prisma.Sql
  columns: Record<Column, Prisma.Sql>
}

interface Statement<Column extends string> {
  /** CTEs that write or lock the rows that `source` selects from. */
  ctes: Ctes
  source: Source<Column>
  /** CTEs that read from `source`, joined by commas. */
  parts: (Prisma.Sql | null)[]
  /** One JSON value per row that `source` selects from. */
  returning: Prisma.Sql
}

/** Builds one statement from named parts. Its only column is `json`, as queryRows expects. */
export function buildStatement<Column extends string>({
  ctes,
  source,
  parts,
  returning,
}: Statement<Column>): Prisma.Sql {
  const all = [joinCtes({ ...ctes, source: selectSource(source) }), ...parts]
  const present = all.filter(part => part !== null)
  return Prisma.sql`WITH ${Prisma.join(present, ', ')}
    SELECT ${returning}::text AS json FROM ${source.from}`
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

function selectSource({ from, columns }: Source<string>): Prisma.Sql {
  const selected = Object.entries(columns).map(([name, value]) =>
    isColumn(value, name) ? value : Prisma.sql`${value} AS ${Prisma.raw(name)}`,
  )
  return Prisma.sql`SELECT ${Prisma.join(selected, ', ')} FROM ${from}`
}

function isColumn({ strings, values }: Prisma.Sql, name: string): boolean {
  return values.length === 0 && /^\w+\.(\w+)$/.exec(strings.join(''))?.[1] === name
}
