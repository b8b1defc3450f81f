import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Program of `openRunFolder`: when the process that started it has ended, however it ended, stops the
 * processes that the run left and removes its folder. Detached, so that Ctrl-C does not reach it.
 */

/** Time for the processes of a run to end by themselves before they are killed. */
const GRACE_MS = 5_000

const [folder = ''] = process.argv.slice(2)
process.stdin.resume().on('end', async () => {
  signalAll('SIGTERM')
  for (const began = Date.now(); listProcesses().length > 0; await sleep(50))
    if (Date.now() - began > GRACE_MS) break
  signalAll('SIGKILL')
  // A killed process may still have been writing.
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

function signalAll(signal: NodeJS.Signals): void {
  for (const pid of listProcesses()) {
    try {
      // PostgreSQL ends only with its last connection on SIGTERM, and at once on SIGQUIT.
      process.kill(pid, isPostgres(pid) && signal === 'SIGTERM' ? 'SIGQUIT' : signal)
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Lists processes that inherited the folder's name, or work in the folder as PostgreSQL does. */
function listProcesses(): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && pid !== process.pid)
    .filter(pid => {
      const settings = read(() => readFileSync(`/proc/${pid}/environ`, 'utf8')).split('\0')
      const workFolder = read(() => readlinkSync(`/proc/${pid}/cwd`))
      return settings.includes(`TEST_RUN_FOLDER=${folder}`) || workFolder.startsWith(`${folder}/`)
    })
}

function isPostgres(pid: number): boolean {
  return read(() => readFileSync(`/proc/${pid}/comm`, 'utf8')).trim() === 'postgres'
}

function read(readText: () => string): string {
  try {
    return readText()
  } catch {
    return ''
  }
}
