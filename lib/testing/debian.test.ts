import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { findMissing, findProgram, skipWithout } from '#lib/testing/debian.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

const folder = makeScratchFolder('troco-apt-')
const CALLS = join(folder, 'calls')

function addProgram(name: string, command: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${command}\n`)
  chmodSync(join(folder, name), 0o755)
}

/** Returns the packages that apt-get was asked to install. */
function readInstalled(): string[] {
  const calls = existsSync(CALLS) ? readFileSync(CALLS, 'utf8') : ''
  return [...calls.matchAll(/^install .* (\S+) -qq$/gm)].map(([, name = '']) => name)
}

beforeEach(() => {
  writeFileSync(CALLS, '')
  addProgram('apt-get', `echo "$@" >> '${CALLS}'`)
  vi.stubEnv('PATH', [folder, process.env.PATH].join(delimiter))
  return () => vi.unstubAllEnvs()
})

const findNone = (debianPackage: string) => findProgram(debianPackage, ['no-such-program'])

describe('an ordinary run', () => {
  beforeEach(() => vi.stubEnv('INSTALL_PACKAGES', ''))

  test('installs no package but a browser, and never calls apt-get for others', async () => {
    expect(await findNone('zbar-tools')).toBeNull()
    expect(readFileSync(CALLS, 'utf8')).toBe('')
    await findNone('chromium')
    expect(readInstalled()).toEqual(process.getuid?.() === 0 ? ['chromium'] : [])
  })

  test('skips tests whose programs are missing, with a reason, and uses those of the machine', async () => {
    addProgram('troco-found', 'true')
    const found = { 'found-package': ['troco-found'] }
    expect(skipWithout(await findMissing(found))).toEqual({ skip: false, meta: {} })
    const missing = await findMissing({ ...found, 'zbar-tools': ['no-such-program'] })
    expect(skipWithout(missing)).toEqual({
      skip: true,
      meta: { skipReason: 'zbar-tools missing, which npm run torture installs as root' },
    })
  })
})

test.runIf(process.getuid?.() === 0)(
  'a run of torture installs what is missing, and finds it then',
  async () => {
    vi.stubEnv('INSTALL_PACKAGES', '1')
    addProgram('apt-get', `echo "$@" >> '${CALLS}'; cp "$0" '${join(folder, 'troco-new')}'`)
    expect(await findProgram('some-package', ['troco-new'])).toBe(join(folder, 'troco-new'))
    expect(readInstalled()).toEqual(['some-package'])
  },
)
