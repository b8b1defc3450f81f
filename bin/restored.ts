import { print } from '#bin/command-line.ts'
import { offerTimeline } from '#lib/backup/archive.ts'
import type { Backup } from '#lib/backup/manifest.ts'
import { markRestored } from '#lib/backup/records.ts'
import {
  ask,
  type Recovered,
  type RecoverOptions,
  readReachedAt,
  recover,
} from '#lib/backup/recover.ts'

interface Place {
  owner: string
  name: string
}

/** Recovers a database, marks it as restored and stops it. Returns the time to which it was restored. */
export async function recoverMarked(
  options: RecoverOptions,
  { owner, name }: Place,
  prepare: (recovered: Recovered) => Promise<void> = async () => {},
): Promise<Date> {
  const recovered = await recover(options)
  const { target, backup, location, user } = options
  let segment = ''
  let to = target ?? new Date(backup.finishedAt)
  try {
    const url = recovered.urlOf(owner, name)
    const reachedAt = await readReachedAt(url)
    to = target ?? reachedAt ?? to
    await prepare(recovered)
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
