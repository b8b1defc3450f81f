import { mkdtempSync } from 'node:fs'
import { chmod, chown, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  countLive,
  formatSize,
  openNamedFolder,
  programsFor,
  requireKey,
  requireOwnDatabase,
  rolesOfDatabase,
  secondsSince,
} from '#bin/backups.ts'
import { withRuntime } from '#bin/command-line.ts'
import { type Backup, chooseBackup, requireAlone } from '#lib/backup/manifest.ts'
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
import { connect } from '#lib/db/client.ts'
import { withClient } from '#lib/db/server.ts'
import { verifyLedger } from '#lib/ledger/verify.ts'
import { countRows } from '#lib/operator/backups.ts'

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
        `${table}: ${rows} rows (at the backup ${before}, here ${after})`,
      )
    }
    const { findings, transfers } = await verifyLedger(database)
    const broken = findings.filter(({ violation }) => violation !== null)
    check(broken.length === 0, `ledger verified, ${transfers} transfers`)
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
