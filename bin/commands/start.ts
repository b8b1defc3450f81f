import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { flushCompileCache } from 'node:module'
import { createServer as createProbe } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import next from 'next'
import {
  drainMs,
  openServerRuntime,
  type Runtime,
  waitForStop,
  writePrivate,
} from '#bin/runtime.ts'
import { refuse, setupError } from '#lib/core/errors.ts'
import { log, redirectConsole, setLogRole } from '#lib/core/log.ts'
import { startSpanExport } from '#lib/core/otlp.ts'
import { env, inheritedEnv, loadEnvFile } from '#lib/core/settings.ts'
import { watchClock } from '#lib/db/clock.ts'
import { withClient, withoutLimits } from '#lib/db/server.ts'
import { startListening } from '#lib/db/wake.ts'
import { createFront, drain } from '#lib/http/front.ts'
import { startMetrics } from '#lib/http/metrics.ts'
import { startStoringCounts } from '#lib/http/request-counts.ts'
import { startStoringRequests } from '#lib/http/request-log.ts'
import { authenticateToken } from '#lib/tokens/authenticate.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import type { Worker } from '#lib/worker/worker.ts'
import { createDemoData, DEMO_ADMIN, DEMO_MERCHANT } from '#prisma/seed.ts'

const PORT_WAIT_MS = 3_000

export function start(): Promise<void> {
  return serve(false)
}

export function startDevelopment(): Promise<void> {
  return serve(true)
}

async function serve(isDevelopment: boolean): Promise<void> {
  setLogRole('web')
  const stopRequested = waitForStop()
  loadEnvFile('.env')
  const { PORT, HOST, WORKER } = env()
  const buildFolder = inheritedEnv().TROCO_BUILD
  await requireFreePort(PORT, HOST)
  const runtime = await openServerRuntime(stopRequested)
  let worker: Worker | null = null
  let stopListening: (() => Promise<void>) | null = null
  try {
    if (!isDevelopment) redirectConsole()
    const stopMetrics = await startMetrics()
    const exportLastSpans = startSpanExport('web')
    stopListening = startListening()
    const demo = await openDemoIfLocal(runtime)
    const pages = next({ dev: isDevelopment, hostname: HOST, port: PORT })
    await pages.prepare()
    const front = await createFront(pages.getRequestHandler(), {
      isDevelopment,
      buildFolder,
    })
    // Now, because a killed process leaves nothing, and the next one would load the compiler of TypeScript: 13 MB.
    flushCompileCache()
    await listen(front, PORT, HOST)
    const storeLastCounts = startStoringCounts()
    const storeLastRequests = startStoringRequests()
    if (WORKER) worker = (await import('#lib/worker/worker.ts')).startWorker()
    const clock = watchClock({ serves: true })
    log().info({ port: PORT, worker: WORKER }, 'server listening')
    printWelcome(demo)
    const cause = await stopRequested
    const interrupted = once(process, 'SIGINT')
    const noticed = Promise.race([sleep(drainMs(cause)), interrupted])
    await Promise.all([drain(front, noticed), worker?.stop()])
    stopMetrics()
    await Promise.all([storeLastCounts(), storeLastRequests(), clock.stop(), exportLastSpans()])
    worker = null
    await pages.close()
  } finally {
    await worker?.stop()
    await stopListening?.()
    await runtime.close()
  }
  process.exit(0)
}

function openDemoIfLocal(runtime: Runtime): Promise<Demo> | null {
  return env().TROCO_ENV === 'local' && runtime.folder ? openDemo(runtime.folder) : null
}

/** Called before the database starts: a second `npm start` fails early. Waits for a shutdown. */
async function requireFreePort(port: number, host: string): Promise<void> {
  const deadline = Date.now() + PORT_WAIT_MS
  for (;;) {
    const error = await probePort(port, host)
    if (error === null) return
    if (error.code !== 'EADDRINUSE' || Date.now() > deadline) failToListen(error, port, host)
    await sleep(100)
  }
}

async function probePort(port: number, host: string): Promise<NodeJS.ErrnoException | null> {
  const probe = createProbe()
  probe.listen(port, host)
  const error = await once(probe, 'listening').then(
    () => null,
    (fault: NodeJS.ErrnoException) => fault,
  )
  if (error === null) await new Promise(resolve => probe.close(resolve))
  return error
}

async function listen(front: Server, port: number, host: string): Promise<void> {
  front.listen(port, host)
  await once(front, 'listening').catch(error => failToListen(error, port, host))
}

