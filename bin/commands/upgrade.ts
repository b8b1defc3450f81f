import { parseArgs } from 'node:util'
import { withRuntime } from '#bin/command-line.ts'
import { env } from '#lib/core/settings.ts'
import type { StepKind } from '#lib/db/migration-plan.ts'
import { type PlannedMigration, type PlannedStep, planMigrations } from '#lib/db/migration-plan.ts'

const EFFECTS: Record<StepKind, string> = {
  instant: 'changes its definition; others wait for milliseconds',
  builds_index: 'builds an index while others read and write',
  validates: 'checks its rows while others read and write',
  delays_none: 'reads or writes its rows; no request waits for them',
  blocks: 'READS OR WRITES ITS ROWS WHILE OTHERS WAIT',
}

/** Lines of the short form; a terminal shows them without scrolling. */
const LINES_MAX = 20

/** Prints what migrating would do to this database: the verdict first. Changes nothing. */
export async function printPlan(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { long: { type: 'boolean' } } })
  const print = async () => {
    const { DATABASE_URL: url = '', DATABASE_OWNER_URL: ownerUrl } = env()
    const { migrations, functions } = await planMigrations(ownerUrl ?? url)
    const lines = describePlan(migrations, functions.length, values.long ?? false)
    process.stdout.write(`${lines.join('\n')}\n`)
  }
  await withRuntime(print, { isUnprepared: true })
}

function describePlan(
  migrations: PlannedMigration[],
  functions: number,
  isLong: boolean,
): string[] {
  if (migrations.length + functions === 0) return ['The database is up to date']
  const steps = migrations.flatMap(migration => migration.steps)
  const verdict = [
    steps.some(isBlocking)
      ? 'Requests wait meanwhile: plan a pause'
      : 'Requests go on meanwhile; none waits for more than a second',
    describeOlder(migrations),
    `Time in all: ${describeTime(steps.reduce((sum, { seconds }) => sum + seconds, 0))}`,
    `Pending migrations: ${migrations.length}, functions created or replaced: ${functions}`,
    'What changes between versions: CHANGELOG.md',
  ]
  return isLong ? [...verdict, ...listAll(migrations)] : [...verdict, ...listSlowest(migrations)]
}

function isBlocking({ kind, table, rows }: PlannedStep): boolean {
  return kind === 'blocks' && (table === null || rows > 0)
}

function listAll(migrations: PlannedMigration[]): string[] {
  return migrations.flatMap(({ name, about, steps }) => ['', name, `  ${about}`, ...linesOf(steps)])
}

/** Lists the migrations that block or take time, the slowest first, and counts the others. */
function listSlowest(migrations: PlannedMigration[]): string[] {
  const secondsOf = ({ steps }: PlannedMigration) =>
    steps.reduce((sum, step) => sum + step.seconds + (isBlocking(step) ? 1e9 : 0), 0)
  const slow = migrations.filter(migration => secondsOf(migration) >= 1)
  const listed = slow
    .toSorted((a, b) => secondsOf(b) - secondsOf(a))
    .map(({ name, steps }) =>
      [`  ${name}`, ...linesOf(steps.filter(({ rows }) => rows > 0))].join(''),
    )
  const shown = listed.slice(0, LINES_MAX - 8)
  const others = migrations.length - shown.length
  return [
    ...(shown.length > 0 ? ['', ...shown] : []),
    `${others} ${shown.length > 0 ? 'other ' : ''}migrations; to list all: upgrade --plan --long`,
  ]
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
