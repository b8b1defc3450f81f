import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPostgresPackage, plainEnv, prepareBinaries } from '#lib/db/embedded-server.ts'
import { prepareDatabase } from '#lib/db/roles.ts'
import {
  cleanUp,
  findProcessesIn,
  makeFolder,
  openForTest,
  query,
  readSuperuserUrl,
} from '#lib/testing/embedded.ts'
import { findFreePort } from '#lib/testing/server.ts'

const START_MAX_MS = 30_000
const instances: OwnPostgres[] = []

/**
 * A migrated PostgreSQL that a test may kill, stop and pause. Its postmaster is a direct child, so
 * that Node reaps it: the pid of a zombie would prevent the next start.
 */
export class OwnPostgres {
  readonly url: string
  readonly location: string
  #superuserUrl: string
  #bin: string
  #child: ChildProcess | undefined
  #stderr = ''

  private constructor(url: string, superuserUrl: string, location: string, bin: string) {
    this.url = url
    this.#superuserUrl = superuserUrl
    this.location = location
    this.#bin = bin
  }

  /** Creates the data folder without starting the server; `removeOwnPostgres` deletes it. */
  static async make(dataFolder = makeFolder()): Promise<OwnPostgres> {
    const embedded = await openForTest(dataFolder)
    await prepareDatabase(embedded)
    await embedded.release()
    const { uid, gid } = statSync(embedded.location)
    const user = uid === process.geteuid?.() ? null : { uid, gid }
    const bin = prepareBinaries(findPostgresPackage(), user, dataFolder, () => {})
    const url = new URL(embedded.url)
    url.port = String(await findFreePort())
    const superuserUrl = readSuperuserUrl(dataFolder, url.href)
    const own = new OwnPostgres(url.href, superuserUrl, embedded.location, bin)
    instances.push(own)
    return own
  }

  async start(settings: Record<string, string> = {}): Promise<void> {
    const values = Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: new URL(this.url).port,
      max_connections: '120',
      // Autovacuum would free space at unpredictable times.
      autovacuum: 'off',
      ...settings,
    })
    const args = values.flatMap(([key, value]) => ['-c', `${key}=${value}`])
    const { uid, gid } = statSync(this.location)
    const child = spawn(join(this.#bin, 'postgres'), ['-D', this.location, ...args], {
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      env: plainEnv(),
      ...(uid === process.geteuid?.() ? {} : { uid, gid }),
    })
    child.stderr.on('data', chunk => {
      this.#stderr = `${this.#stderr}${chunk}`.slice(-10_000)
    })
    this.#child = child
    for (const deadline = Date.now() + START_MAX_MS; ; await sleep(10)) {
      const isReady = await query(this.url, 'SELECT 1').then(
        () => true,
        () => false,
      )
      if (isReady) return
      if (hasExited(child) || Date.now() > deadline) {
        throw new Error(`PostgreSQL did not start: ${this.#stderr}`)
      }
    }
  }

  asSuperuser(sql: string): Promise<Record<string, unknown>[]> {
    return query(this.#superuserUrl, sql)
  }

  pause(): void {
    this.#signalAll('SIGSTOP')
  }

  resume(): void {
    this.#signalAll('SIGCONT')
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (!child || hasExited(child)) return
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
  }

  /** Kills the postmaster and every backend, like a power failure. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child) return
    const ended = hasExited(child) ? null : once(child, 'exit')
    while (findProcessesIn(this.location).length > 0) {
      this.#signalAll('SIGKILL')
      await sleep(5)
    }
    await ended
  }

  #signalAll(signal: NodeJS.Signals): void {
    for (const pid of findProcessesIn(this.location)) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process has exited meanwhile.
      }
    }
  }
}

export async function removeOwnPostgres(): Promise<void> {
  for (const own of instances.splice(0)) await own.kill()
  await cleanUp()
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
