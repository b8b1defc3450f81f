import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env, inheritedEnv } from '#lib/base/env.ts'

/** Short, so that a test need not wait long for the work of one that was killed. */
export const LEASE_SECONDS = 2

export interface WorkerProcess {
  /** As the kernel ends it: nothing of ours runs any more. */
  kill: () => Promise<void>
  /** As a supervisor asks it to end; says how it did. */
  end: () => Promise<number | null>
}

/** `npm run worker` on the database of the test, in a process of its own. */
export async function startWorkerProcess(): Promise<WorkerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'troco-worker-'))
  const { DATABASE_URL = '' } = env()
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'bin/troco.ts', 'worker'],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...inheritedEnv(),
        DATABASE_URL,
        TROCO_DATA: folder,
        WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
        NODE_ENV: 'production',
      },
    },
  )
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
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async end() {
      child.kill('SIGTERM')
      const [code] = await ended
      return code
    },
  }
}
