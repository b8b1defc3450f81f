import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { inheritedEnv } from '#lib/core/settings.ts'
import { TROCO, type WorkerProcess } from '#lib/testing/worker-process.ts'

/** A busy machine is slow. */
const READY_MAX_MS = 180_000

/** Starts `troco start` and waits until it is ready. The pages must be built. */
export async function startWebProcess(settings: Record<string, string>): Promise<WorkerProcess> {
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

/** With the channel that the bootstrap opens: a server ends when this process does. */
export function spawnTroco(args: string[], settings: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [...TROCO, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...inheritedEnv(), ...settings },
  })
}

export function collectOutput(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', chunk => {
      text += chunk
    })
  }
  return () => text
}
