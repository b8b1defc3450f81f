import { accessSync, chmodSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { basename, delimiter, join, resolve } from 'node:path'
import { inheritedEnv } from '#lib/base/env.ts'
import { runProgram } from '#lib/testing/run.ts'

/** Packages that every run may install. */
const BROWSERS = ['chromium', 'chromium-headless-shell']

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test is skipped; the end of the run says so. */
    skipReason?: string
  }
}

/** Debian packages, each with the names that its program may have. */
export type Programs = Record<string, string[]>

/**
 * Finds a program on the PATH by any of its names. Where it is missing, installs the Debian package if
 * this run may.
 */
export async function findProgram(debianPackage: string, names: string[]): Promise<string | null> {
  return findOnPath(names) ?? ((await installPackages([debianPackage])) ? findOnPath(names) : null)
}

/** Returns the packages whose programs this run neither finds nor may install. */
export async function findMissing(programs: Programs): Promise<string[]> {
  const missing: string[] = []
  for (const [debianPackage, names] of Object.entries(programs))
    if (!(await findProgram(debianPackage, names))) missing.push(debianPackage)
  return missing
}

/** Options that skip a test or a suite if packages are missing; the end of the run counts its tests. */
export function skipWithout(missing: string[]): SkipOptions {
  const skipReason = `${missing.join(' and ')} missing, which npm run torture installs as root`
  return missing.length > 0 ? { skip: true, meta: { skipReason } } : { skip: false, meta: {} }
}

export interface SkipOptions {
  skip: boolean
  meta: { skipReason?: string }
}

/**
 * Says whether this process may install packages: those other than a browser only in `npm run torture`
 * and `npm run cluster`, which set INSTALL_PACKAGES.
 */
function mayInstall(packages: string[]): boolean {
  const isAllowed =
    process.env.INSTALL_PACKAGES === '1' || packages.every(name => BROWSERS.includes(name))
  return isAllowed && process.getuid?.() === 0 && findOnPath(['apt-get']) !== null
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
  if (!mayInstall(packages)) return false
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

/** Libraries that a program of a newer release finds beside it, before those of the machine. */
const LIBRARIES = 'usr/lib/x86_64-linux-gnu'

/**
 * Unpacks packages of another Debian release into .cache, where nothing is installed, and returns a script
 * that runs their program; null where this process may not or the release is not to be had.
 */
export async function findInRelease(
  release: string,
  packages: string[],
  program: string,
): Promise<string | null> {
  if (!mayInstall(packages) || process.arch !== 'x64') return null
  const folder = resolve('.cache', `debian-${release}`)
  const script = join(folder, basename(program))
  if (isExecutable(script)) return script
  for (const name of ['lists/partial', 'cache/archives/partial', 'packages'])
    mkdirSync(join(folder, name), { recursive: true })
  const unpack = `set -e
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $uri ${release} main" > sources.list
    here=$PWD
    at="-o Dir::Etc::sourcelist=$here/sources.list -o Dir::Etc::sourceparts=-"
    at="$at -o Dir::State::lists=$here/lists -o Dir::Cache=$here/cache"
    apt() { apt-get -qq $at "$@"; }
    apt update
    (cd packages && apt download ${packages.join(' ')})
    for file in packages/*.deb; do dpkg -x "$file" root; done`
  const code = await runProgram('bash', ['-c', `cd '${folder}'; ${unpack}`])
  if (code !== 0) return null
  const libraries = join(folder, 'root', LIBRARIES)
  const loader = `${libraries}/ld-linux-x86-64.so.2 --library-path ${libraries}:/${LIBRARIES}`
  writeFileSync(script, `#!/bin/sh\nexec ${loader} ${join(folder, 'root', program)} "$@"\n`)
  chmodSync(script, 0o755)
  return script
}
