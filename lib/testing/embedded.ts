import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { type Embedded, openEmbedded } from '#lib/db/embedded.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

const PASSWORD = 'a p@ss/word: of ours'
const folders: string[] = []
const children: ChildProcess[] = []
const opened: Embedded[] = []

/** Makes an empty folder that every user may enter; a folder of mkdtemp admits only its owner. */
export function makeFolder(): string {
  const folder = makeScratchFolder('troco-embedded-')
  folders.push(folder)
  return folder
}

export async function openForTest(
  dataFolder: string,
  extra: { settings?: Record<string, string> } = {},
) {
  const embedded = await openEmbedded({ dataFolder, password: PASSWORD, ...extra })
  opened.push(embedded)
  return embedded
}

interface OtherProcess {
  child: ChildProcess
  embedded: Embedded
  progress: string[]
}

/** Opens the folder's PostgreSQL in another process, which keeps running. */
export async function openInOtherProcess(dataFolder: string): Promise<OtherProcess> {
  const options = JSON.stringify({ dataFolder, password: PASSWORD })
  const child = runModule(
    `const { openEmbedded } = await import('#lib/db/embedded.ts')
    const onProgress = line => console.log(JSON.stringify(line))
    const embedded = await openEmbedded({ ...${options}, onProgress })
    console.log(JSON.stringify(embedded))
    setInterval(() => {}, 1000)`,
  )
  const progress: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line)
    if (typeof message !== 'string') return { child, embedded: message, progress }
    progress.push(message)
  }
  throw new Error('it ended without opening')
}

export function runModule(code: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  children.push(child)
  return child
}

/** Kills the child, optionally with its whole process group, which Ctrl-C would also reach. */
export async function kill(child: ChildProcess, includesGroup = false): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  process.kill(includesGroup ? -child.pid! : child.pid!, 'SIGKILL')
  await once(child, 'exit')
}

export async function killChildren(): Promise<void> {
  for (const child of children.splice(0)) await kill(child)
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  // A lost connection is reported twice; tests read the rejection of the query.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Returns the URL of the superuser, whose password is stored in the data folder. */
export function readSuperuserUrl(dataFolder: string, url: string): string {
  const changed = new URL(url)
  changed.username = 'postgres'
  const password = readFileSync(join(dataFolder, 'postgres-superuser.password'), 'utf8').trim()
  changed.password = password
  return changed.href
}

export function findProcessesIn(location: string): number[] {
  const isRunning = (pid: string) => {
    try {
      const state = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0]
      return readlinkSync(`/proc/${pid}/cwd`) === location && state !== 'Z'
    } catch {
      return false
    }
  }
  return readdirSync('/proc').filter(isRunning).map(Number)
}

export async function cleanUp(): Promise<void> {
  await killChildren()
  const toRelease = opened.splice(0)
  for (const embedded of toRelease) await embedded.release().catch(() => {})
  for (const { location } of toRelease) {
    for (const pid of findProcessesIn(location)) process.kill(pid, 'SIGKILL')
    if (location.startsWith('/var/lib/troco/')) {
      rmSync(dirname(location), { recursive: true, force: true })
    }
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, maxRetries: 5 })
}
