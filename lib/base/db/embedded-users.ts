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
import { refuse } from '#lib/base/errors.ts'
import { lifeOf } from './process.ts'

/** Longer than a first start with a slow disk and a recovery takes. */
const waitMaxMs = 120_000

/** Whoever is only suspended can be collected as garbage, and its lock would go with it. */
const held = new Set<DatabaseSync>()

/**
 * One at a time in this data folder. SQLite's lock is the kernel's: it ends with its holder, even
 * one that was killed, so there is never a stale one to judge. Nothing is stored in the file.
 */
export async function withLock<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  const path = join(dataFolder, 'postgres-lock')
  const lock = new DatabaseSync(path)
  held.add(lock)
  try {
    // SQLite silently locks nothing in a file that it may only read.
    accessSync(path, constants.W_OK)
    const giveUpAt = Date.now() + waitMaxMs
    while (!isTaken(lock)) {
      if (Date.now() > giveUpAt) {
        throw refuse(
          'setup_failed',
          `Another Troco process has been starting or stopping the database in ${dataFolder} for two minutes: end it and start again`,
        )
      }
      await sleep(15)
    }
    return await work()
  } finally {
    held.delete(lock)
    lock.close()
  }
}

function isTaken(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    const busy = 5
    if ((error as { errcode?: number }).errcode === busy) return false
    throw error
  }
}

/** Must be called under the lock, as must the others here. */
export function addUser(dataFolder: string): string {
  const folder = usersFolder(dataFolder)
  mkdirSync(folder, { recursive: true })
  const name = `${process.pid}.${randomUUID()}`
  writeFileSync(join(folder, name), lifeOf(process.pid) ?? '')
  return name
}

export function removeUser(dataFolder: string, name: string): void {
  rmSync(join(usersFolder(dataFolder), name), { force: true })
}

/** Counts those who still live, and forgets the others. */
export function countUsers(dataFolder: string): number {
  const folder = usersFolder(dataFolder)
  mkdirSync(folder, { recursive: true })
  return readdirSync(folder).filter(name => {
    const life = lifeOf(Number.parseInt(name, 10))
    const isAlive = life !== null && life === readFileSync(join(folder, name), 'utf8')
    if (!isAlive) removeUser(dataFolder, name)
    return isAlive
  }).length
}

function usersFolder(dataFolder: string): string {
  return join(dataFolder, 'postgres-users')
}
