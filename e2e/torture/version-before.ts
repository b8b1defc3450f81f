import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inheritedEnv } from '#lib/base/env.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

/** The code of an earlier version, in a folder of its own. */
export interface VersionBefore {
  folder: string
  /** Runs a command of this version and returns what it printed. */
  runTroco: (args: string[], settings: Record<string, string>) => string
  remove: () => void
}

/** Takes the code before a migration from the history of git. Returns null without this history. */
export function openVersionBefore(migration: string): VersionBefore | null {
  const commit = findCommitBefore(migration)
  if (!commit) return null
  const folder = makeScratchFolder('troco-before-')
  const archive = join(folder, 'code.tar')
  const code = join(folder, 'code')
  mkdirSync(code)
  execFileSync('git', ['archive', '--output', archive, commit])
  execFileSync('tar', ['-xf', archive, '-C', code])
  symlinkSync(resolve('node_modules'), join(code, 'node_modules'))
  const runNode = (args: string[], settings: Record<string, string>) =>
    execFileSync(process.execPath, args, {
      cwd: code,
      env: { ...inheritedEnv(), ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
    })
  // As bin/prepare.mjs: any file as the engine prevents a download.
  runNode(['node_modules/prisma/build/index.js', 'generate'], {
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
  })
  return {
    folder: code,
    runTroco: (args, settings) => runNode(['bin/troco.ts', ...args], settings).trim(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function findCommitBefore(migration: string): string | null {
  const path = `prisma/migrations/${migration}/migration.sql`
  const run = (...args: string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const added = run('log', '--diff-filter=A', '--format=%H', '--', path).split('\n').at(-1)
    return added ? run('rev-parse', '--verify', `${added}^`) : null
  } catch {
    return null
  }
}
