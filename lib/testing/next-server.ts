import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '#lib/testing/server.ts'

/** Development compiles each route at its first request. */
const START_MAX_MS = 120_000

/** Starts the product in development, where Next serves the API, for the API tests of this run. */
export default async function startNextServer(): Promise<() => Promise<void>> {
  const port = await findFreePort()
  const settings = {
    PORT: String(port),
    WORKER: 'false',
    // Receivers of the tests listen on this machine, which production refuses.
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  }
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'bin/troco.ts', 'dev'],
    {
      // The open IPC channel lets the server notice if this process is killed.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, ...settings, TROCO_ENV: 'production', NODE_ENV: 'development' },
    },
  )
  const ended = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  await waitUntilListening(url, child)
  process.env.E2E_API_URL = url
  return async () => {
    child.kill('SIGTERM')
    await ended
  }
}

async function waitUntilListening(url: string, child: ChildProcess): Promise<void> {
  for (const began = Date.now(); Date.now() - began < START_MAX_MS; ) {
    if (child.exitCode !== null) break
    const response = await fetch(`${url}/healthz`).catch(() => null)
    if (response?.ok) return
    await sleep(100)
  }
  child.kill('SIGKILL')
  throw new Error('The server did not come up: what it said stands above')
}
