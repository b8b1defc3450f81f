import { mkdtempSync, readFileSync } from 'node:fs'
import { chmod, chown, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { counted, print, withRuntime } from '#bin/command-line.ts'
import {
  type Backup,
  type BackupFacts,
  chooseBackup,
  openBackupFolder,
  removeExpiredManifests,
  requireAlone,
  takeBackup,
} from '#lib/backup/manifest.ts'
import {
  COPY_TYPES,
  type CopyType,
  findProgramUser,
  findServerPrograms,
} from '#lib/backup/pgbackrest.ts'
import { recordFailure, recordRun } from '#lib/backup/records.ts'
import {
  ask,
  type Programs,
  type Recovered,
  type RecoverOptions,
  readReachedAt,
  recover,
  removeDrafts,
} from '#lib/backup/recover.ts'
import { refuse, setupError } from '#lib/core/errors.ts'
import { keyId } from '#lib/core/keys.ts'
import { env, loadEnvFile } from '#lib/core/settings.ts'
import { connect } from '#lib/db/client.ts'
import { listMigrations } from '#lib/db/migrate.ts'
import { withClient } from '#lib/db/server.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { countRows } from '#lib/operator/database.ts'

/** Lets pgBackRest copy the database, and removes the manifests of copies that it no longer has. */
export async function backUp(args: string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args, options: { to: text, type: text } })
  const type = readType(values.type)
  const url = requireOwnDatabase()
  const stanza = requireStanza()
  await withRuntime(async () => {
    const folder = openNamedFolder('--to', values.to)
    const began = performance.now()
    const facts = await describeInstallation()
    const backup = await withClient(url, 'DATABASE_OWNER_URL', async client => {
      await requireAlone(client)
      return recordFailure('backup', () => takeBackup(client, folder, facts, { stanza, type }))
    })
    const { name, bytes, keyId } = backup
    await recordRun({ kind: 'backup', beganAt: new Date(backup.beganAt), bytes })
    print(`${name}: ${formatSize(bytes)} in ${secondsSince(began)}, ${backup.folder}`)
    print(`It opens only with TROCO_SECRET (fingerprint ${keyId}), which it does not contain:`)
    print('keep that in another place.')
    for (const removed of removeExpiredManifests(folder)) print(`${removed} removed`)
  })
}

function readType(text: string | undefined): CopyType | undefined {
  const type = COPY_TYPES.find(known => known === text)
  if (type === undefined && text !== undefined)
    throw refuse('invalid_input', { message: '--type must be full, diff or incr' })
  return type
}

/** Restores the newest backup beside the running system, verifies it, removes it and records the result. */
export async function drill(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { from: { type: 'string' } } })
  const url = requireOwnDatabase()
  await withRuntime(async () => {
    const folder = openNamedFolder('--from', values.from)
    await withClient(url, 'DATABASE_OWNER_URL', async client => {
      await requireAlone(client)
      await removeDrafts(folder, '.drill-', 'data')
      await recordFailure('drill', () => drillNewest(folder))
    })
  })
}

async function drillNewest(folder: string): Promise<void> {
  const began = { at: new Date(), clock: performance.now() }
  const backup = chooseBackup(folder, null)
  const result = await rehearse(folder, { backup, ...programsFor(backup) })
  report(true, `restored in ${secondsSince(began.clock)}, and removed again`)
  await recordRun({ kind: 'drill', beganAt: began.at, ...result, bytes: backup.bytes })
  if (result.problem !== null) process.exitCode = 1
}

