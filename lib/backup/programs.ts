import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Files, storeFolder, sumBytes } from '#lib/backup/copy.ts'
import type { Copied } from '#lib/backup/take.ts'
import { setupError } from '#lib/core/errors.ts'
import { inheritedEnv } from '#lib/core/settings.ts'

/** Where packages of Debian, Red Hat and Homebrew install the programs of each major version. */
const PACKAGE_FOLDERS = ['/usr/lib/postgresql', '/usr', '/opt/homebrew/opt']
const VERSIONED = /^(?:pgsql-|postgresql@)?(\d+)$/

/** Returns the folder of the server programs of a major version. */
export function findServerPrograms(major: number): string {
  const found = programFolders().find(folder => majorOf(join(folder, 'postgres')) === major)
  if (found) return found
  throw setupError(
    `The server programs of PostgreSQL ${major} are not on this machine: install them (Debian: postgresql-${major}), or run this where they are`,
  )
}

/** Lets pg_basebackup copy the data directory of a server, with the WAL that the copy needs. */
export async function copyByBasebackup(url: string, major: number, data: string): Promise<Copied> {
  const program = programFolders()
    .map(folder => join(folder, 'pg_basebackup'))
    .find(path => (majorOf(path) ?? 0) >= major)
  if (!program)
    throw setupError(
      `pg_basebackup of PostgreSQL ${major} is not on this machine: install it (Debian: postgresql-client-${major})`,
    )
  // Not in an argument, which every user of the machine could read.
  const parsed = new URL(url)
  const password = decodeURIComponent(parsed.password)
  parsed.password = ''
  const args = ['-D', data, '-X', 'stream', '-c', 'fast', '--no-password', '-d', parsed.href]
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...inheritedEnv(), PGPASSWORD: password },
  })
  let output = ''
  child.stderr.on('data', chunk => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0)
    throw setupError(
      `pg_basebackup reported: ${output.trim().split('\n').at(-1)}. Its role needs ALTER ROLE … REPLICATION, and pg_hba.conf a line for the database replication`,
    )
  return describeCopy(data, await storeFolder(data))
}

interface WalRange {
  Timeline: number
  'Start-LSN': string
  'End-LSN': string
}

/** Reads the range of WAL from PostgreSQL's own manifest. */
function describeCopy(data: string, files: Files): Copied {
  const manifest = JSON.parse(readFileSync(join(data, 'backup_manifest'), 'utf8'))
  const { Timeline: timeline, ...range } = (manifest['WAL-Ranges'] as WalRange[]).at(-1) as WalRange
  const names = readdirSync(join(data, 'pg_wal')).filter(name => /^[0-9A-F]{24}$/.test(name))
  const [startSegment, stopSegment] = [names.toSorted()[0], names.toSorted().at(-1)]
  if (!startSegment || !stopSegment) throw setupError('pg_basebackup copied no WAL: try again')
  const stopLsn = range['End-LSN']
  const bytes = sumBytes(files)
  return { kind: 'pg_basebackup', timeline, startSegment, stopSegment, stopLsn, bytes, files }
}

function programFolders(): string[] {
  const packaged = PACKAGE_FOLDERS.filter(folder => existsSync(folder)).flatMap(folder =>
    readdirSync(folder)
      .filter(name => VERSIONED.test(name))
      .toSorted((a, b) => versionOf(a) - versionOf(b))
      .map(name => join(folder, name, 'bin')),
  )
  return [...(inheritedEnv().PATH ?? '').split(delimiter), ...packaged].filter(Boolean)
}

function versionOf(name: string): number {
  return Number(VERSIONED.exec(name)?.[1])
}

function majorOf(program: string): number | null {
  if (!existsSync(program)) return null
  try {
    const text = execFileSync(program, ['--version'], { encoding: 'utf8' })
    return Number(/ (\d+)/.exec(text)?.[1])
  } catch {
    return null
  }
}
