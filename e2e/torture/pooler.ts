import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { vi } from 'vitest'
import { pickSize } from '#e2e/torture/figures.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { findInRelease, findProgram } from '#lib/testing/debian.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

/** Installed only by `npm run torture`, and only as root on Debian. */
const isTorture = pickSize(false, true)
const NEWER = ['pgbouncer', 'libevent-2.1-7t64', 'libssl3t64', 'libc6']
export const POOLERS = [
  {
    name: 'PgBouncer of Debian 12',
    program: isTorture ? await findProgram('pgbouncer', ['pgbouncer']) : null,
    hasStatements: false,
  },
  {
    name: 'PgBouncer of Debian 13, which keeps named statements,',
    program: isTorture ? await findInRelease('trixie', NEWER, 'usr/sbin/pgbouncer') : null,
    hasStatements: true,
  },
]

export interface PoolerOfTest {
  directUrl: string
  /** URLs of both roles through the pooler. */
  urls: { url: string; ownerUrl: string }
  stop: () => Promise<void>
}

/** Starts a pooler in transaction mode, through which `db()` connects until it is stopped. */
export async function openPooler(program: string, hasStatements: boolean): Promise<PoolerOfTest> {
  const directUrl = env().DATABASE_URL ?? ''
  const folder = makeScratchFolder('troco-pooler-')
  const port = await findFreePort()
  const pooler = spawn(program, [writeSettings(folder, port, directUrl)], {
    stdio: 'ignore',
    // PgBouncer refuses to run as root.
    ...(process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}),
  })
  const pooledUrls = [directUrl, ownerUrlOf()].map(direct => {
    const url = new URL(direct)
    return Object.assign(url, { port: `${port}`, pathname: `/${url.username}` }).href
  })
  const [url = '', ownerUrl = ''] = pooledUrls
  await vi.waitFor(() => query(url, 'SELECT 1'), { timeout: 10_000 })
  await disconnect()
  supplyEnv({
    DATABASE_URL: url,
    PG_NAMED_STATEMENTS: String(hasStatements),
    DATABASE_DIRECT_URL: directUrl,
  })
  const stop = async () => {
    await disconnect()
    supplyEnv({ DATABASE_URL: directUrl, PG_NAMED_STATEMENTS: 'true', DATABASE_DIRECT_URL: '' })
    const ended = once(pooler, 'exit')
    pooler.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  return { directUrl, urls: { url, ownerUrl }, stop }
}

/** The pooler's own defaults, except for its mode. A database per role, by the name of the role. */
function writeSettings(folder: string, port: number, directUrl: string): string {
  const databases = [directUrl, ownerUrlOf()].map(url => {
    const { hostname, port: serverPort, username, password, pathname } = new URL(url)
    return `${username} = host=${hostname} port=${serverPort} dbname=${pathname.slice(1)} user=${username} password=${password}`
  })
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${databases.join('\n')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
`,
  )
  chmodSync(file, 0o644)
  return file
}
