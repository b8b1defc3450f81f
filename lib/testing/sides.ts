import { readFileSync } from 'node:fs'

export type Side = 'people' | 'money' | 'both'

const MODEL = /(?:^\/\/\/ side: (people|money|both, \w.+)\n)?^model \w+ \{[^}]*@@map\("(\w+)"\)/gm

/** Returns the side that each table declares in schema.prisma; undefined if it declares none. */
export function readSides(schema = readFileSync('prisma/schema.prisma', 'utf8')) {
  return new Map(
    [...schema.matchAll(MODEL)].map(([, side, table = '']) => [
      table,
      side?.replace(/,.*/, '') as Side | undefined,
    ]),
  )
}

const sides = readSides()
/** A word that names a table: no column of a table, no alias. The ORM writes `"public"."users"`. */
const NAME = /(?<!\bAS "?|(?<!"public")\."?)\b[a-z_]+\b/g

/** Returns the sides of the tables that SQL names. Tables of both sides count as none. */
export function sidesOf(sql: string): Side[] {
  const words = sql.replace(/--.*$|'(?:[^']|'')*'/gm, '').match(NAME) ?? []
  const named = words.map(word => sides.get(word)).filter(side => side && side !== 'both')
  return [...new Set(named as Side[])]
}
