import { readFileSync, realpathSync } from 'node:fs'
import type { Runtime } from '#bin/runtime.ts'
import { openBackupFolder } from '#lib/backup/folder.ts'
import type { Backup, Manifest } from '#lib/backup/manifest.ts'
import { findServerPrograms } from '#lib/backup/programs.ts'
import type { Programs } from '#lib/backup/recover.ts'
import { setupError } from '#lib/core/errors.ts'
import { keyId } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { connect } from '#lib/db/client.ts'
import {
  chooseDataDirectory,
  findPostgresPackage,
  findPostgresUser,
  prepareBinaries,
} from '#lib/db/embedded-server.ts'
import { listMigrations } from '#lib/db/migrate.ts'
import { countRows } from '#lib/operator/backups.ts'

/** Opens the folder that an option names, or else BACKUP_FOLDER. */
export function openNamedFolder(
  option: '--to' | '--from',
  path: string | undefined,
  runtime: Runtime,
) {
  const wanted = path?.trim() || env().BACKUP_FOLDER
  if (!wanted) throw setupError(`Name the folder of backups: ${option} <folder>, or BACKUP_FOLDER`)
  const { folder, location } = runtime
  const outside = location && folder ? [realpathSync(folder), location] : []
  return openBackupFolder(wanted, outside)
}

/** What the manifest says of this installation. */
export function describeInstallation(): Pick<Manifest, 'version' | 'migration' | 'keyId'> {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  return { version, migration: listMigrations().at(-1) ?? '', keyId: keyId() }
}

/** Counts rows of the running system. */
export async function countLive(): Promise<Record<string, number>> {
  const database = connect({ poolMax: 1 })
  return countRows(database).finally(() => database.$disconnect())
}

/** Returns the programs that open a backup: those of this package, or of a server of the same major version. */
export function programsFor(backup: Backup, dataFolder: string | null): Programs {
  if (backup.kind === 'embedded' && dataFolder !== null) {
    const found = findPostgresPackage()
    const { user } = chooseDataDirectory(realpathSync(dataFolder))
    requireMajor(backup, Number(found.major))
    return { bin: prepareBinaries(found, user, dataFolder, () => {}), user }
  }
  const user = process.geteuid?.() === 0 ? findPostgresUser() : null
  return { bin: findServerPrograms(majorOf(backup)), user }
}

function requireMajor(backup: Backup, major: number): void {
  if (majorOf(backup) === major) return
  throw setupError(
    `${backup.name} is of PostgreSQL ${majorOf(backup)}, but this version of Troco includes ${major}: use the version of Troco that made it, ${backup.version}`,
  )
}

function majorOf({ postgres }: Backup): number {
  return Math.floor(postgres / 10_000)
}

/** Throws unless this installation has the key with which the backup's columns are encrypted. */
export function requireKey(backup: Backup): void {
  const { TROCO_SECRET_BEFORE: before } = env()
  if (backup.keyId === keyId() || (before && backup.keyId === keyId(before))) return
  throw setupError(
    `${backup.name} needs the TROCO_SECRET with the fingerprint ${backup.keyId}, but this installation has ${keyId()}: set the former one, or put its secrets.json into the data folder`,
  )
}

export function rolesOfDatabase(): { owner: string; application: string; name: string } {
  const { DATABASE_URL = '', DATABASE_OWNER_URL } = env()
  const [url, ownerUrl] = [new URL(DATABASE_URL), new URL(DATABASE_OWNER_URL ?? DATABASE_URL)]
  const roleOf = ({ username }: URL) => decodeURIComponent(username)
  return { owner: roleOf(ownerUrl), application: roleOf(url), name: url.pathname.slice(1) }
}

export function formatSize(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

export function secondsSince(began: number): string {
  return `${((performance.now() - began) / 1_000).toFixed(1)} s`
}
