import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { findProgram } from '#lib/testing/debian.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

const EXAMPLES = 'packages/testing/examples'

/** Runs a program in a network of its own, which leads nowhere. */
async function runWithoutNetwork(program: string, args: string[]): Promise<string> {
  expect(await findProgram('iproute2', ['ip'])).not.toBeNull()
  const script = 'ip link set lo up && exec "$0" "$@"'
  const { stdout } = await promisify(execFile)(
    'unshare',
    ['-n', 'sh', '-c', script, program, ...args],
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
  return stdout
}

/** Packages of Debian whose runners find a shop's own tests. */
const RUNNERS: [string, string, string[]][] = [
  ['python3-pytest', 'pytest-3', ['-p', 'no:cacheprovider', `${EXAMPLES}/test_shop.py`]],
  ['phpunit', 'phpunit', ['--do-not-cache-result', `${EXAMPLES}/ShopTest.php`]],
]

test.each(RUNNERS)(
  "a shop's own tests run on %s, without a network",
  async (name, program, args) => {
    const found = await findProgram(name, [program])
    expect(found).not.toBeNull()
    expect(await runWithoutNetwork(found ?? '', args)).toMatch(/2 passed|OK \(1 test/)
  },
)

test("a shop's own tests run on Vitest, without a network", async () => {
  // Below the repository, where `vitest` is found.
  const folder = resolve('.cache/shop-on-vitest')
  mkdirSync(folder, { recursive: true })
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const example = readFileSync(`${EXAMPLES}/shop.test.mjs`, 'utf8')
  const imports = "import { after, before, test } from 'node:test'"
  expect(example).toContain(imports)
  writeFileSync(
    `${folder}/shop.test.mjs`,
    example
      .replace(imports, "import { afterAll as after, beforeAll as before, test } from 'vitest'")
      .replace("'../index.cjs'", JSON.stringify(resolve('packages/testing/index.cjs'))),
  )
  const limits = ['--testTimeout=60000', '--hookTimeout=60000']
  const args = ['node_modules/vitest/vitest.mjs', 'run', `--root=${folder}`, ...limits]
  expect(await runWithoutNetwork(process.execPath, args)).toMatch(/Tests .*3 passed/)
})
