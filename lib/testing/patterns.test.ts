import { globSync } from 'node:fs'
import { isRegularExpressionLiteral, type Node } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { expect, test } from 'vitest'
import { hostileTexts } from '#lib/testing/hostile-texts.ts'
import { measureCpuMs } from '#lib/testing/timing.ts'
import { testInTorture } from '#lib/testing/torture.ts'

/** A linear pattern takes less than 1 ms for a text of this length, a quadratic one 50 ms or more. */
const LENGTH = 16_000
const CPU_MS_MAX = 20
const RUNS = 3

/** Patterns above linear growth, with why no caller can have them run on a long text of its choice. */
const NOT_FOR_CALLERS: Record<string, string> = {
  '/\\s*\\n\\s*/g': 'paragraphs of the documentation in this repository',
  '/<[^>]*>/g': 'pages of the documentation in this repository',
  '/"(?:\\\\.|[^"\\\\])*"/g': 'at most 8 KiB that are valid JSON, whose strings all end',
}

const literals = collectLiterals()

/** Regular expressions of the product, with a file that has it. */
function collectLiterals(): Map<string, string> {
  const found = new Map<string, string>()
  const api = new API()
  const config = `${process.cwd()}/tsconfig.json`
  const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
  const files = globSync('{lib,app,components,bin}/**/*.{ts,tsx}').filter(
    file => !/\.test\.ts$|^lib\/testing\//.test(file),
  )
  for (const file of files) {
    const visit = (node: Node): void => {
      if (isRegularExpressionLiteral(node)) found.set(node.text, file)
      node.forEachChild(visit)
    }
    const source = project?.program.getSourceFile(`${process.cwd()}/${file}`)
    if (source) visit(source)
  }
  api.close()
  return found
}

function parseLiteral(literal: string): RegExp {
  const end = literal.lastIndexOf('/')
  return new RegExp(literal.slice(1, end), literal.slice(end + 1))
}

/** Returns a text on which the pattern is slow; null if there is none. */
async function findSlowText(pattern: RegExp): Promise<string | null> {
  const run = (text: string) => (pattern.global ? text.replace(pattern, '') : pattern.test(text))
  for (const text of hostileTexts(pattern.source, LENGTH)) {
    let least = Infinity
    for (let nth = 0; nth < RUNS && least > CPU_MS_MAX; nth++)
      least = Math.min(least, await measureCpuMs(() => run(text)))
    if (least > CPU_MS_MAX) return text
  }
  return null
}

test('no regular expression of the product takes more than linear time for any text', async () => {
  expect(literals.size).toBeGreaterThan(200)
  const slow: string[] = []
  for (const [literal, file] of literals) {
    if (literal in NOT_FOR_CALLERS) continue
    const text = await findSlowText(parseLiteral(literal))
    if (text !== null) slow.push(`${literal} in ${file}: ${JSON.stringify(text.slice(0, 40))}`)
  }
  expect(slow).toEqual([])
})

testInTorture.each([
  /[^\s"']*@[^\s"']*|\d(?:[ .()/-]*\d){7,}/g,
  /\/+$/,
  /^[ \t]+|[ \t]+$/g,
  /^\s*return\s*=\s*"?([^"\s]*)"?\s*$/i,
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
  /alert ([a-z ]+):/,
  /\bVersion\/[\d.]+.* Safari\//,
  /\s*\n\s*/g,
  /<(.+)>; rel="help"/,
])('a quadratic pattern is found: %s', async pattern => {
  expect(await findSlowText(pattern)).not.toBeNull()
})

test('the list of exceptions has no pattern that is gone', () => {
  expect(Object.keys(NOT_FOR_CALLERS).filter(literal => !literals.has(literal))).toEqual([])
})
