import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Set by `npm run torture`, whose kills and full disks need a real disk. */
const { TEST_ON_DISK } = process.env

const MEMORY_FOLDER = '/dev/shm'
/** Free memory required to use it: the databases of one run take about 1 GB. */
const FREE_BYTES_MIN = 4 * 1024 ** 3

/**
 * Makes a folder for a PostgreSQL of the tests, in memory if possible: on disk each commit takes
 * several milliseconds. PostgreSQL's settings stay as in production.
 */
export function makeScratchFolder(prefix: string): string {
  return makeOpenFolder(openRunFolder(), prefix)
}

/**
 * Returns the folder of all scratch folders of a run, which its processes inherit. The first call makes
 * it, and starts a process that cleans up once this one has ended, killed or not.
 */
export function openRunFolder(): string {
  const inherited = process.env.TEST_RUN_FOLDER
  if (inherited && existsSync(inherited)) return inherited
  const folder = makeOpenFolder(isMemoryUsable() ? MEMORY_FOLDER : tmpdir(), 'troco-run-')
  const program = join(import.meta.dirname, 'run-cleaner.ts')
  const cleaner = spawn(process.execPath, [program, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: '/usr/bin:/bin', NODE_ENV: 'test' },
  })
  // Its input ends with this process, which neither of them keeps alive.
  const input = cleaner.stdin as Socket
  input.unref()
  cleaner.unref()
  process.env.TEST_RUN_FOLDER = folder
  return folder
}

function makeOpenFolder(parent: string, prefix: string): string {
  const folder = mkdtempSync(join(parent, prefix))
  // Started by root, PostgreSQL runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o755)
  return folder
}

function isMemoryUsable(): boolean {
  if (TEST_ON_DISK) return false
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= FREE_BYTES_MIN && isMemoryExecutable()
  } catch {
    return false
  }
}

/** Returns whether /dev/shm is not mounted noexec: PostgreSQL's programs may be copied there. */
function isMemoryExecutable(): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
  const options = mounts
    .map(line => line.split(' '))
    .findLast(([, mountPoint]) => mountPoint === MEMORY_FOLDER)?.[3]
  return options !== undefined && !options.split(',').includes('noexec')
}
