import { chromium } from 'playwright'
import { findProgram, isExecutable } from '#lib/testing/debian.ts'
import { runProgram } from '#lib/testing/run.ts'

/** Debian's package of Chromium without windows, which takes a third less CPU time in the tests. */
const HEADLESS = 'chromium-headless-shell'
const OTHERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Finds or installs Chromium without windows; otherwise any other one, or Playwright's download. */
export async function findBrowser(): Promise<string> {
  const executable =
    (await findProgram(HEADLESS, [HEADLESS])) ??
    (await findProgram('chromium', OTHERS)) ??
    (await installFromPlaywright())
  if (executable) return executable
  throw new Error('There is no Chromium: install the package chromium, then run the tests again')
}

async function installFromPlaywright(): Promise<string | null> {
  if (isExecutable(chromium.executablePath())) return chromium.executablePath()
  await runProgram('playwright', ['install', 'chromium'])
  return isExecutable(chromium.executablePath()) ? chromium.executablePath() : null
}