function failToListen(error: NodeJS.ErrnoException, port: number, host: string): never {
  const reasons: Record<string, string> = {
    EADDRINUSE: `Port ${port} is already in use: stop the other program, or choose another port: PORT=${port + 1} npm start`,
    EACCES: `Port ${port} requires privileges: choose a port above 1023: PORT=3000 npm start`,
    EADDRNOTAVAIL: `HOST ${host} is not an address of this machine: set HOST to 127.0.0.1 or another local address`,
  }
  const reason =
    reasons[error.code ?? ''] ?? `Listening on HOST ${host}, PORT ${port} failed (${error.code})`
  throw setupError(reason)
}

function printWelcome(demo: Demo | null): void {
  const { PUBLIC_URL, HOST, TROCO_ENV } = env()
  const lines = ['', `Troco is running at ${PUBLIC_URL}`]
  if (TROCO_ENV === 'local' && !/^(127\.|localhost$|::1$)/.test(HOST)) {
    lines.push(
      `Warning: HOST=${HOST} exposes this server to your network, with demo passwords and without https.`,
    )
  }
  if (demo) lines.push(...describeDemo(demo))
  process.stdout.write(`${lines.join('\n')}\n\n`)
}

function describeDemo(demo: Demo): string[] {
  const body = {
    amount: 1500,
    client_name: 'Ana Beatriz Rocha',
    client_email: 'ana@example.com',
    client_doc: '529.982.247-25',
  }
  return [
    '',
    'Create a charge:',
    '',
    `  curl ${demo.base_url}/transactions \\`,
    `    -H 'Authorization: Bearer ${demo.token}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${JSON.stringify(body)}'`,
    '',
    'Press Ctrl-C to stop.',
    '',
    ...describeLogins(demo),
  ]
}

function describeLogins(demo: Demo): string[] {
  return [
    'Sign in (`npm run -s troco -- demo` repeats this):',
    '',
    `  merchant  ${demo.merchant.email}  ${demo.merchant.password}`,
    `  admin     ${demo.admin.email}  ${demo.admin.password}`,
    `  token     ${demo.token}`,
  ]
}

/** Prints the logins of the demo data once more. */
export async function printDemo(): Promise<void> {
  loadEnvFile('.env')
  const file = join(env().TROCO_DATA, 'demo.json')
  if (!existsSync(file))
    throw refuse('invalid_input', {
      message: 'there is no demo data: a local start without DATABASE_URL creates it',
    })
  const demo: Demo = JSON.parse(readFileSync(file, 'utf8'))
  process.stdout.write(`${describeLogins(demo).slice(2).join('\n')}\n`)
}

/** Advisory lock id: servers that start at once on one database create the demo data once. */
const LOCK_ID = 72_707_370

export interface Demo {
  base_url: string
  merchant: { email: string; password: string }
  admin: { email: string; password: string }
  token: string
}

/** Creates the demo data once and stores its credentials in demo.json of the data folder. */
export async function openDemo(folder: string): Promise<Demo> {
  const { DATABASE_URL = '', DEMO_PASSWORD = '', PUBLIC_URL } = env()
  // A transaction, so that the lock ends with it behind a pooler. Another process may hold it for long.
  return withClient(DATABASE_URL, 'DATABASE_URL', lock =>
    withoutLimits(lock, async () => {
      await lock.query('SELECT pg_advisory_xact_lock($1)', [LOCK_ID])
      const account = await createDemoData(DEMO_PASSWORD)
      const file = join(folder, 'demo.json')
      const demo: Demo = {
        base_url: `${PUBLIC_URL}/api`,
        merchant: { email: DEMO_MERCHANT, password: DEMO_PASSWORD },
        admin: { email: DEMO_ADMIN, password: DEMO_PASSWORD },
        token: (await findWorkingToken(file, account.id)) ?? (await issueDemoToken(account.id)),
      }
      writePrivate(file, demo)
      return demo
    }),
  )
}

async function findWorkingToken(file: string, accountId: string): Promise<string | null> {
  if (!existsSync(file)) return null
  const token = readToken(file)
  const caller = token ? await authenticateToken(token) : null
  return caller?.account.id === accountId && caller.mode === 'test' ? token : null
}

/** Returns the stored token; null if the file is damaged. It is then rewritten with a new token. */
function readToken(file: string): string | null {
  try {
    const { token } = JSON.parse(readFileSync(file, 'utf8'))
    return typeof token === 'string' ? token : null
  } catch {
    return null
  }
}

async function issueDemoToken(accountId: string): Promise<string> {
  const tokenOptions = {
    accountId,
    mode: 'test' as const,
    name: 'Demo',
    permissions: [...PERMISSIONS],
  }
  const { token } = await issueToken(tokenOptions, { type: 'system' })
  return token
}
