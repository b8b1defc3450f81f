import { readFileSync } from 'node:fs'
import { type Backup, type Facts, openBackupFolder } from '#lib/backup/manifest.ts'
import { findProgramUser, findServerPrograms } from '#lib/backup/pgbackrest.ts'
import type { Programs } from '#lib/backup/recover.ts'
import { setupError } from '#lib/core/errors.ts'
import { keyId } from '#lib/core/keys.ts'
import { env, loadEnvFile } from '#lib/core/settings.ts'
import { connect } from '#lib/db/client.ts'
import { listMigrations } from '#lib/db/migrate.ts'
import { countRows } from '#lib/operator/backups.ts'

/** Returns the URL of the role that backs the database up; throws for the embedded one. */
export function requireOwnDatabase(): string {
  loadEnvFile('.env')
  const { DATABASE_URL, DATABASE_OWNER_URL } = env()
  if (DATABASE_URL) return DATABASE_OWNER_URL ?? DATABASE_URL
  throw setupError(
    'The embedded database is for trying Troco out: to back it up, stop Troco and copy its folders (docs/operating.md, Backup and restore). For production, set DATABASE_URL',
  )
}

export function requireStanza(): string {
  const { PGBACKREST_STANZA } = env()
  if (PGBACKREST_STANZA) return PGBACKREST_STANZA
  throw setupError('PGBACKREST_STANZA is not set: backups are made by pgBackRest')
}

/** Opens the folder that an option names, or else BACKUP_FOLDER. */
export function openNamedFolder(option: '--to' | '--from', path: string | undefined): string {
  const wanted = path?.trim() || env().BACKUP_FOLDER
  if (!wanted) throw setupError(`Name the folder of backups: ${option} <folder>, or BACKUP_FOLDER`)
  return openBackupFolder(wanted)
}

/** Describes this installation for the manifest. */
export async function describeInstallation(): Promise<Facts> {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const migration = listMigrations().at(-1) ?? ''
  return { version, migration, keyId: keyId(), counts: await countLive() }
}

/** Counts rows of the running system. */
export async function countLive(): Promise<Record<string, number>> {
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

export function formatSize(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

export function secondsSince(began: number): string {
  return `${((performance.now() - began) / 1_000).toFixed(1)} s`
}
