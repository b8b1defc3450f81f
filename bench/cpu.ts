import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

/** Returns the process that all backends of the database belong to. */
export async function findPostmaster(databaseUrl: string): Promise<number> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const parent = parentOf(rows[0]?.pid ?? 0)
  await client.end()
  return parent
}

/** CPU time in µs. */
export interface Cpu {
  server: number
  database: number
}

/** CPU time of a server and of all backends, since they started. Only on Linux; elsewhere NaN. */
export function readCpu(server: ChildProcess, postmaster: number): Cpu {
  if (process.platform !== 'linux') return { server: Number.NaN, database: Number.NaN }
  const backends = readdirSync('/proc').filter(
    name => /^\d+$/.test(name) && parentOf(Number(name)) === postmaster,
  )
  return {
    server: cpuUsOf(String(server.pid)),
    database: backends.reduce((sum, pid) => sum + cpuUsOf(pid), 0),
  }
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readProc(`${pid}/status`))?.[1] ?? 0)
}

function cpuUsOf(pid: string): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce(
      (sum, task) => sum + Number(readProc(`${pid}/task/${task}/schedstat`).split(' ')[0]) / 1_000,
      0,
    )
  } catch {
    return 0
  }
}

/** Empty if the process has ended. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}
