import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { processWide } from '#lib/core/process-wide.ts'

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

const sent = processWide('statements of both sides', () => ({ mixed: null as Set<string> | null }))

/** From now on, keeps the statements of the application's connections that name both sides. */
export function watchStatements(): void {
  if (sent.mixed) return
  const mixed = new Set<string>()
  sent.mixed = mixed
  const judged = new Map<string, boolean>()
  const isMixed = (text: string) => {
    const known = judged.get(text) ?? sidesOf(text).length > 1
    judged.set(text, known)
    return known
  }
  const { query } = Client.prototype
  Client.prototype.query = function (this: Client, ...args: unknown[]) {
    const [config] = args as [string | { text?: string }]
    const text = typeof config === 'string' ? config : (config.text ?? '')
    if (isOfApplication(this) && isMixed(text)) mixed.add(text)
    return Reflect.apply(query, this, args)
  } as typeof query
}

/** Tests also send statements of their own, on connections of their own. */
function isOfApplication(client: Client): boolean {
  const { connectionParameters } = client as unknown as {
    connectionParameters: { application_name?: string }
  }
  return connectionParameters.application_name === 'troco'
}

export function takeMixedStatements(): string[] {
  const mixed = [...(sent.mixed ?? [])]
  sent.mixed?.clear()
  return mixed
}
