import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { env } from '#lib/core/settings.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

const READY_MAX_MS = 50_000

interface StartedProcess {
  child: ChildProcess
  output: () => string
  ended: Promise<number | null>
}

export interface Installation {
  folder: string
  port: number
  settings: Record<string, string>
  remove: () => void
}

/** Makes a data folder and a port for one test, independent of the run's database. */
export async function makeInstallation(): Promise<Installation> {
  const folder = makeScratchFolder('troco-place-')
  const port = await findFreePort()
  const settings = {
    TROCO_DATA: join(folder, 'data'),
    PORT: String(port),
    TROCO_ENV: '',
    DATABASE_URL: '',
    DATABASE_OWNER_URL: '',
    TROCO_SECRET: '',
    PUBLIC_URL: '',
    LOG_FILE: process.env.LOG_FILE ?? '',
    NODE_ENV: 'production',
  }
  return { folder, port, settings, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Settings of a command that works in the database of the current test, with a data folder of its own. */
export function settingsBesideTest(folder: string): Record<string, string> {
  const { DATABASE_URL = '', TROCO_SECRET = '', PUBLIC_URL } = env()
  return {
    DATABASE_URL,
    DATABASE_OWNER_URL: ownerUrlOf(DATABASE_URL),
    TROCO_SECRET,
    PUBLIC_URL,
    TROCO_ENV: 'local',
    NODE_ENV: 'production',
    TROCO_DATA: join(folder, 'data'),
  }
}

/** Copies the data of an installation whose processes have ended. `cp -a` keeps the files' owners. */
export function copyData(from: Installation, to: Installation): void {
  execFileSync('cp', ['-a', join(from.folder, 'data'), to.folder])
}

/** Runs `npm run …` without npm, through bin/bootstrap.mjs, which every npm script calls. */
function startCommand(args: string[], settings: Record<string, string>): StartedProcess {
  return startProcess('node', ['bin/bootstrap.mjs', ...args], settings)
}

function startProcess(
  program: string,
  args: string[],
  settings: Record<string, string>,
  input?: string,
): StartedProcess {
  const child = spawn(program, args, {
    env: { ...process.env, ...settings },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  child.stdin?.end(input)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', chunk => {
      text += chunk
    })
  }
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  return { child, output: () => text, ended }
}

export async function runCommand(args: string[], settings: Record<string, string>) {
  return waitForEnd(startCommand(args, settings))
}

export async function runTroco(args: string[], settings: Record<string, string>, input?: string) {
  return waitForEnd(startTroco(args, settings, input))
}

/** Starts `troco` without the bootstrap, which takes a second process. `input`: its standard input. */
export function startTroco(args: string[], settings: Record<string, string>, input?: string) {
  const command = ['--disable-warning=ExperimentalWarning', 'bin/troco.ts', ...args]
  return startProcess(process.execPath, command, { ...settings, NODE_ENV: 'production' }, input)
}

async function waitForEnd({ ended, output }: StartedProcess) {
  const code = await ended
  return { code, output: output() }
}

export async function startServer(
  installation: Installation,
  settings = installation.settings,
): Promise<StartedProcess> {
  const started = startCommand(['start'], settings)
  await waitUntilReady(started, installation.port)
  return started
}

async function waitUntilReady(started: StartedProcess, port: number): Promise<void> {
  for (const began = Date.now(); Date.now() - began < READY_MAX_MS; ) {
    if (started.child.exitCode !== null) break
    const response = await fetch(`http://localhost:${port}/readyz`).catch(() => null)
    if (response?.ok) return
    await sleep(50)
  }
  throw new Error(`It did not become ready and said: ${started.output()}`)
}

interface Process {
  pid: number
  command: string
}

/** Returns the processes started for this data folder: bootstrap, server and PostgreSQL. */
export function processesOf(installation: Installation): Process[] {
  return listProcesses().filter(
    ({ pid, command }) =>
      command.includes(installation.folder) || usesDataFolder(pid, installation),
  )
}

/** Reads /proc if it exists, because slim images have no `ps`; otherwise runs `ps`. */
function listProcesses(): Process[] {
  if (existsSync('/proc/self/stat')) {
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(name => ({
        pid: Number(name),
        command: readProc(name, 'cmdline').replaceAll('\0', ' '),
      }))
      .filter(({ pid }) => !/\) [ZX] /.test(readProc(String(pid), 'stat')))
  }
  return execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map(line => /^\s*(\d+)\s+(.*)$/.exec(line))
    .filter(match => match !== null)
    .map(([, pid = '', command = '']) => ({ pid: Number(pid), command }))
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function usesDataFolder(pid: number, installation: Installation): boolean {
  return readProc(String(pid), 'environ').includes(installation.settings.TROCO_DATA ?? '\0')
}

/** Kills all processes of the installation, as a power failure would. */
export async function killProcesses(installation: Installation): Promise<void> {
  for (const { pid } of processesOf(installation)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended in the meantime.
    }
  }
  await waitUntilStopped(installation)
}

export async function waitUntilStopped(
  installation: Installation,
  withinMs = 10_000,
): Promise<void> {
  for (const began = Date.now(); Date.now() - began < withinMs; ) {
    if (processesOf(installation).length === 0) return
    await sleep(50)
  }
  const remaining = processesOf(installation).map(({ command }) => command)
  throw new Error(`Still running after ${withinMs} ms: ${remaining.join(' | ')}`)
}
