import { type Client, escapeIdentifier } from 'pg'
import { listPending, readRequirement } from '#lib/db/migrate.ts'
import { withClient, withoutLimits } from '#lib/db/server.ts'

/** Pages read to measure how fast this database reads a table. */
const SAMPLE_PAGES = 2_000
/** Times that one reading of a table takes, as measured (docs/decisions/008). */
const READINGS: Record<StepKind, number> = {
  instant: 0,
  validates: 1,
  builds_index: 4,
  delays_none: 4,
  blocks: 25,
}

export interface PlannedStep {
  kind: StepKind
  table: string | null
  rows: number
  seconds: number
}

export interface PlannedMigration {
  name: string
  /** First paragraph of its comment. */
  about: string
  /** Migration that a version must have to run beside this one; null: any may. */
  requires: string | null
  steps: PlannedStep[]
}

interface Plan {
  migrations: PlannedMigration[]
  /** Functions that are created or replaced. */
  functions: string[]
}

/** Returns what migrating would do and how long about, without changing anything. */
export function planMigrations(url: string, folder?: string): Promise<Plan> {
  return withClient(url, 'DATABASE_URL', client =>
    withoutLimits(client, async () => {
      const { pending, outdated } = await listPending(client, folder)
      const sizes = new Map<string, Size>()
      const migrations: PlannedMigration[] = []
      for (const { name, sql } of pending) {
        const steps: PlannedStep[] = []
        for (const { kind, table } of describeSteps(sql)) {
          const size = (table && READINGS[kind] && (await measure(client, table, sizes))) || NOTHING
          steps.push({ kind, table, rows: size.rows, seconds: size.seconds * READINGS[kind] })
        }
        migrations.push({ name, about: readAbout(sql), requires: readRequirement(sql), steps })
      }
      return { migrations, functions: outdated.map(each => each.name) }
    }),
  )
}

interface Size {
  rows: number
  /** Duration of one reading. */
  seconds: number
}
const NOTHING: Size = { rows: 0, seconds: 0 }

/** Counts a part of the table's pages, as large on a big table as on a small one. */
async function measure(client: Client, table: string, sizes: Map<string, Size>): Promise<Size> {
  const known = sizes.get(table)
  if (known) return known
  const { rows } = await client.query<{ pages: number }>(
    `SELECT (pg_relation_size(to_regclass($1)) / current_setting('block_size')::int)::int AS pages`,
    [table],
  )
  const pages = rows[0]?.pages ?? 0
  const share = Math.min(1, SAMPLE_PAGES / Math.max(1, pages))
  const size = pages > 0 ? await sample(client, table, share) : NOTHING
  sizes.set(table, size)
  return size
}

