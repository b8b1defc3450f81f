import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright'
import { run } from '#e2e/runner/run.ts'
import { inheritedEnv } from '#lib/env.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** A Chromium of the machine's, else Debian's where we may install it, else Playwright's own. */
export async function findBrowser(): Promise<string> {
  const found = onPath() ?? (await fromDebian()) ?? (await fromPlaywright())
  if (found) return found
  throw new Error('There is no Chromium: install the package chromium, then run the tests again')
}

function onPath(): string | null {
  const folders = (inheritedEnv().PATH ?? '').split(delimiter)
  const places = folders.flatMap(folder => NAMES.map(name => join(folder, name)))
  return places.find(isExecutable) ?? null
}

async function fromDebian(): Promise<string | null> {
  if (process.getuid?.() !== 0 || !isExecutable('/usr/bin/apt-get')) return null
  process.stdout.write('Installing the package chromium…\n')
  const quietly = { DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update', '-qq'], quietly)
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], quietly)
  return onPath()
}

async function fromPlaywright(): Promise<string | null> {
  if (isExecutable(chromium.executablePath())) return chromium.executablePath()
  await run('playwright', ['install', 'chromium'])
  return isExecutable(chromium.executablePath()) ? chromium.executablePath() : null
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
