import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Host } from '#e2e/cluster/network.ts'
import { inheritedEnv } from '#lib/core/settings.ts'

/** Pause before an ended process is started again: the default of systemd. */
const RESTART_AFTER_MS = 100
export const LOGS = '.cache/cluster'

export interface Command {
  name: string
  host: Host
  program: string
  args: string[]
  user?: 'postgres'
  settings?: Record<string, string>
  /** Signal of a graceful stop. */
  stopSignal?: NodeJS.Signals
  /** Reloads instead of ending and starting again. */
  reloadSignal?: NodeJS.Signals
}

/** A process on a host, which is started again whenever it ends, as systemd does. */
export class Service {
  readonly name: string
  readonly host: Host
  readonly #command: Command
  #child: ChildProcess | undefined
  #isWanted = false

  constructor(command: Command) {
    this.#command = command
    this.name = command.name
    this.host = command.host
  }

  start(): void {
    this.#isWanted = true
    const { host, program, args, user, settings } = this.#command
    const as = user ? ['setpriv', '--reuid', user, '--regid', user, '--init-groups'] : []
    const log = openSync(join(LOGS, `${this.name}.log`), 'a')
    const child = spawn('ip', ['netns', 'exec', host, ...as, program, ...args], {
      stdio: ['ignore', log, log],
      env: { ...inheritedEnv(), ...settings },
    })
    this.#child = child
    child.once('exit', async () => {
      await sleep(RESTART_AFTER_MS)
      if (this.#isWanted && this.#child === child) this.start()
    })
  }

  get pid(): number {
    return Number(this.#child?.pid)
  }

  /** Sends a signal to the process and, unless `isAlone`, to all that it started. */
  signal(signal: NodeJS.Signals, isAlone = false): void {
    signalAll(isAlone ? [this.pid] : [this.pid, ...listDescendants(this.pid)], signal)
  }

  /** Ends the process for good, until it is started. */
  async down(): Promise<void> {
    this.#isWanted = false
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    this.signal('SIGKILL')
    await ended
  }

  /** Restarts it as an operator would: `systemctl restart` or `reload`. */
  async restart(): Promise<void> {
    const { stopSignal = 'SIGTERM', reloadSignal } = this.#command
    if (reloadSignal) {
      this.signal(reloadSignal, true)
      return
    }
    const child = this.#child
    if (!child) return
    const ended = once(child, 'exit')
    this.signal(stopSignal, true)
    await ended
  }
}

export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  let signalled = 0
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
      signalled++
    } catch {
      // The process has ended meanwhile.
    }
  }
  if (signalled === 0) throw new Error(`There is no process to send ${signal} to`)
}

function listDescendants(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter(entry => /^\d+$/.test(entry))) {
    try {
      const [, parent] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      parents.set(Number(name), Number(parent))
    } catch {
      // The process has ended meanwhile.
    }
  }
  const found = [pid]
  for (const each of found)
    for (const [child, parent] of parents) if (parent === each) found.push(child)
  return found.slice(1)
}
