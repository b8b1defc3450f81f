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
import { readArchive } from '#lib/base/backup/archive.ts'
import { copyByBasebackup } from '#lib/base/backup/programs.ts'
import { recordRun } from '#lib/base/backup/records.ts'
import { copyRunning, keepNewest, takeBackup } from '#lib/base/backup/take.ts'
import { withClient } from '#lib/base/db/with-client.ts'
import { env } from '#lib/base/env.ts'
import { refuse } from '#lib/base/errors.ts'

/** Copies the database while it runs, and removes what is older than the backups to keep. */
export async function backUp(args: string[]): Promise<void> {
  const options = { to: { type: 'string' }, keep: { type: 'string' } } as const
  const { values } = parseArgs({ args, options })
  const keep = values.keep === undefined ? null : Number(values.keep)
  if (keep !== null && !(Number.isInteger(keep) && keep > 0))
    throw refuse('invalid_input', { message: '--keep must be a number of backups, at least 1' })
  await withRuntime(async runtime => {
    const folder = openNamedFolder('--to', values.to, runtime)
    await takeAndRecord(runtime, folder)
    if (keep === null) return
    for (const name of await keepNewest(folder, keep)) print(`${name} removed`)
  })
}

async function takeAndRecord({ backupUrl, location }: Runtime, folder: string): Promise<void> {
  const began = performance.now()
  const facts = { ...describeInstallation(), counts: await countLive() }
  const backup = await withClient(backupUrl, 'DATABASE_OWNER_URL', async client => {
    const { rows } = await client.query<{ major: number }>(
      `SELECT current_setting('server_version_num')::int / 10000 AS major`,
    )
    const copy = (data: string) =>
      location
        ? copyRunning(client, location, data)
        : copyByBasebackup(backupUrl, rows[0]?.major ?? 0, data)
    return takeBackup(client, folder, facts, copy)
  })
  await recordRun({ kind: 'backup', beganAt: new Date(backup.beganAt), bytes: backup.bytes })
  print(`${backup.name}: ${formatSize(backup.bytes)} in ${secondsSince(began)}, ${backup.folder}`)
  const holder = env().DATABASE_URL && !location ? 'TROCO_SECRET' : 'TROCO_SECRET or secrets.json'
  print(`It opens only with ${holder} (fingerprint ${backup.keyId}), which it does not contain:`)
  print('keep that in another place.')
  const { lastAt } = readArchive(folder)
  print(
    lastAt === null
      ? 'WAL is not archived here, so this moment can be restored, but no time after it.'
      : `WAL is archived up to ${lastAt.toISOString()}.`,
  )
}
