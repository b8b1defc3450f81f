import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepare } from '#bin/prepare.mjs'
import type { Process } from '#e2e/day/plan.ts'
import { inheritedEnv } from '#lib/base/env.ts'
import { startWorkerProcess, TROCO, type WorkerProcess } from '#lib/testing/worker-process.ts'

/** A busy machine is slow. */
const READY_MAX_MS = 180_000

/** The processes of one installation: `troco start` without its own worker, and two `troco worker`. */
export interface Processes {
  /** Kills the process with SIGKILL and starts it again. */
  restart: (name: Process) => Promise<void>
  /** Runs a command of `troco` beside them. */
  run: (...args: string[]) => Promise<{ code: number | null; output: string }>
  stop: () => Promise<void>
}

export async function startProcesses(settings: Record<string, string>): Promise<Processes> {
  // `npm test` has built the pages before.
  if (!process.env.TROCO_BUILD) await prepare({ pages: true })
  const folder = mkdtempSync(join(tmpdir(), 'troco-web-'))
  const web = { TROCO_DATA: folder, WORKER: 'false' }
  const start = {
    web: () => startWeb({ ...settings, ...web }),
    'first worker': () => startWorkerProcess(settings),
    'second worker': () => startWorkerProcess(settings),
  }
  const names = Object.keys(start) as Process[]
  const running = new Map<Process, WorkerProcess>()
  const launch = async (name: Process) => running.set(name, await start[name]())
  // The web process is ready when a worker has been seen.
  const stop = async () => {
    await Promise.all([...running.values()].map(each => each.kill()))
    rmSync(folder, { recursive: true, force: true })
  }
  const launched = await Promise.allSettled(names.map(launch))
  const failed = launched.find(each => each.status === 'rejected')
  if (failed) {
    await stop()
    throw failed.reason
  }
  return {
    async restart(name) {
      await running.get(name)?.kill()
      await launch(name)
    },
    run: (...args) => runTroco(args, settings),
    stop,
  }
}

async function startWeb(settings: Record<string, string>): Promise<WorkerProcess> {
  const child = spawnTroco(['start'], settings)
  const output = collectOutput(child)
  const ended = once(child, 'exit')
  for (const began = Date.now(); Date.now() - began < READY_MAX_MS; await sleep(50)) {
    if (child.exitCode !== null) break
    const ready = await fetch(`http://127.0.0.1:${settings.PORT}/readyz`).catch(() => null)
    if (ready?.ok)
      return { pid: Number(child.pid), kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
  }
  child.kill('SIGKILL')
  throw new Error(`The web process did not become ready and said: ${output()}`)

  async function end(signal: 'SIGKILL' | 'SIGTERM') {
    child.kill(signal)
    const [code] = await ended
    return code
  }
}

async function runTroco(args: string[], settings: Record<string, string>) {
  const child = spawnTroco(args, settings)
  const output = collectOutput(child)
  const [code] = await once(child, 'close')
  return { code: code as number | null, output: output() }
}

/** With the channel that the bootstrap opens: a server ends when this process does. */
function spawnTroco(args: string[], settings: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [...TROCO, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...inheritedEnv(), ...settings },
  })
}

function collectOutput(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', chunk => {
      text += chunk
    })
  }
  return () => text
}
