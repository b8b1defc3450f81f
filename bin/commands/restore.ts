import { existsSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { counted, print, readTime, requireOption, withRuntime } from '#bin/command-line.ts'
import {
  programsFor,
  requireKey,
  requireOwnDatabase,
  rolesOfDatabase,
} from '#bin/commands/backup.ts'
import { type Backup, chooseBackup } from '#lib/backup/manifest.ts'
import { describeNextStep, markRestored } from '#lib/backup/records.ts'
import {
  ask,
  offerTimeline,
  type RecoverOptions,
  readReachedAt,
  recover,
} from '#lib/backup/recover.ts'
import { findConnection } from '#lib/banks/connections.ts'
import { invalidInput, setupError } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { beginRestore, openAlone } from '#lib/operator/restore.ts'

const ACTOR = { type: 'command_line' } as const

/** Restores the database to a time, into a new data directory on which PostgreSQL can then be started. */
export async function restore(args: string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args, options: { to: text, from: text, into: text } })
  const target = readTime(requireOption(values.to, '--to'))
  requireOwnDatabase()
  const from = realpathSync(requireFolder(values.from ?? env().BACKUP_FOLDER))
  if (target) print(`Restoring to ${target.toISOString()} (here ${target.toString().slice(0, 33)})`)
  const backup = chooseBackup(from, target)
  requireKey(backup)
  const location = resolve(requireOption(values.into, '--into'))
  if (existsSync(location))
    throw setupError(`${location} exists: name a folder that does not, on the disk of the database`)
  const programs = programsFor(backup)
  print(`Copying ${backup.name}, then replaying WAL…`)
  const to = await recoverMarked({ backup, location, target, ...programs }).catch(async error => {
    await rm(location, { recursive: true, force: true })
    throw error
  })
  print(`Start PostgreSQL with the data directory ${location}.`)
  print(describeNextStep(to))
}

function requireFolder(path: string | undefined): string {
  const folder = resolve(requireOption(path, '--from <folder> or BACKUP_FOLDER'))
  if (existsSync(folder)) return folder
  throw setupError(`${folder} does not exist: name the folder of backups with --from`)
}

/** Recovers the database, marks it as restored and stops it. Returns the time to which it was restored. */
async function recoverMarked(options: RecoverOptions): Promise<Date> {
  const { owner, name } = rolesOfDatabase()
  const recovered = await recover(options)
  const { target, backup, location, user } = options
  let segment = ''
  let to = target ?? new Date(backup.finishedAt)
  try {
    const url = recovered.urlOf(owner, name)
    const reachedAt = await readReachedAt(url)
    to = target ?? reachedAt ?? to
    await describeEnd(url, reachedAt, backup)
    await markRestored(url, to)
    const [row] = await ask<{ segment: string }>(
      url,
      'SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment',
    )
    segment = row?.segment ?? ''
  } finally {
    await recovered.stop()
  }
  await offerTimeline(location, segment, user)
  return to
}

async function describeEnd(url: string, reachedAt: Date | null, backup: Backup): Promise<void> {
  print(
    reachedAt
      ? `Reached ${reachedAt.toISOString()}, the commit of the last transaction.`
      : `Reached the end of the backup, ${backup.finishedAt}: no transaction was committed after it.`,
  )
  const [last] = await ask<{ kind: string; account: string; subject: string; at: Date }>(
    url,
    `SELECT kind, account_id AS account, subject_id AS subject, created_at AS at
     FROM ledger_transfers ORDER BY created_at DESC LIMIT 1`,
  )
  if (!last) return print('The books have no movement.')
  const { kind, account, subject, at } = last
  print(`Last movement of money: ${kind} of ${subject}, account ${account}, ${at.toISOString()}.`)
}

/** Called again for the same restore point, it changes nothing and says so. */
export async function begin(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { to: { type: 'string' } } })
  const to = readTime(requireOption(values.to, '--to'))
  if (to === null) throw invalidInput('to', 'must be a time: the restore has printed it')
  await withRuntime(async () => {
    const { isNew, restoredTo, begunAt, feeds, connections } = await beginRestore(to, ACTOR)
    const point = restoredTo.toISOString()
    process.stdout.write(
      isNew
        ? `Restored to ${point}: a new epoch for ${counted(feeds, 'event feed')}, money out of ${counted(connections, 'connection')} is closed\n`
        : `The restore to ${point} was begun at ${begunAt.toISOString()}: nothing was changed\n`,
    )
  })
}

/** For an installation with a single admin: two admins open a connection on its page. */
export async function open(args: string[]): Promise<void> {
  const options = { reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const connectionRef = requireOption(positionals[0], '<name|id>')
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    const { id } = await findConnection(connectionRef)
    await openAlone(id, reason)
    process.stdout.write(`${id}\n`)
  })
}
