import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'

export interface Migration {
  name: string
  sql: string
  checksum: string
}

export interface RecordedMigration {
  migration_name: string
  checksum: string
  finished_at: Date | null
  logs: string | null
}

/** Line of a migration after which versions that lack another one cannot run. */
const REQUIREMENT = /^-- Requires (\w+)$/m
/** Stored with each migration, for versions that do not have it; then what they need to run. */
const RUNS_WITH = 'runs with versions that have: '

/** Returns whether this version, which lacks the migration, runs on its schema. */
export function canRunOn(
  { finished_at, logs }: RecordedMigration,
  known: { has: (name: string) => boolean },
): boolean {
  if (!finished_at || !logs?.startsWith(RUNS_WITH)) return false
  const required = logs.slice(RUNS_WITH.length)
  return required === '' || known.has(required)
}

/** Returns the migration that a version must have to run on the schema after this one. */
export function readRequirement(sql: string): string | null {
  return REQUIREMENT.exec(sql)?.[1] ?? null
}

export async function recordMigration(
  client: Client,
  { name, checksum, sql }: Migration,
): Promise<void> {
  const required = readRequirement(sql) ?? ''
  await client.query(
    `INSERT INTO _prisma_migrations
       (id, checksum, migration_name, started_at, finished_at, applied_steps_count, logs)
     VALUES ($1, $2, $3, now(), clock_timestamp(), 1, $4)`,
    [randomUUID(), checksum, name, RUNS_WITH + required],
  )
}

export async function isRecorded(client: Client, { name }: Migration): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM _prisma_migrations
     WHERE migration_name = $1 AND rolled_back_at IS NULL AND finished_at IS NOT NULL`,
    [name],
  )
  return rowCount !== 0
}

/** Not on every start: the application's role may not run it even if the table exists. */
export const CREATE_RECORD_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0)`
