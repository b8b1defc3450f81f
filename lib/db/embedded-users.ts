import { randomUUID } from 'node:crypto'
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { refuse } from '#lib/core/errors.ts'
import { readProcessIdentity } from './process.ts'

/** Maximum wait for the lock: longer than a first start on a slow disk or a recovery takes. */
const LOCK_WAIT_MAX_MS = 120_000

/** Keeps references: the garbage collector could free a suspended function and its lock. */
const openLocks = new Set<DatabaseSync>()

/** The kernel releases SQLite's file lock when the process dies, so no lock is ever stale. */
export async function withLock<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  const path = join(dataFolder, 'postgres-lock')
  const lock = new DatabaseSync(path)
  openLocks.add(lock)
  try {
    // In a read-only file, SQLite silently takes no lock.
    accessSync(path, constants.W_OK)
    const giveUpAt = Date.now() + LOCK_WAIT_MAX_MS
    while (!tryLock(lock)) {
      if (Date.now() > giveUpAt) {
        throw refuse(
          'setup_failed',
          `Another Troco process has been starting or stopping the database in ${dataFolder} for two minutes: stop it and try again`,
        )
      }
      await sleep(15)
    }
    return await work()
  } finally {
    openLocks.delete(lock)
    lock.close()
  }
}

function tryLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    const busy = 5
    if ((error as { errcode?: number }).errcode === busy) return false
    throw error
  }
}

/** Requires `withLock`, like the functions below. */
export function registerProcess(dataFolder: string): string {
  const folder = usersFolder(dataFolder)
  mkdirSync(folder, { recursive: true })
  const name = `${process.pid}.${randomUUID()}`
  writeFileSync(join(folder, name), readProcessIdentity(process.pid) ?? '')
  return name
}

export function unregisterProcess(dataFolder: string, name: string): void {
  rmSync(join(usersFolder(dataFolder), name), { force: true })
}

export function countRegisteredProcesses(dataFolder: string): number {
  const folder = usersFolder(dataFolder)
  mkdirSync(folder, { recursive: true })
  return readdirSync(folder).filter(name => {
    const identity = readProcessIdentity(Number.parseInt(name, 10))
    const isAlive = identity !== null && identity === readFileSync(join(folder, name), 'utf8')
    if (!isAlive) unregisterProcess(dataFolder, name)
    return isAlive
  }).length
}

function usersFolder(dataFolder: string): string {
  return join(dataFolder, 'postgres-users')
}
