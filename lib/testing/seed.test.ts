import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { chooseSeed } from '#lib/testing/seed.ts'

const originalSeed = process.env.TEST_SEED
afterEach(() => {
  process.env.TEST_SEED = originalSeed
})

/** Files that may make random choices without the seed, each with its reason. */
const EXCEPTIONS: Record<string, string> = {
  'lib/testing/property.ts': 'gives fast-check the seed',
  'lib/testing/seed.test.ts': 'names what it looks for',
  'lib/testing/server.ts': 'two runs of one seed need different ports',
}

test('random choices of tests follow the seed', () => {
  const args = ['ls-files', '-co', '--exclude-standard', '*.ts']
  const files = execFileSync('git', args, { encoding: 'utf8' })
    .split('\n')
    .filter(file => /^(e2e|lib\/testing)\/|\.test\.ts$/.test(file) && !(file in EXCEPTIONS))
  const unseeded = /Math\.random\(|randomInt\(|from 'fast-check'/
  const sourceOfSeeds = 'lib/testing/seed.ts'
  expect(files).toContain(sourceOfSeeds)
  expect(files.filter(file => unseeded.test(readFileSync(file, 'utf8')))).toEqual([sourceOfSeeds])
})

test('a seed is chosen once and inherited by child processes', () => {
  process.env.TEST_SEED = ''
  const seed = chooseSeed()
  expect([chooseSeed(), process.env.TEST_SEED]).toEqual([seed, String(seed)])
})

test.each(['seven', '0.5', '-1'])('the seed %s, which is not a whole number, is refused', seed => {
  process.env.TEST_SEED = seed
  expect(chooseSeed).toThrow('TEST_SEED must be a whole number')
})
