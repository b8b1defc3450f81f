import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepare } from '#bin/prepare.mjs'
import type { Process } from '#e2e/day/plan.ts'
import { collectOutput, spawnTroco, startWebProcess } from '#lib/testing/web-process.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

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
    web: () => startWebProcess({ ...settings, ...web }),
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

async function runTroco(args: string[], settings: Record<string, string>) {
  const child = spawnTroco(args, settings)
  const output = collectOutput(child)
  const [code] = await once(child, 'close')
  return { code: code as number | null, output: output() }
}