async function sample(client: Client, table: string, share: number): Promise<Size> {
  const began = performance.now()
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${escapeIdentifier(table)} TABLESAMPLE SYSTEM (${share * 100})`,
  )
  const seconds = (performance.now() - began) / 1_000
  return { rows: Math.round((rows[0]?.count ?? 0) / share), seconds: seconds / share }
}

function readAbout(sql: string): string {
  const [lines = ''] = /^(?:--.+\n)*/.exec(sql) ?? []
  const text = lines.replaceAll(/^-- ?/gm, '').replace(/^(Requires|Locks:)[\s\S]*/m, '')
  const [paragraph = ''] = text.split('\n\n')
  return paragraph.replaceAll(/\s+/g, ' ').trim()
}

/** How a statement of a migration affects those who read and write its table meanwhile. */
export type StepKind =
  /** Changes the catalog alone: its lock is held for milliseconds. */
  | 'instant'
  /** Reads the whole table while all others go on. */
  | 'builds_index'
  | 'validates'
  /** Reads or writes rows of a table for which no request waits, or that has few. */
  | 'delays_none'
  /** Reads or writes rows while others wait. */
  | 'blocks'

interface Step {
  kind: StepKind
  /** Null if the statement is about no table. */
  table: string | null
  statement: string
}

/**
 * Tables whose rows grow with accounts by a few, not with payments; and the log of requests, which is
 * written in batches after them, so that none waits.
 */
const EXEMPT_TABLES = ['tokens', 'webhook_endpoints', 'request_log']

const INDEX = /^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?\w+\s+ON (\w+)/i
const TABLE = /^(?:CREATE|DROP) TABLE (?:IF (?:NOT )?EXISTS )?(\w+)/i
const ALTER = /^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\w+)\s+(.*)$/is
const VALIDATION = /^ALTER TABLE \w+\s+VALIDATE CONSTRAINT \w+$/i
const WRITE = /^(?:UPDATE|DELETE FROM|INSERT INTO) (?:ONLY )?(\w+)(?![.\w])/i
const CATALOG = new RegExp(
  `^(${[
    'CREATE (OR REPLACE )?(EXTENSION|FUNCTION|TRIGGER|SEQUENCE|TYPE)',
    'ALTER (INDEX|FUNCTION|SEQUENCE|TYPE|DEFAULT PRIVILEGES)',
    'DROP (INDEX|FUNCTION|TRIGGER|TYPE)',
    'GRANT|REVOKE|COMMENT',
  ].join('|')})\\b`,
  'i',
)

/** Actions of ALTER TABLE that read no row. */
const CATALOG_ACTIONS = [
  /^(DROP|RENAME|OWNER|SET \(|SET SCHEMA|RESET|ENABLE|DISABLE|DETACH)/i,
  /^ALTER (COLUMN )?\w+ (DROP|SET (DEFAULT|STATISTICS|STORAGE|COMPRESSION))\b/i,
  /^ADD CONSTRAINT (?!.*PRIMARY KEY).*\b(NOT VALID|USING INDEX \w+)$/is,
]
/** A new column is instant if its value is the same for all rows, and nothing is to be checked. */
const ADDS_COLUMN = /^ADD (?:COLUMN )?(?!CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\w+ /i
const FILLS_COLUMN =
  /\b(GENERATED|\w*SERIAL|UNIQUE|PRIMARY KEY|REFERENCES|CHECK|DEFAULT (?!CURRENT_TIMESTAMP|now\(\))[\w.]*\()/i

/** Returns what each statement does to others. Whatever is not known counts as blocking. */
export function describeSteps(sql: string): Step[] {
  const statements = splitStatements(sql)
  const created = new Set(statements.flatMap(each => TABLE.exec(each)?.[1] ?? []))
  const migration: Migration = {
    created,
    isAlone: statements.length === 1,
    altersNewOnly: statements.every(
      each => !ALTER.test(each) || created.has(ALTER.exec(each)?.[1] ?? ''),
    ),
    validatesOnly: statements.every(each => VALIDATION.test(each)),
  }
  return statements.map(statement => {
    const table = tableOf(statement)
    const kind = kindOf(statement, table, migration)
    const isExempt = kind === 'blocks' && table !== null && EXEMPT_TABLES.includes(table)
    return { kind: isExempt ? 'delays_none' : kind, table, statement }
  })
}

/** What the other statements of a migration mean for one of them. */
interface Migration {
  /** Tables that it creates or drops. */
  created: Set<string>
  isAlone: boolean
  altersNewOnly: boolean
  /** In one transaction with others, the lock of a validation would be theirs. */
  validatesOnly: boolean
}

function tableOf(statement: string): string | null {
  const indexed = INDEX.exec(statement)?.[2]
  return (
    indexed ?? [ALTER, TABLE, WRITE].map(form => form.exec(statement)?.[1]).find(Boolean) ?? null
  )
}

function kindOf(statement: string, table: string | null, migration: Migration): StepKind {
  if (table && migration.created.has(table)) {
    // Reads of another table can take long, under the locks of statements before.
    const isCopying = /\bFROM\b/i.test(statement) && !migration.altersNewOnly
    return isCopying ? 'blocks' : 'instant'
  }
  if (TABLE.test(statement) || CATALOG.test(statement)) return 'instant'
  const index = INDEX.exec(statement)
  if (index) return index[1] && migration.isAlone ? 'builds_index' : 'blocks'
  const actions = ALTER.exec(statement)?.[2]
  if (actions === undefined) return 'blocks'
  if (migration.validatesOnly) return 'validates'
  return splitAt(actions, ',').every(isInstant) ? 'instant' : 'blocks'
}

/** Returns the steps that would make others wait for as long as a big table is read or written. */
export function listBlocking(sql: string): Step[] {
  return describeSteps(sql).filter(({ kind }) => kind === 'blocks')
}

function isInstant(action: string): boolean {
  if (ADDS_COLUMN.test(action)) return !FILLS_COLUMN.test(action)
  return CATALOG_ACTIONS.some(pattern => pattern.test(action))
}

function splitStatements(sql: string): string[] {
  return splitAt(sql.replaceAll(/^\s*--.*$/gm, ''), ';')
}

/** Splits outside of parentheses, texts and function bodies. */
function splitAt(text: string, separator: string): string[] {
  const parts = ['']
  let depth = 0
  for (const [piece] of text.matchAll(/\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|[\s\S]/g)) {
    if (piece === '(') depth++
    if (piece === ')') depth--
    if (piece === separator && depth === 0) parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts.map(part => part.trim()).filter(Boolean)
}
