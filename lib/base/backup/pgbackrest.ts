import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync } from 'node:fs'
import * as z from 'zod'
import { findPostgresUser, type PostgresUser } from '#lib/base/db/embedded-location.ts'
import { inheritedEnv } from '#lib/base/env.ts'
import { setupError } from '#lib/base/errors.ts'

/** A backup in the repository of pgBackRest. */
export const Repository = z.object({ stanza: z.string(), label: z.string() })
export type Repository = z.infer<typeof Repository>

/** What is read of `pgbackrest info`. */
const Info = z.array(
  z.object({
    backup: z.array(
      z.object({
        label: z.string(),
        archive: z.object({ start: z.string(), stop: z.string() }),
        lsn: z.object({ stop: z.string() }),
        info: z.object({ size: z.int() }),
      }),
    ),
  }),
)
type Info = z.infer<typeof Info>[number]

/** Lets pgBackRest copy the data directory into its repository: full, or what has changed, as it is configured. */
export async function copyByPgBackRest(stanza: string) {
  await runPgBackRest(stanza, ['backup'], findUser())
  const newest = readInfo(stanza).at(-1)
  if (!newest) throw setupError(`pgBackRest has no backup of the stanza ${stanza}: try again`)
  const { label, archive, lsn, info } = newest
  return {
    kind: 'pgbackrest' as const,
    repository: { stanza, label },
    timeline: Number.parseInt(archive.start.slice(0, 8), 16),
    startSegment: archive.start,
    stopSegment: archive.stop,
    stopLsn: lsn.stop,
    bytes: info.size,
    files: {} as Record<string, never>,
  }
}

/** Lets pgBackRest make a data directory that recovers, when it is started, from its archive. */
export async function restoreByPgBackRest(
  { stanza, label }: Repository,
  location: string,
  user: PostgresUser | null,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(location, { mode: 0o700 })
  if (user) chownSync(location, user.uid, user.gid)
  const args = ['restore', `--set=${label}`, `--pg1-path=${location}`]
  await runPgBackRest(stanza, args, user, signal)
}

/** Returns the labels of the backups that pgBackRest still has. */
export function listLabels(stanza: string): string[] {
  return readInfo(stanza).map(({ label }) => label)
}

function readInfo(stanza: string): Info['backup'] {
  try {
    const args = [...optionsFor(stanza), '--output=json', 'info']
    const options = { cwd: '/', encoding: 'utf8', env: inheritedEnv(), ...findUser() } as const
    return Info.parse(JSON.parse(execFileSync('pgbackrest', args, options))).flatMap(
      ({ backup }) => backup,
    )
  } catch (error) {
    const { stdout = '', message } = error as Error & { stdout?: string }
    throw explain(error as NodeJS.ErrnoException, `${stdout}\n${message}`)
  }
}

/** Programs of PostgreSQL, and pgBackRest with them, refuse to run as root. */
function findUser(): PostgresUser | null {
  return process.geteuid?.() === 0 ? findPostgresUser() : null
}

async function runPgBackRest(
  stanza: string,
  args: string[],
  user: PostgresUser | null,
  signal?: AbortSignal,
): Promise<void> {
  const child = spawn('pgbackrest', [...optionsFor(stanza), ...args], {
    ...{ cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] as const, env: inheritedEnv() },
    ...user,
  })
  signal?.addEventListener('abort', () => child.kill())
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output += chunk
    })
  const [code] = await once(child, 'close').catch(error => {
    throw explain(error, output)
  })
  if (code !== 0) throw explain({ code: '' }, output)
}

/** A restore writes options, but not the environment, into the command by which PostgreSQL fetches WAL. */
function optionsFor(stanza: string): string[] {
  const { PGBACKREST_CONFIG: config } = inheritedEnv()
  return [
    `--stanza=${stanza}`,
    ...(config ? [`--config=${config}`] : []),
    ...['--log-level-console=error', '--log-level-stderr=off'],
  ]
}

function explain({ code }: Pick<NodeJS.ErrnoException, 'code'>, output: string): Error {
  if (code === 'ENOENT')
    return setupError(
      'pgbackrest is not on this machine: install it, or run this on the machine of the database',
    )
  const [, reason = output] = /ERROR: \[\d+\]: (.*)/s.exec(output) ?? []
  return setupError(`pgBackRest reported: ${reason.trim().replaceAll(/\s+/g, ' ')}`)
}
