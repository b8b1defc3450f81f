import { parseArgs } from 'node:util'
import {
  countLive,
  describeInstallation,
  formatSize,
  openNamedFolder,
  secondsSince,
} from '#bin/backups.ts'
import { print, withRuntime } from '#bin/command-line.ts'
import type { Runtime } from '#bin/runtime.ts'
import { readArchive } from '#lib/backup/archive.ts'
import { COPY_TYPES, type CopyType, copyByPgBackRest } from '#lib/backup/pgbackrest.ts'
import { copyByBasebackup } from '#lib/backup/programs.ts'
import { recordFailure, recordRun } from '#lib/backup/records.ts'
import {
  copyRunning,
  keepNewest,
  removeExpiredManifests,
  requireAlone,
  requireNoTablespaces,
  takeBackup,
} from '#lib/backup/take.ts'
import { refuse } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { withClient } from '#lib/db/server.ts'

/** Copies the database while it runs, and removes what is older than the backups to keep. */
export async function backUp(args: string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args, options: { to: text, keep: text, type: text } })
  const type = readType(values.type)
  const keep = values.keep === undefined ? null : Number(values.keep)
  if (keep !== null && !(Number.isInteger(keep) && keep > 0))
    throw refuse('invalid_input', { message: '--keep must be a number of backups, at least 1' })
  await withRuntime(async runtime => {
    const stanza = stanzaOf(runtime)
    if (keep !== null && stanza)
      throw refuse('invalid_input', {
        message: '--keep is not for pgBackRest: set repo1-retention-full in its configuration',
      })
    if (type && !stanza)
      throw refuse('invalid_input', {
        message:
          '--type is for pgBackRest only: set PGBACKREST_STANZA and DATABASE_URL, or omit it',
      })
    const folder = openNamedFolder('--to', values.to, runtime)
    await takeAndRecord(runtime, folder, stanza, type)
    const removed = keep === null ? [] : await keepNewest(folder, keep)
    if (stanza) removed.push(...(await removeExpiredManifests(folder)))
    for (const name of removed) print(`${name} removed`)
  })
}

function readType(text: string | undefined): CopyType | undefined {
  const type = COPY_TYPES.find(known => known === text)
  if (type === undefined && text !== undefined)
    throw refuse('invalid_input', { message: '--type must be full, diff or incr' })
  return type
}

/** The stanza of pgBackRest, which does not know the embedded database. */
function stanzaOf({ location }: Runtime): string | undefined {
  return location ? undefined : env().PGBACKREST_STANZA
}

async function takeAndRecord(
  { backupUrl, location }: Runtime,
  folder: string,
  stanza: string | undefined,
  type: CopyType | undefined,
): Promise<void> {
  const began = performance.now()
  const facts = { ...describeInstallation(), counts: await countLive() }
  const backup = await withClient(backupUrl, 'DATABASE_OWNER_URL', async client => {
    const { rows } = await client.query<{ major: number }>(
      `SELECT current_setting('server_version_num')::int / 10000 AS major`,
    )
    const copy = async (data: string) => {
      if (location) return copyRunning(client, location, data)
      if (!stanza) return copyByBasebackup(backupUrl, rows[0]?.major ?? 0, data)
      await requireNoTablespaces(client)
      return copyByPgBackRest(stanza, type)
    }
    const isElsewhere = stanza !== undefined
    await requireAlone(client)
    return recordFailure('backup', () => takeBackup(client, folder, facts, { copy, isElsewhere }))
  })
  await recordRun({ kind: 'backup', beganAt: new Date(backup.beganAt), bytes: backup.bytes })
  print(`${backup.name}: ${formatSize(backup.bytes)} in ${secondsSince(began)}, ${backup.folder}`)
  const holder = env().DATABASE_URL && !location ? 'TROCO_SECRET' : 'TROCO_SECRET or secrets.json'
  print(`It opens only with ${holder} (fingerprint ${backup.keyId}), which it does not contain:`)
  print('keep that in another place.')
  if (backup.repository)
    return print('pgBackRest archives the WAL, so that any time can be restored.')
  const { lastAt } = readArchive(folder)
  print(
    lastAt === null
      ? 'WAL is not archived here, so this moment can be restored, but no time after it.'
      : `WAL is archived up to ${lastAt.toISOString()}.`,
  )
}
