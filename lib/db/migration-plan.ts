import { type Client, escapeIdentifier } from 'pg'
import { listPending } from '#lib/db/migrate.ts'
import { readRequirement } from '#lib/db/migration-records.ts'
import { describeSteps, type StepKind } from '#lib/db/migration-steps.ts'
import { withoutLimits } from '#lib/db/role-settings.ts'
import { withClient } from '#lib/db/with-client.ts'

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

export interface Plan {
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
