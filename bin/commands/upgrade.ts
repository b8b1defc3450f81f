import { withRuntime } from '#bin/command-line.ts'
import {
  type PlannedMigration,
  type PlannedStep,
  planMigrations,
} from '#lib/base/db/migration-plan.ts'
import type { StepKind } from '#lib/base/db/migration-steps.ts'
import { env } from '#lib/base/env.ts'

const EFFECTS: Record<StepKind, string> = {
  instant: 'changes its definition; others wait for milliseconds',
  builds_index: 'builds an index while others read and write',
  validates: 'checks its rows while others read and write',
  delays_none: 'reads or writes its rows; no request waits for them',
  blocks: 'READS OR WRITES ITS ROWS WHILE OTHERS WAIT',
}

/** Prints what migrating would do to this database. Changes nothing. */
export async function printPlan(): Promise<void> {
  const print = async () => {
    const { DATABASE_URL: url = '', DATABASE_OWNER_URL: ownerUrl } = env()
    const { migrations, functions } = await planMigrations(ownerUrl ?? url)
    process.stdout.write(`${describePlan(migrations, functions.length)}\n`)
  }
  await withRuntime(print, { isUnprepared: true })
}

function describePlan(migrations: PlannedMigration[], functions: number): string {
  if (migrations.length + functions === 0) return 'The database is up to date'
  const steps = migrations.flatMap(migration => migration.steps)
  const blocking = steps.some(
    ({ kind, table, rows }) => kind === 'blocks' && (table === null || rows > 0),
  )
  return [
    `Pending migrations: ${migrations.length}`,
    ...migrations.flatMap(({ name, about, steps }) => ['', name, `  ${about}`, ...linesOf(steps)]),
    '',
    `Functions created or replaced: ${functions}`,
    `Time in all: ${describeTime(steps.reduce((sum, { seconds }) => sum + seconds, 0))}`,
    blocking
      ? 'Requests wait meanwhile: plan a pause'
      : 'Requests go on meanwhile; none waits for more than a second',
    describeOlder(migrations),
  ].join('\n')
}

function linesOf(steps: PlannedStep[]): string[] {
  const lines = steps.map(({ kind, table, rows, seconds }) => {
    const time = rows > 0 ? `, ${describeTime(seconds)} for ${rows.toLocaleString('en')} rows` : ''
    return `  ${table ?? 'the database'}: ${EFFECTS[kind]}${time}`
  })
  return [...new Set(lines)]
}

function describeTime(seconds: number): string {
  if (seconds < 1) return 'less than a second'
  return seconds < 120 ? `about ${Math.ceil(seconds)} s` : `about ${Math.ceil(seconds / 60)} min`
}

/** A requirement that is pending itself is one that earlier versions lack. */
function describeOlder(migrations: PlannedMigration[]): string {
  const names = migrations.map(({ name }) => name)
  const ending = migrations.find(({ requires }) => requires !== null && names.includes(requires))
  return ending
    ? `Stop all processes of earlier versions first: they cannot run after ${ending.name}`
    : 'Processes of the version before may go on, and start again'
}
