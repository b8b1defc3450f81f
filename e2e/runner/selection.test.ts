import { describe, expect, test } from 'vitest'
import { listTests, parseRunOptions, selectByWords } from '#e2e/runner/changed.ts'

const ALL = {
  tests: ['e2e/api/withdrawals.test.ts', 'lib/core/money.test.ts', 'lib/tokens/issue.test.ts'],
  specs: ['e2e/browser/tokens.spec.ts', 'e2e/browser/withdrawals.spec.ts'],
}

test('every kind of test is listed', () => {
  const { tests, specs } = listTests()
  expect(tests).toContain('lib/core/money.test.ts')
  expect(tests).toContain('e2e/api/withdrawals.test.ts')
  expect(tests).toContain('e2e/runner/selection.test.ts')
  expect(tests).toContain('bin/start.test.ts')
  expect(specs).toContain('e2e/browser/tokens.spec.ts')
})

describe('selection by words', () => {
  test.each([
    [['lib/core/money'], ['lib/core/money.test.ts']],
    [['./lib/core/money.ts'], ['lib/core/money.test.ts']],
    [['lib/core/money.test.ts'], ['lib/core/money.test.ts']],
    [['TOKENS'], ['lib/tokens/issue.test.ts', 'e2e/browser/tokens.spec.ts']],
    [['e2e/api/withdrawals'], ['e2e/api/withdrawals.test.ts']],
    [
      ['money', 'issue'],
      ['lib/core/money.test.ts', 'lib/tokens/issue.test.ts'],
    ],
  ])('%j selects the files whose path contains any of the words', (words, expected) => {
    const { tests, specs } = selectByWords(ALL, words)
    expect([...tests, ...specs]).toEqual(expected)
  })

  test('a word that matches no file is an error, even beside a word that matches', () => {
    expect(() => selectByWords(ALL, ['money', 'mony'])).toThrow('No test file has mony in its path')
  })

  test('no words select everything', () => {
    expect(selectByWords(ALL, [])).toEqual(ALL)
  })
})

describe('the command line', () => {
  test('accepts words, a title and options in any order', () => {
    expect(parseRunOptions(['money', '-t', 'a title', '--watch', 'tokens', '--changed'])).toEqual({
      words: ['money', 'tokens'],
      title: 'a title',
      watch: true,
      changed: true,
    })
  })

  test.each([[['--wach']], [['-t']]])('%j is an error that shows the usage', args => {
    expect(() => parseRunOptions(args)).toThrow('npm test -- [path or words]')
  })
})
