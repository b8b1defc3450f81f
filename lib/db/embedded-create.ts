import { spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setupError } from '#lib/core/errors.ts'
import type { DataDirectory } from './embedded-location.ts'
import { syncFolder } from './embedded-roles.ts'
import { plainEnv } from './embedded-server.ts'

/** Runs initdb in a temporary folder, then renames it: a data directory is never half created. */
export async function createData(
  directory: DataDirectory,
  bin: string,
  password: string,
): Promise<void> {
  const { location, user } = directory
  const stagingFolder = mkdtempSync(stagingPrefix(location))
  const passwordFile = `${stagingFolder}.password`
  try {
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (user) for (const path of [stagingFolder, passwordFile]) chownSync(path, user.uid, user.gid)
    await runInitdb(directory, bin, stagingFolder, passwordFile)
    if (existsSync(location)) rmdirSync(location)
    renameSync(stagingFolder, location)
    syncFolder(dirname(location))
  } finally {
    for (const path of [passwordFile, stagingFolder]) rmSync(path, { recursive: true, force: true })
  }
}

async function runInitdb(
  { user }: DataDirectory,
  bin: string,
  stagingFolder: string,
  passwordFile: string,
) {
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  const child = spawn(
    join(bin, 'initdb'),
    ['-D', stagingFolder, '--encoding=UTF8', ...locale, ...access, '--no-instructions'],
    { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], env: plainEnv(), ...user },
  )
  let errorOutput = ''
  child.stderr.on('data', chunk => {
    errorOutput += chunk
  })
  const reason = await new Promise<string | null>(resolve => {
    child.on('error', error => resolve(error.message))
    child.on('close', code => resolve(code === 0 ? null : errorOutput.trim().replaceAll('\n', ' ')))
  })
  if (reason !== null)
    throw setupError(`The database could not be created: initdb reported: ${reason}`)
}

/** Removes the files of an interrupted creation, including its password file. */
export function removeLeftovers(location: string): void {
  const prefix = stagingPrefix(location)
  for (const name of readdirSync(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue
    try {
      rmSync(join(dirname(prefix), name), { recursive: true, force: true })
    } catch {
      // An initdb that outlived its parent still writes to this folder; a later start removes it.
    }
  }
}

function stagingPrefix(location: string): string {
  return `${location}.new-`
}
