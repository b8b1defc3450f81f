import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOGS } from '#e2e/cluster/processes.ts'
import { POSTGRES_BIN } from '#e2e/cluster/settings.ts'
import { inheritedEnv } from '#lib/core/settings.ts'
import { findProgram, installPackages, isExecutable } from '#lib/testing/debian.ts'
import { runProgram } from '#lib/testing/run.ts'

/**
 * `npm run cluster`: plays faults on an installation of two web servers, two workers, PgBouncer, HAProxy,
 * Redis and PostgreSQL under Patroni, and prints what each did; then tries what an operator does.
 * `-- --rounds 10`: deaths of the primary; `-- --only <words>`: faults alone, whose names contain one
 * of these, separated by commas.
 */
const PACKAGES = {
  iproute2: 'ip',
  'util-linux': 'unshare',
  haproxy: 'haproxy',
  pgbouncer: 'pgbouncer',
  'redis-server': 'redis-server',
  'etcd-server': 'etcd',
  'dnsmasq-base': 'dnsmasq',
  patroni: 'patroni',
}

/** Poolers, restores, rolls, upgrades and packages, each with its own processes. */
const OPERATIONS = [
  'pooler',
  'pooler-processes',
  'pooler-queue',
  'pgbackrest',
  'standby',
  'clock',
  'roll',
  'caddy',
  'upgrade',
  'metrics',
  'systemd',
  'container',
].map(name => `e2e/torture/${name}.test.ts`)

const isPart = process.argv.includes('--only')
const code = await runCluster()
const operationsCode = code !== 0 || isPart ? code : await tryOperations()
// The channel to the bootstrap, which "disconnect" keeps open, would keep this process.
process.exit(operationsCode)

function tryOperations(): Promise<number> {
  return runProgram(process.execPath, ['bin/bootstrap.mjs', 'torture', ...OPERATIONS], {})
}

async function runCluster(): Promise<number> {
  const missing = await findMissing()
  if (missing !== null) {
    process.stderr.write(`${missing}\n`)
    return 1
  }
  rmSync(LOGS, { recursive: true, force: true })
  mkdirSync(LOGS, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'troco-cluster-'))
  try {
    return await runInNamespaces(['--folder', folder, ...process.argv.slice(3)], folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns what the run lacks and cannot install itself, in one sentence. */
async function findMissing(): Promise<string | null> {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0
  if (!isRoot)
    return 'npm run cluster must be root on Linux: it makes namespaces, in which all of it stays'
  for (const [debianPackage, program] of Object.entries(PACKAGES)) {
    if (await findProgram(debianPackage, [program])) continue
    return `npm run cluster needs ${program} (Debian: ${debianPackage})`
  }
  if (!isExecutable(`${POSTGRES_BIN}/postgres`)) await installPackages(['postgresql-15'])
  if (isExecutable(`${POSTGRES_BIN}/postgres`)) return null
  return `npm run cluster needs PostgreSQL 15 in ${POSTGRES_BIN} (Debian: postgresql-15)`
}

/**
 * Namespaces of the network, of mounts and of processes: whatever happens to this process, the kernel
 * ends all that was started inside and removes interfaces and mounts. The shell reaps orphans.
 */
async function runInNamespaces(args: string[], folder: string): Promise<number> {
  const mount = `mount -t tmpfs -o mode=755 tmpfs ${folder}`
  const script = `${mount} && { "$@" & wait $!; }`
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', 'e2e/cluster/inside.ts']
  const child = spawn(
    'unshare',
    [
      '--net',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'sh',
      '-c',
      script,
      'sh',
      ...node,
      ...args,
    ],
    { stdio: 'inherit', env: inheritedEnv(), detached: true },
  )
  const ended = once(child, 'exit')
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const)
    process.on(signal, () => child.kill('SIGKILL'))
  const [code] = await ended
  return code ?? 1
}
