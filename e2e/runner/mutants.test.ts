import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MUTANTS } from '#e2e/torture/mutants.ts'

const countOf = (text: string, part: string) => text.split(part).length - 1

test('each mutant changes exactly one place, and its test exists', () => {
  const problems = MUTANTS.flatMap(({ bug, file, text, replacement, testFile, testTitle }) => [
    ...(existsSync(file) && countOf(readFileSync(file, 'utf8'), text) === 1
      ? []
      : [`${bug}: ${file} must contain its text exactly once`]),
    ...(text === replacement ? [`${bug}: its replacement changes nothing`] : []),
    ...(existsSync(testFile) && readFileSync(testFile, 'utf8').includes(testTitle)
      ? []
      : [`${bug}: ${testFile} has no test "${testTitle}"`]),
  ])
  expect(problems).toEqual([])
  expect(new Set(MUTANTS.map(({ bug }) => bug)).size).toBe(MUTANTS.length)
})
