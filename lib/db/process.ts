import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Identity that changes if a pid is reused (not on Windows); null for a dead or zombie process. */
export function readProcessIdentity(pid: number): string | null {
  if (process.platform === 'linux') {
    const stat = readStat(pid)
    return stat && `${readText('/proc/sys/kernel/random/boot_id').trim()}-${stat.startedAt}`
  }
  if (process.platform === 'win32') return canSignal(pid) ? 'alive' : null
  const [state, ...startTime] = runPs(pid, 'state=', 'lstart=').split(/\s+/)
  return !state || state.startsWith('Z') ? null : startTime.join(' ')
}

/** Returns whether the command line of the process has this argument; always true on Windows. */
export function hasArgument(pid: number, argument: string): boolean {
  if (process.platform === 'linux') {
    return readText(`/proc/${pid}/cmdline`).split('\0').includes(argument)
  }
  return process.platform === 'win32' || runPs(pid, 'command=').includes(argument)
}

/** Lists processes by name and working directory. Linux only; other users' may be hidden. */
export function listProcessesIn(folder: string, name: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      const stat = pid > 0 ? readStat(pid) : null
      return stat?.name === name && readLink(`/proc/${pid}/cwd`) === folder
    })
}

/** Counts the processes attached to a System V segment, as PostgreSQL does at start. */
export function countAttachedProcesses(key: string, id: string): number {
  if (process.platform !== 'linux' || !/^\d+$/.test(key)) return 0
  // The kernel prints the key as a signed number; the id alone is reused after a reboot.
  const signed = `${BigInt.asIntN(32, BigInt(key))}`
  const rows = readText('/proc/sysvipc/shm').split('\n')
  const row = rows
    .map(line => line.trim().split(/\s+/))
    .find(fields => fields[0] === signed && fields[1] === id)
  return Number(row?.[6] ?? 0)
}

function readStat(pid: number) {
  // The name is in parentheses and may itself contain parentheses and spaces.
  const match = /^\d+ \((.*)\) (.*)$/s.exec(readText(`/proc/${pid}/stat`))
  const fields = match?.[2]?.split(' ') ?? []
  if (!match || fields[0] === 'Z' || fields[0] === 'X') return null
  return { name: match[1], startedAt: fields[19] }
}

/** Fixes locale and time zone. One -o per column: BSD reads all text after `=` as a title. */
function runPs(pid: number, ...columns: string[]): string {
  const args = [...columns.flatMap(column => ['-o', column]), '-p', `${pid}`]
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', NODE_ENV: 'production' } as const
  try {
    return execFileSync('ps', args, { encoding: 'utf8', env }).trim()
  } catch {
    return ''
  }
}

function canSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
