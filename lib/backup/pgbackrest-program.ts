import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { quoteForCommand } from '#lib/backup/archive.ts'
import { setupError } from '#lib/core/errors.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { findPostgresUser, type PostgresUser } from '#lib/db/embedded-server.ts'

/** The list of backups has about 600 bytes for each. */
const OUTPUT_BYTES_MAX = 256 * 1024 ** 2

/** Programs of PostgreSQL, and pgBackRest with them, refuse to run as root. */
export function findProgramUser(): PostgresUser | null {
  return process.geteuid?.() === 0 ? findPostgresUser() : null
}

/** Returns what pgBackRest prints; nothing of it reaches the terminal. */
export function readFromPgBackRest(stanza: string, args: string[]): string {
  try {
    return execFileSync('pgbackrest', [...optionsFor(stanza), ...args], {
      ...{ cwd: '/', encoding: 'utf8', env: inheritedEnv(), maxBuffer: OUTPUT_BYTES_MAX },
      ...{ stdio: ['ignore', 'pipe', 'pipe'], ...findProgramUser() },
    })
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & Record<string, string>
    const output = [stdout, stderr].find(text => text.includes('ERROR:')) ?? message
    throw explain(error as NodeJS.ErrnoException, output)
  }
}

export async function runPgBackRest(
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

/**
 * Command that fetches a file of the WAL. pgBackRest's own exits with less than 126 if it cannot read
 * one, which PostgreSQL takes for the end of the WAL.
 */
export function fetchCommand(stanza: string, location: string): string {
  // The live database may use the files of asynchronous archiving.
  const own = [`--pg1-path=${location}`, '--no-archive-async']
  const options = [...optionsFor(stanza), ...own].map(quoteForCommand)
  return `pgbackrest ${options.join(' ')} archive-get %f "%p"; s=$?; [ $s -le 1 ] || exit 200; exit $s`
}

/** For an operator, who may have other variables. */
export function describeFetching(stanza: string, file: string): string {
  return `pgbackrest ${placeOptions(stanza).join(' ')} archive-get ${file} /tmp/${file}`
}

/** Variables of the command that fetches WAL, such as a passphrase. It names the stanza itself. */
export function repositoryEnv(): Record<string, string> {
  const isNeeded = (name: string) =>
    name === 'PATH' || (name.startsWith('PGBACKREST_') && name !== 'PGBACKREST_STANZA')
  return Object.fromEntries(
    Object.entries(inheritedEnv()).flatMap(([name, value]) =>
      value && isNeeded(name) ? [[name, value]] : [],
    ),
  )
}

function optionsFor(stanza: string): string[] {
  return [...placeOptions(stanza), '--log-level-console=error', '--log-level-stderr=off']
}

/** Name the stanza and the configuration that describes it. */
function placeOptions(stanza: string): string[] {
  const { PGBACKREST_CONFIG: config } = inheritedEnv()
  return [`--stanza=${stanza}`, ...(config ? [`--config=${config}`] : [])]
}

function explain({ code }: Pick<NodeJS.ErrnoException, 'code'>, output: string): Error {
  if (code === 'ENOENT')
    return setupError(
      'pgbackrest is not on this machine: install it, or run this on the machine of the database',
    )
  const [, reason = output] = /ERROR: \[\d+\]: (.*)/s.exec(output) ?? []
  return setupError(`pgBackRest reported: ${inOneLine(reason)}`)
}

export function inOneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}
