import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** `startLog` has the output before PostgreSQL's own log files. */
export function findLastFatalLine(location: string, startLog: string): string {
  const [collected = '', early = ''] = logFiles(location, startLog).map(readText)
  const sinceStart = collected.slice(collected.lastIndexOf('starting PostgreSQL'))
  const lines = `${sinceStart}\n${early}`.split('\n').filter(line => line.trim() !== '')
  const fatalLine = lines.findLast(line => /\b(FATAL|PANIC):/.test(line)) ?? lines.at(-1)
  return fatalLine?.replace(/^.*?(?=FATAL|PANIC)/, '').trim() ?? 'no output'
}

export function logSize(location: string, startLog: string): number {
  return logFiles(location, startLog).reduce((sum, path) => sum + sizeOf(path), 0)
}

function logFiles(location: string, startLog: string): [string, string] {
  const folder = join(location, 'log')
  const names = existsSync(folder) ? readdirSync(folder) : []
  const times = names.map(name => ({
    path: join(folder, name),
    at: modifiedAt(join(folder, name)),
  }))
  const newest = times.sort((a, b) => b.at - a.at)[0]
  return [newest?.path ?? '', startLog]
}

function readText(path: string): string {
  return path !== '' && existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function sizeOf(path: string): number {
  return (path !== '' && statSync(path, { throwIfNoEntry: false })?.size) || 0
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
