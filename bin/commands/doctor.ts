import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { counted, withRuntime } from '#bin/command-line.ts'
import type { Runtime } from '#bin/runtime.ts'
import { isTrocoError } from '#lib/core/errors.ts'
import { checkCollector } from '#lib/core/otlp.ts'
import { env } from '#lib/core/settings.ts'
import { connect, type Database } from '#lib/db/client.ts'
import { describeOffset, levelOf, measureOffset } from '#lib/db/clock.ts'
import { describeRole, inspectRole } from '#lib/db/roles.ts'
import { findRefusal, inspectPooler, requireServerSecret } from '#lib/db/server.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { examineBackups } from '#lib/operator/database.ts'
import { countStaff, isStaffFactorRequired } from '#lib/people/factors.ts'

const SPACE_MIN_MIB = 1024
/** What a process of Troco runs. */
const CODE = ['.', 'bin', 'lib', 'prisma', 'node_modules', '.next', 'package.json']
/** Names that are reserved for documentation and tests (RFC 2606). */
const PLACEHOLDER_HOST = /(^|\.)(example(\.(com|net|org))?|test|invalid)$/i

/** Prints one line per check, with advice if it fails. Exit code 1 if any check fails. */
export async function checkInstallation(): Promise<void> {
  const examine = async ({ folder, location, appliedMigrations }: Runtime) => {
    const { TROCO_ENV, PUBLIC_URL } = env()
    report(true, `Node ${process.versions.node} on ${process.platform} ${process.arch}`)
    const applied = appliedMigrations.filter(name => !name.startsWith('functions/'))
    report(true, `environment ${TROCO_ENV}, address ${PUBLIC_URL}`)
    if (folder) report(true, `data folder ${folder}`)
    if (location) report(true, `embedded PostgreSQL data in ${location}`)
    if (folder) reportFreeSpace(location ?? folder)
    if (TROCO_ENV === 'production') reportCode()
    const refusal = await findRefusal()
    if (refusal) return report(false, refusal)
    const database = connect({ poolMax: 2 })
    try {
      const [server] = await database.$queryRaw<{ version: string; size: string }[]>`
        SELECT current_setting('server_version') AS version,
          pg_size_pretty(pg_database_size(current_database())) AS size`
      report(true, `PostgreSQL ${server?.version}, ${server?.size}, durable settings on`)
      report(
        true,
        applied.length > 0
          ? `${counted(applied.length, 'migration')} applied now`
          : 'migrations up to date',
      )
      await reportSecret()
      const { isLimited, line } = describeRole(await inspectRole())
      report(isLimited, line)
      const workers = await database.$queryRaw<{ seen: number }[]>`
        SELECT count(*)::int AS seen FROM worker_heartbeats WHERE beat_at > now() - interval '60 s'`
      const seen = workers[0]?.seen ?? 0
      const advice = seen > 0 ? '' : ': start Troco, or a worker beside it (npm run worker)'
      report(seen > 0, `${counted(seen, 'worker')} active in the last minute${advice}`)
      await reportPooler()
      await reportClock(database)
      reportMail()
      await reportCollector()
      await reportStaff(database)
      await reportBackups()
      const { findings, transfers } = await verifyLedger(database)
      const broken = findings.filter(finding => finding.violation)
      report(broken.length === 0, `ledger verified, ${counted(transfers, 'transfer')}`)
      for (const { invariant, violation } of broken) report(false, `${invariant}: ${violation}`)
    } finally {
      await database.$disconnect()
    }
  }
  await withRuntime(examine, { acceptsAnySecret: true })
}

async function reportSecret(): Promise<void> {
  const fault = await requireServerSecret().then(() => null, describeSetupError)
  report(fault === null, fault ?? 'TROCO_SECRET matches this database')
}

function describeSetupError(error: unknown): string {
  if (isTrocoError(error)) return error.message
  throw error
}

async function reportPooler(): Promise<void> {
  const { isPooled, faults } = await inspectPooler()
  const stands = isPooled ? 'a pooler leads to the database' : 'no pooler before the database'
  if (faults.length === 0) report(true, stands)
  for (const fault of faults) report(false, fault)
}

