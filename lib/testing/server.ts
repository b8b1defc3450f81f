import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inheritedEnv } from '#lib/core/settings.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { pickSize } from '#lib/testing/size.ts'

const START_MAX_MS = 60_000
/** For DATABASE_TIMEOUT_MS. */
export const PATIENCE_MS = '110000'

/**
 * Turns rate limits and Redis off, and lets statements take long, since other tests run beside; tests of limits set
 * their own values. `npm run torture` runs one file at a time, with the product's limit of statements.
 */
export const WITHOUT_LIMITS = {
  DATABASE_TIMEOUT_MS: pickSize(PATIENCE_MS, '5000'),
  REDIS_URL: '',
  RATE_TOKEN_PER_SECOND: '0',
  RATE_IP_PER_SECOND: '0',
  RATE_TOKEN_IN_FLIGHT: '0',
  RATE_IP_IN_FLIGHT: '0',
  TEST_BYTES_PER_DAY: '0',
  RATE_FAILED_BEARERS_PER_MINUTE: '0',
}

/** Runs work against a server in its own process, with its own data folder and demo data. */
export async function withServer<T>(
  logFile: string,
  work: (settings: Record<string, string>) => Promise<T>,
): Promise<T> {
  const folder = makeScratchFolder('troco-e2e-')
  const port = await findFreePort()
  const settings = {
    PORT: String(port),
    TROCO_DATA: folder,
    TROCO_ENV: 'local',
    LOG_FILE: logFile,
    LOG_LEVEL: 'debug',
    ...WITHOUT_LIMITS,
  }
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'bin/troco.ts', 'start'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...inheritedEnv(),
        ...settings,
        DATABASE_URL: '',
        DATABASE_OWNER_URL: '',
        NODE_ENV: 'production',
      },
    },
  )
  const ended = once(child, 'exit')
  try {
    await waitUntilReady(`http://localhost:${port}/readyz`, child)
    const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))
    return await work({
      E2E_BASE_URL: `http://localhost:${port}`,
      E2E_DEMO_EMAIL: demo.merchant.email,
      E2E_DEMO_PASSWORD: demo.merchant.password,
      E2E_ADMIN_EMAIL: demo.admin.email,
      E2E_ADMIN_PASSWORD: demo.admin.password,
      E2E_TOKEN: demo.token,
      E2E_TROCO_DATA: folder,
      E2E_LOG: logFile,
    })
  } finally {
    child.kill('SIGTERM')
    await ended
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true })
  }
}

const PORTS = 12_000
const PORTS_PER_PROCESS = 12
let found = 0

/**
 * Returns a free port below the ephemeral range, so that the kernel assigns it to no other process.
 * Each process begins elsewhere, so that a server that is started again finds its port free.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + ((process.pid * PORTS_PER_PROCESS + found++) % PORTS)
    const probe = createServer().listen(port, '127.0.0.1')
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    )
    probe.close()
    if (isFree) return port
  }
}

async function waitUntilReady(address: string, child: ChildProcess): Promise<void> {
  for (const began = Date.now(); Date.now() - began < START_MAX_MS; ) {
    if (child.exitCode !== null) break
    const response = await fetch(address).catch(() => null)
    if (response?.ok) return
    await sleep(100)
  }
  throw new Error('The server did not come up: what it said stands above')
}
