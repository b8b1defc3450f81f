import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'

/**
 * Installs the packages of a project of other software into a folder of .cache, where they stay for the next run, and returns
 * its node_modules. Test files that need the same ones wait for each other.
 */
export async function installShop(project: string): Promise<string> {
  const folder = resolve('.cache/shops', basename(project))
  mkdirSync(folder, { recursive: true })
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(project, file), join(folder, file))
  const install = `cmp -s package-lock.json installed.json || {
    rm -f installed.json
    npm ci --ignore-scripts
    cp package-lock.json installed.json
  }`
  await promisify(execFile)('flock', ['lock', 'sh', '-ec', install], {
    cwd: folder,
    maxBuffer: 1 << 26,
  })
  return join(folder, 'node_modules')
}
