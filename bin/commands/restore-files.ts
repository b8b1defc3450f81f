import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, realpathSync, renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { programsFor, requireKey, rolesOfDatabase } from '#bin/backups.ts'
import { print, readTime, requireOption } from '#bin/command-line.ts'
import { recoverMarked } from '#bin/restored.ts'
import { openDataFolder } from '#bin/runtime.ts'
import { readArchive, type WalArchive } from '#lib/backup/archive.ts'
import { writeDurably } from '#lib/backup/copy.ts'
import { type Backup, chooseBackup } from '#lib/backup/manifest.ts'
import { describeNextStep } from '#lib/backup/records.ts'
import { ask, type Recovered, type RecoverOptions, removeDrafts } from '#lib/backup/recover.ts'
import { setupError } from '#lib/core/errors.ts'
import { env, loadEnvFile, supplyEnv } from '#lib/core/settings.ts'
import {
  APPLICATION_ROLE,
  countRegisteredProcesses,
  OWNER_ROLE,
  readPasswords,
  SUPERUSER,
  UNFINISHED_RESTORE,
  withLock,
} from '#lib/db/embedded.ts'
import {
  chooseDataDirectory,
  findPostmaster,
  syncFolder,
  writePointer,
} from '#lib/db/embedded-server.ts'

/** Restores a database to a time. The old embedded one is moved aside, and never removed. */
export async function restoreFiles(args: string[]): Promise<void> {
  const text = { type: 'string' } as const
  const options = { to: text, from: text, into: text, replace: { type: 'boolean' } } as const
  const { values } = parseArgs({ args, options })
  const target = readTime(requireOption(values.to, '--to'))
  loadEnvFile('.env')
  const { BACKUP_FOLDER, DATABASE_URL, TROCO_DATA } = env()
  const from = realpathSync(requireFolder(values.from ?? BACKUP_FOLDER))
  if (target) print(`Restoring to ${target.toISOString()} (here ${target.toString().slice(0, 33)})`)
  const archive = readArchive(from)
  const { backup, skipped } = chooseBackup(from, archive, target)
  if (skipped !== null) print(`${skipped}.`)
  if (DATABASE_URL) {
    requireKey(backup)
    return restoreInto(requireOption(values.into, '--into'), { backup, archive, target })
  }
  const dataFolder = realpathSync(openWithKey(TROCO_DATA))
  requireKey(backup)
  await withLock(dataFolder, () =>
    restore({ dataFolder, archive, backup, target, isReplaced: values.replace ?? false }),
  )
}

function requireFolder(path: string | undefined): string {
  const folder = resolve(requireOption(path, '--from <folder> or BACKUP_FOLDER'))
  if (existsSync(folder)) return folder
  throw setupError(`${folder} does not exist: name the folder of backups with --from`)
}

/** Opens the data folder. Without TROCO_SECRET, it must have secrets.json: new ones would open nothing. */
function openWithKey(path: string): string {
  if (!env().TROCO_SECRET && !existsSync(join(resolve(path), 'secrets.json')))
    throw setupError(
      `${resolve(path)} has no secrets.json: put that of the installation there, or set TROCO_SECRET`,
    )
  const { folder, secrets } = openDataFolder(path)
  supplyEnv({ TROCO_SECRET: env().TROCO_SECRET ?? secrets.server })
  return folder
}

/** Recovers a server of one's own into a new data directory, which PostgreSQL can then be started on. */
async function restoreInto(
  path: string,
  options: Pick<RecoverOptions, 'backup' | 'archive' | 'target'>,
): Promise<void> {
  const location = resolve(path)
  if (existsSync(location))
    throw setupError(`${location} exists: name a folder that does not, on the disk of the database`)
  const programs = programsFor(options.backup, null)
  print(`Copying ${options.backup.name}, then replaying WAL…`)
  const recovered = recoverMarked({ ...options, location, ...programs }, rolesOfDatabase())
  const to = await recovered.catch(async error => {
    await rm(location, { recursive: true, force: true })
    throw error
  })
  print(`Start PostgreSQL with the data directory ${location}.`)
  print(describeNextStep(to))
}

interface Restore {
  dataFolder: string
  backup: Backup
  archive: WalArchive
  target: Date | null
  isReplaced: boolean
}

async function restore({
  dataFolder,
  backup,
  archive,
  target,
  isReplaced,
}: Restore): Promise<void> {
  const { location } = chooseDataDirectory(dataFolder)
  if (countRegisteredProcesses(dataFolder) > 0 || findPostmaster(location))
    throw setupError(`Troco runs with ${dataFolder}: stop all its processes first`)
  const hasDatabase = existsSync(location) && readdirSync(location).length > 0
  if (hasDatabase && !isReplaced)
    throw setupError(
      `${location} contains a database: add --replace to move it aside, or set TROCO_DATA to another folder that has secrets.json`,
    )
  const drafts = `${basename(location)}.restore-`
  await removeDrafts(dirname(location), drafts)
  const draft = join(dirname(location), `${drafts}${randomBytes(4).toString('hex')}`)
  const programs = programsFor(backup, dataFolder)
  print(`Copying ${backup.name}, then replaying WAL…`)
  const options = { backup, archive, location: draft, target, ...programs }
  const place = { owner: OWNER_ROLE, name: 'troco' }
  const prepare = (recovered: Recovered) => setPasswords(recovered, dataFolder)
  const to = await recoverMarked(options, place, prepare).catch(async error => {
    await removeDrafts(dirname(location), drafts)
    throw error
  })
  await putInPlace(dataFolder, draft, location)
  print(describeNextStep(to))
}

/** The backup has the passwords of its time; those of the data folder can be newer, or of another machine. */
async function setPasswords({ urlOf }: Recovered, dataFolder: string): Promise<void> {
  const { secrets } = openDataFolder(dataFolder)
  const { owner, superuser, application } = readPasswords(dataFolder, secrets.database)
  const roles = { [SUPERUSER]: superuser, [OWNER_ROLE]: owner, [APPLICATION_ROLE]: application }
  for (const [role, password] of Object.entries(roles)) {
    const [row] = await ask<{ sql: string }>(
      urlOf(SUPERUSER, 'postgres'),
      `SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text) AS sql`,
      [role, password],
    )
    await ask(urlOf(SUPERUSER, 'postgres'), row?.sql ?? '')
  }
}

async function putInPlace(dataFolder: string, draft: string, location: string): Promise<void> {
  const mark = join(dataFolder, UNFINISHED_RESTORE)
  await rm(mark, { force: true })
  await writeDurably(mark, 'A restore was moving the database here.\n')
  if (existsSync(location)) {
    const aside = `${location}.before-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
    renameSync(location, aside)
    print(`The database of before is in ${aside}.`)
  }
  renameSync(draft, location)
  syncFolder(dirname(location))
  writePointer(dataFolder, location)
  await rm(mark, { force: true })
  syncFolder(dataFolder)
}
