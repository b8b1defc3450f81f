import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { inheritedEnv } from '#lib/base/env.ts'
import { runProgram } from '#lib/testing/run.ts'

/** Finds a program on the PATH by any of its names, or installs the Debian package as root. */
export async function findProgram(debianPackage: string, names: string[]): Promise<string | null> {
  return findOnPath(names) ?? ((await installPackages([debianPackage])) ? findOnPath(names) : null)
}

function findOnPath(names: string[]): string | null {
  const folders = (inheritedEnv().PATH ?? '').split(delimiter)
  const paths = folders.flatMap(folder => names.map(name => join(folder, name)))
  return paths.find(isExecutable) ?? null
}

/**
 * Installs Debian packages, if this process may; returns whether it succeeded. One process after the
 * other: apt-get fails while another one runs.
 */
export async function installPackages(packages: string[]): Promise<boolean> {
  if (process.getuid?.() !== 0 || !isExecutable('/usr/bin/apt-get')) return false
  process.stdout.write(`Installing ${packages.join(' ')}…\n`)
  const quietly = { DEBIAN_FRONTEND: 'noninteractive' }
  const runApt = (...args: string[]) =>
    runProgram('flock', ['.cache/apt.lock', 'apt-get', ...args, '-qq'], quietly)
  await runApt('update')
  return (await runApt('install', '-y', '--no-install-recommends', ...packages)) === 0
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
