import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env, inheritedEnv } from '#lib/core/settings.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'

/** Short lease, so that a test waits only briefly for the rows of a killed worker. */
export const LEASE_SECONDS = 2

/** Arguments of Node for a command of `troco` that a test may kill. */
export const TROCO = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  './lib/testing/keep-compiled.ts',
  'bin/troco.ts',
]

export interface WorkerProcess {
  pid: number
  kill: () => Promise<void>
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number | null>
}

export async function startWorkerProcess(
  settings: Record<string, string> = {},
): Promise<WorkerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'troco-worker-'))
  const { DATABASE_URL = '' } = env()
  const child = spawn(process.execPath, [...TROCO, 'worker'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...inheritedEnv(),
      DATABASE_URL,
      DATABASE_OWNER_URL: ownerUrlOf(DATABASE_URL),
      TROCO_DATA: folder,
      WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
      NODE_ENV: 'production',
      ...settings,
    },
  })
  const ended = once(child, 'exit').finally(() => rmSync(folder, { recursive: true, force: true }))
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', chunk => {
      printed += chunk
      if (printed.includes('The worker is running')) resolve()
    })
    ended.then(() => reject(new Error(`The worker ended and said: ${printed}`)))
  })
  return {
    pid: Number(child.pid),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async stop() {
      child.kill('SIGTERM')
      const [code] = await ended
      return code
    },
  }
}
