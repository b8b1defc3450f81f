import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setupError } from '#lib/core/errors.ts'
import type { DataDirectory } from './embedded-location.ts'
import { findLastFatalLine, logSize } from './embedded-log.ts'
import {
  countAttachedProcesses,
  hasArgument,
  listProcessesIn,
  readProcessIdentity,
} from './process.ts'

export interface Postmaster {
  pid: number
  port: number
}

/** A start fails after this time without a new log line; a long recovery logs every 10 s. */
const START_MAX_MS = 20_000
/** Time limit of a fast shutdown (SIGINT), which writes a checkpoint. */
const FAST_STOP_MAX_MS = 6_000
/** Time limit of the immediate shutdown (SIGQUIT) that follows; the next start then recovers. */
const IMMEDIATE_STOP_MAX_MS = 10_000
/** Time for processes of an earlier server to exit by themselves, before they are stopped. */
const ORPHAN_GRACE_MS = 3_000
/** Total time for processes of an earlier server to exit; then the start fails. */
const ORPHAN_STOP_MAX_MS = 10_000

const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '120',
  shared_buffers: '128MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  idle_in_transaction_session_timeout: '60s',
  // Statements and their parameters can contain payers' documents.
  log_error_verbosity: 'terse',
  log_parameter_max_length_on_error: '0',
  log_min_error_statement: 'panic',
  lc_messages: 'C',
  log_timezone: 'UTC',
  // One file per weekday, truncated a week later.
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgresql-%a.log',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_truncate_on_rotation: 'on',
}

/** Returns the running postmaster of this data directory; ignores a stale postmaster.pid. */
export function findPostmaster(location: string): Postmaster | null {
  const [pid = 0, , , port = 0] = readPidFile(location).map(Number)
  const isRunning = pid > 0 && readProcessIdentity(pid) !== null && hasArgument(pid, location)
  return isRunning ? { pid, port } : null
}

/** Returns null if the port or data is in use: the caller then looks for a server again. */
export async function startPostmaster(
  { location, user, variables }: DataDirectory & { variables?: Record<string, string> },
  bin: string,
  startLog: string,
  settings: Record<string, string>,
): Promise<Postmaster | null> {
  await cleanUpPreviousServer(location)
  const port = (await probePort(readLastPort(location))) ?? (await probePort(0)) ?? 0
  const values = Object.entries({ ...DEFAULT_SETTINGS, port: `${port}`, ...settings })
  rmSync(startLog, { force: true })
  const output = openSync(startLog, 'wx', 0o600)
  // Detached, so that Ctrl-C reaches only this process, which then shuts PostgreSQL down.
  const child = spawn(
    join(bin, 'postgres'),
    ['-D', location, ...values.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      ...{ cwd: '/', detached: true, stdio: ['ignore', output, output], ...user },
      env: plainEnv(variables),
    },
  )
  closeSync(output)
  child.unref()
  const { pid } = child
  if (pid === undefined) {
    const [error] = await once(child, 'error')
    throw setupError(`PostgreSQL could not be started: ${(error as Error).message}`)
  }
  const started = await waitUntilReady(location, pid, startLog)
  if (started) return started
  const reason = findLastFatalLine(location, startLog)
  if (/TCP\/IP sockets|lock file "postmaster.pid"/.test(reason)) return null
  throw startError(`PostgreSQL exited while starting: ${reason}`, location)
}

/** Waits until PostgreSQL accepts connections. Returns null if it exits. */
export async function waitUntilReady(
  location: string,
  pid: number,
  startLog: string,
): Promise<Postmaster | null> {
  let giveUpAt = Date.now() + START_MAX_MS
  for (let previousSize = 0; readProcessIdentity(pid) !== null; await sleep(10)) {
    const lines = readPidFile(location)
    if (Number(lines[0]) === pid && lines[7]?.trim() === 'ready') {
      return { pid, port: Number(lines[3]) }
    }
    const size = logSize(location, startLog)
    if (size !== previousSize) giveUpAt = Date.now() + START_MAX_MS
    previousSize = size
    if (Date.now() > giveUpAt) {
      const reason = findLastFatalLine(location, startLog)
      throw startError(`PostgreSQL (process ${pid}) did not become ready: ${reason}`, location)
    }
  }
  return null
}

/** The cause is the sentence without the place of the log. */
function startError(sentence: string, location: string): Error {
  return setupError(`${sentence} (log: ${location}/log)`, sentence)
}

export async function stopPostmaster(pid: number): Promise<void> {
  const identity = readProcessIdentity(pid)
  const stopWith = async (name: NodeJS.Signals, waitMs: number) => {
    if (identity === null || readProcessIdentity(pid) !== identity) return true
    signal(pid, name)
    return waitUntil(() => readProcessIdentity(pid) !== identity, waitMs)
  }
  if (await stopWith('SIGINT', FAST_STOP_MAX_MS)) return
  if (await stopWith('SIGQUIT', IMMEDIATE_STOP_MAX_MS)) return
  throw setupError(`PostgreSQL (process ${pid}) did not stop: run kill -9 ${pid}`)
}

/** Waits for processes of an earlier server, then stops them; removes a stale postmaster.pid. */
async function cleanUpPreviousServer(location: string): Promise<void> {
  const lines = readPidFile(location)
  const folder = realpathSync(location)
  const orphans = () => listProcessesIn(folder, 'postgres')
  const [key = '', id = ''] = lines[6]?.trim().split(/\s+/) ?? []
  const isFree = () => orphans().length === 0 && countAttachedProcesses(key, id) === 0
  if (!isFree() && !(await waitUntil(isFree, ORPHAN_GRACE_MS))) {
    // A backend in a long statement does not notice that its postmaster died.
    for (const pid of orphans()) signal(pid, 'SIGQUIT')
    if (!(await waitUntil(isFree, ORPHAN_STOP_MAX_MS - ORPHAN_GRACE_MS))) {
      throw setupError(
        `Processes of an earlier PostgreSQL still use ${location}: stop them first (process ids: ${orphans().join(', ') || 'unknown'})`,
      )
    }
  }
  // PostgreSQL does not start if the file is empty or has the pid of a zombie or another program.
  if (!findPostmaster(location)) rmSync(join(location, 'postmaster.pid'), { force: true })
}

function readPidFile(location: string): string[] {
  try {
    return readFileSync(join(location, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

/** Returns the port of the last start: on the same port, other Troco processes can reconnect. */
function readLastPort(location: string): number {
  const file = join(location, 'postmaster.opts')
  const options = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Number(/"port=(\d+)"/.exec(options)?.[1] ?? 0)
}

/** Returns the port if it is free, else null. Port 0 returns any free port. */
async function probePort(port: number): Promise<number | null> {
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  const address = server.address()
  server.close()
  return isFree && address !== null && typeof address === 'object' ? address.port : null
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function waitUntil(condition: () => boolean, waitMs: number): Promise<boolean> {
  const giveUpAt = Date.now() + waitMs
  while (!condition()) {
    if (Date.now() > giveUpAt) return false
    await sleep(15)
  }
  return true
}

/** Environment without PGPORT and secrets but those given; undefined on Windows, to inherit everything. */
export function plainEnv(variables: Record<string, string> = {}): NodeJS.ProcessEnv | undefined {
  if (process.platform === 'win32') return undefined
  const fixed = { LC_ALL: 'C', TZ: 'UTC', NODE_ENV: 'production' } as const
  return { PATH: '/usr/bin:/bin', ...variables, ...fixed }
}