async function reportClock(database: Database): Promise<void> {
  const offsetMs = await measureOffset(database)
  const isRight = levelOf(offsetMs) === 'right'
  const advice = ': synchronize both with a time server'
  report(isRight, `clock ${describeOffset(offsetMs)}${isRight ? '' : advice}`)
}

function reportMail(): void {
  const { SIGNUPS, NEW_ACCOUNTS, SMTP_URL, TROCO_ENV } = env()
  report(true, `sign-ups ${SIGNUPS}, new accounts ${NEW_ACCOUNTS}`)
  const noServerMessage =
    TROCO_ENV === 'local'
      ? 'no mail server: mails are written to the log'
      : 'no mail server: mails are not sent, set SMTP_URL and MAIL_FROM'
  if (!SMTP_URL) {
    report(TROCO_ENV === 'local', noServerMessage)
    return
  }
  const { host, hostname } = new URL(SMTP_URL)
  const isReal = !PLACEHOLDER_HOST.test(hostname)
  const placeholder = `SMTP_URL names ${host}, a placeholder: set it to your mail server`
  report(isReal, isReal ? `mails are sent through ${host}` : placeholder)
}

async function reportBackups(): Promise<void> {
  const { level, state, figures } = (await examineBackups()).backups
  const hours = counted(Math.floor(Number(figures.age_s ?? 0) / 3_600), 'hour')
  const lines: Partial<Record<typeof state, string>> = {
    backups_none: 'no backup: this installation is for evaluation',
    backup_fresh: `the newest backup is ${hours} old`,
    backup_old: `the newest backup is ${hours} old: make one every day`,
    backup_missing: `no backup since this database was created ${hours} ago: make one now, and then one every day`,
    backup_failed: `the last backup failed: ${figures.problem}`,
    archive_failing: 'PostgreSQL fails to archive its WAL: see its log',
  }
  report(level === 'ok' || state === 'backups_none', lines[state] ?? state)
}

async function reportCollector(): Promise<void> {
  const checked = await checkCollector()
  if (!checked) return
  const { host, fault } = checked
  const advice = ': check OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS'
  report(
    fault === null,
    fault ? `OTLP collector ${host}, ${fault}${advice}` : `OTLP collector ${host}`,
  )
}

async function reportStaff(database: Database): Promise<void> {
  const { staff, unguarded } = await countStaff(database)
  const line = `${counted(staff, 'admin')}, ${unguarded} of them without two-factor authentication`
  const isWrong = isStaffFactorRequired() && unguarded > 0
  const advice = ': each must set it up under Settings, Security to open the admin pages'
  report(!isWrong, isWrong ? line + advice : line)
}

/** What root runs must not be writable by the user of a service: a flaw in it would be one of the machine. */
function reportCode(): void {
  const writable = CODE.filter(path => existsSync(path) && mayChange(path))
  const list = writable.map(path => resolve(path)).join(', ')
  const advice = 'let root own the code, as docs/operate/install.md describes'
  const line = 'the code belongs to root, and this user may not change it'
  report(writable.length === 0, list ? `this user or another may change ${list}: ${advice}` : line)
}

/** As root, which may change everything, by its owner and mode. */
function mayChange(path: string): boolean {
  const { uid, mode } = statSync(path)
  if (uid !== 0 || (mode & 0o022) !== 0) return true
  if (process.geteuid?.() === 0) return false
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function reportFreeSpace(path: string): void {
  const { bavail, bsize } = statfsSync(path)
  const free = Math.floor((bavail * bsize) / 1024 ** 2)
  const advice = free < SPACE_MIN_MIB ? ': free disk space, a full disk stops all payments' : ''
  report(free >= SPACE_MIN_MIB, `${free} MiB free${advice}`)
}

function report(isGood: boolean, line: string): void {
  process.stdout.write(`${isGood ? 'ok   ' : 'WRONG'} ${line}\n`)
  if (!isGood) process.exitCode = 1
}