async function rehearse(folder: string, options: Programs & Pick<RecoverOptions, 'backup'>) {
  const { backup, user } = options
  const scratch = mkdtempSync(join(folder, '.drill-'))
  if (user) await chown(scratch, user.uid, user.gid)
  await chmod(scratch, 0o700)
  try {
    const recovered = await recover({ ...options, location: join(scratch, 'data'), target: null })
    try {
      return await examine(backup, recovered)
    } finally {
      await recovered.stop()
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function examine(backup: Backup, { urlOf }: Recovered) {
  const { owner, application, name } = rolesOfDatabase()
  const recoveredTo = (await readReachedAt(urlOf(owner, name))) ?? new Date(backup.finishedAt)
  const age = Math.max(0, Math.round((Date.now() - recoveredTo.getTime()) / 1_000))
  report(true, `backup ${backup.name}, ${formatSize(backup.bytes)}, restored by pgBackRest`)
  report(true, `recovery point ${recoveredTo.toISOString()}, ${age} s before now`)
  const problems: string[] = []
  const check = (isRight: boolean, line: string) => {
    report(isRight, line)
    if (!isRight) problems.push(line)
  }
  requireKey(backup)
  check(true, `key ${backup.keyId} is that of this installation`)
  const [zone] = await ask<{ TimeZone: string }>(urlOf(application, name), 'SHOW TimeZone')
  check(zone?.TimeZone === 'UTC', `time zone of ${application} is ${zone?.TimeZone}`)
  const database = connect({ url: urlOf(owner, name), poolMax: 2 })
  try {
    const restored = await countRows(database)
    const live = await countLive()
    for (const [table, rows] of Object.entries(restored)) {
      const [before = 0, after = 0] = [backup.counts[table], live[table]]
      check(
        before <= rows && rows <= after,
        `${table}: ${counted(rows, 'row')} (at the backup ${before}, here ${after})`,
      )
    }
    const { findings, transfers } = await verifyLedger(database)
    const broken = findings.filter(({ violation }) => violation !== null)
    check(broken.length === 0, `ledger verified, ${counted(transfers, 'transfer')}`)
    for (const { invariant, violation } of broken) check(false, `${invariant}: ${violation}`)
  } finally {
    await database.$disconnect()
  }
  const problem = problems.length === 0 ? null : problems.join('; ')
  return { recoveredTo, problem }
}

function report(isGood: boolean, line: string): void {
  process.stdout.write(`${isGood ? 'ok   ' : 'WRONG'} ${line}\n`)
}

/** Returns the URL of the role that backs the database up; throws for the embedded one. */
export function requireOwnDatabase(): string {
  loadEnvFile('.env')
  const { DATABASE_URL, DATABASE_OWNER_URL } = env()
  if (DATABASE_URL) return DATABASE_OWNER_URL ?? DATABASE_URL
  throw setupError(
    'The embedded database is for trying Troco out: to back it up, stop Troco and copy its folders (docs/operate/backup.md). For production, set DATABASE_URL',
  )
}

function requireStanza(): string {
  const { PGBACKREST_STANZA } = env()
  if (PGBACKREST_STANZA) return PGBACKREST_STANZA
  throw setupError('PGBACKREST_STANZA is not set: backups are made by pgBackRest')
}

/** Opens the folder that an option names, or else BACKUP_FOLDER. */
function openNamedFolder(option: '--to' | '--from', path: string | undefined): string {
  const wanted = path?.trim() || env().BACKUP_FOLDER
  if (!wanted) throw setupError(`Name the folder of backups: ${option} <folder>, or BACKUP_FOLDER`)
  return openBackupFolder(wanted)
}

/** Describes this installation for the manifest. */
async function describeInstallation(): Promise<BackupFacts> {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const migration = listMigrations().at(-1) ?? ''
  return { version, migration, keyId: keyId(), counts: await countLive() }
}

/** Counts rows of the running system. */
async function countLive(): Promise<Record<string, number>> {
  const database = connect({ poolMax: 1 })
  return countRows(database).finally(() => database.$disconnect())
}

/** Returns the server programs that open a backup: those of the same major version. */
export function programsFor({ postgres }: Backup): Programs {
  return { bin: findServerPrograms(Math.floor(postgres / 10_000)), user: findProgramUser() }
}

/** Throws unless this installation has the key with which the backup's columns are encrypted. */
export function requireKey(backup: Backup): void {
  const { TROCO_SECRET_BEFORE: before } = env()
  if (backup.keyId === keyId() || (before && backup.keyId === keyId(before))) return
  throw setupError(
    `${backup.name} needs the TROCO_SECRET with the fingerprint ${backup.keyId}, but this installation has ${keyId()}: set the former one`,
  )
}

export function rolesOfDatabase(): { owner: string; application: string; name: string } {
  const { DATABASE_URL = '', DATABASE_OWNER_URL } = env()
  const [url, ownerUrl] = [new URL(DATABASE_URL), new URL(DATABASE_OWNER_URL ?? DATABASE_URL)]
  const roleOf = ({ username }: URL) => decodeURIComponent(username)
  return { owner: roleOf(ownerUrl), application: roleOf(url), name: url.pathname.slice(1) }
}

function formatSize(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

function secondsSince(began: number): string {
  return `${((performance.now() - began) / 1_000).toFixed(1)} s`
}
