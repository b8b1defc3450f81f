import { accessSync, chmodSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { basename, delimiter, join, resolve } from 'node:path'
import { inheritedEnv } from '#lib/core/settings.ts'
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
  if (process.getuid?.() !== 0 || process.arch !== 'x64' || !isExecutable('/usr/bin/apt-get'))
    return null
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
