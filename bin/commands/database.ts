import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import type { Runtime } from '#bin/runtime.ts'
import { env, loadEnvFile } from '#lib/core/settings.ts'
import {
  type PlannedMigration,
  type PlannedStep,
  planMigrations,
  type StepKind,
} from '#lib/db/migration-plan.ts'
import { createApplicationRole, describeRole, inspectRole } from '#lib/db/roles.ts'
import { replaceServerSecret } from '#lib/db/server.ts'
import {
  listReceiptKeys,
  readCurrentKey,
  rotateReceiptKey,
  withdrawReceiptKey,
} from '#lib/receipts/sign.ts'

export async function migrateDatabase(): Promise<void> {
  const print = async ({ appliedMigrations }: Runtime) => {
    if (appliedMigrations.length === 0) process.stdout.write('The database is up to date\n')
    for (const name of appliedMigrations) process.stdout.write(`${name}\n`)
  }
  await withRuntime(print, { migrates: true })
}

/**
 * Sets up the owner's and the application's role; starting does the same, but creates no role. May
 * be repeated at any time, also after it was interrupted.
 */
export async function setUpRoles(): Promise<void> {
  loadEnvFile('.env')
  const { DATABASE_URL, DATABASE_OWNER_URL } = env()
  if (DATABASE_URL && DATABASE_OWNER_URL)
    await createApplicationRole(DATABASE_URL, DATABASE_OWNER_URL)
  const print = async () => {
    const { isLimited, line } = describeRole(await inspectRole())
    process.stdout.write(`${line}\n`)
    if (!isLimited) process.exitCode = 1
  }
  await withRuntime(print, { migrates: true })
}

/** Lets Troco start with another TROCO_SECRET after the former one was lost. */
export async function replaceSecret(): Promise<void> {
  const replace = async () => {
    const fingerprint = await replaceServerSecret()
    process.stdout.write(
      `The database now expects the TROCO_SECRET with fingerprint ${fingerprint}\n`,
    )
  }
  await withRuntime(replace, { acceptsAnySecret: true })
}

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

const ACTOR = { type: 'command_line' } as const

export async function listKeys(args: string[]): Promise<void> {
  parseArgs({ args })
  await withRuntime(async () => {
    const current = await readCurrentKey()
    for (const { id, createdAt, withdrawnAt } of await listReceiptKeys()) {
      const state = withdrawnAt ? 'withdrawn' : id === current.id ? 'signs' : 'verifies'
      process.stdout.write(`${[id, state, createdAt.toISOString()].join('\t')}\n`)
    }
  })
}

export async function rotateKey(args: string[]): Promise<void> {
  parseArgs({ args })
  await withRuntime(async () => {
    process.stdout.write(`${await rotateReceiptKey(ACTOR)}\n`)
  })
}

export async function withdrawKey(args: string[]): Promise<void> {
  const options = { reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const id = requireOption(positionals[0], '<id>')
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    await withdrawReceiptKey(id, reason, ACTOR)
    process.stdout.write(`${id}\n`)
  })
}
