import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { findProgram } from '#lib/testing/debian.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

/** Packages of Debian whose runners find a shop's own tests. */
const RUNNERS: [string, string, string[]][] = [
  [
    'python3-pytest',
    'pytest-3',
    ['-p', 'no:cacheprovider', 'packages/testing/examples/test_shop.py'],
  ],
  ['phpunit', 'phpunit', ['--do-not-cache-result', 'packages/testing/examples/ShopTest.php']],
]

test.each(RUNNERS)(
  "a shop's own tests run on %s, without a network",
  async (name, program, args) => {
    const found = await findProgram(name, [program])
    expect(found).not.toBeNull()
    expect(await findProgram('iproute2', ['ip'])).not.toBeNull()
    const script = 'ip link set lo up && exec "$0" "$@"'
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['-n', 'sh', '-c', script, found ?? '', ...args],
      {
        env: {
          ...process.env,
          NODE: process.execPath,
          PYTHONDONTWRITEBYTECODE: '1',
          // Nobody outside its network reaches the database of a server in it.
          TROCO_TESTING_DATA: makeScratchFolder('troco-testing-'),
        },
      },
    )
    expect(stdout).toMatch(/2 passed|OK \(1 test/)
  },
)
