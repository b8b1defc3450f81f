import { parseArgs } from 'node:util'
import {
  describeInstallation,
  formatSize,
  openNamedFolder,
  requireOwnDatabase,
  requireStanza,
  secondsSince,
} from '#bin/backups.ts'
import { print, withRuntime } from '#bin/command-line.ts'
import { removeExpiredManifests, requireAlone, takeBackup } from '#lib/backup/manifest.ts'
import { COPY_TYPES, type CopyType } from '#lib/backup/pgbackrest.ts'
import { recordFailure, recordRun } from '#lib/backup/records.ts'
import { refuse } from '#lib/core/errors.ts'
import { withClient } from '#lib/db/server.ts'

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
