import { chmodSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
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
  const folder = mkdtempSync(join(isMemoryUsable() ? MEMORY_FOLDER : tmpdir(), prefix))
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
