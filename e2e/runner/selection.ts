import { globSync } from 'node:fs'
import { TESTS } from '../../vitest.config.ts'

const SPEC_FILES = 'e2e/browser/*.spec.ts'

/** Arguments of `npm test -- …`. */
export interface RunOptions {
  words: string[]
  /** Runs only tests whose titles contain this text. */
  title: string | null
  watch: boolean
  changed: boolean
}

export interface Selection {
  /** Files run by Vitest: unit and API tests. */
  tests: string[]
  /** Files run by Playwright: browser tests. */
  specs: string[]
}

export function parseRunOptions(args: readonly string[]): RunOptions {
  const options: RunOptions = { words: [], title: null, watch: false, changed: false }
  const remaining = args.values()
  for (const arg of remaining) {
    if (arg === '--watch') options.watch = true
    else if (arg === '--changed') options.changed = true
    else if (arg === '-t') options.title = remaining.next().value ?? null
    else if (arg.startsWith('-')) throw new Error(`Unknown option ${arg}: ${USAGE}`)
    else options.words.push(arg)
  }
  if (args.includes('-t') && options.title === null) throw new Error(`-t needs a title: ${USAGE}`)
  return options
}

const USAGE = 'npm test -- [path or words] [-t title] [--changed] [--watch]'

/** Lists every test file of the repository. */
export function listTests(): Selection {
  return { tests: globSync(TESTS).sort(), specs: globSync(SPEC_FILES).sort() }
}

/** Selects the files whose path contains any word; a source file selects the test beside it. */
export function selectByWords(all: Selection, words: readonly string[]): Selection {
  if (words.length === 0) return all
  const stems = words.map(stemOf)
  const hasWord = (file: string) => stems.some(word => file.toLowerCase().includes(word))
  const found = [...all.tests, ...all.specs]
  for (const [index, word] of stems.entries())
    if (!found.some(file => file.toLowerCase().includes(word)))
      throw new Error(`No test file has ${words[index]} in its path`)
  return { tests: all.tests.filter(hasWord), specs: all.specs.filter(hasWord) }
}

function stemOf(word: string): string {
  const path = word.toLowerCase().replace(/^\.\//, '')
  return /\.(test|spec)\.ts$/.test(path) ? path : path.replace(/\.tsx?$/, '.')
}
