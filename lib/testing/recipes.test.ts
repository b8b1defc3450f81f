import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const [, ...recipes] = readFileSync('docs/recipes.md', 'utf8').split(/^## /m)
const WORDS: Record<string, number> = {
  Two: 2,
  Three: 3,
  ' and the verb': 1,
  ' and two folders': 2,
}

test.each(recipes.map(text => [text.split('\n', 1)[0] ?? '', text]))(
  'the recipe "%s" counts what it lists, and names files that exist',
  (title, text) => {
    const [, files, more = ''] = /: (\d) files?(.*)$/.exec(title) ?? []
    const items = text.split(/^\d+\. /m).slice(1)
    const counts = items.map(item => WORDS[/(Two|Three) files/.exec(item)?.[1] ?? ''] ?? 1)
    const listed = counts.reduce((sum, count) => sum + count, 0) || 1
    expect(listed).toBe(Number(files) + (WORDS[more] ?? 0))
    expect(Number(files)).toBeLessThanOrEqual(8)
    const paths = [...text.matchAll(/`(\w[\w-]*\/[^\s`<{*]*\.\w+)`/g)]
    expect(paths.map(([, path = '']) => path).filter(path => !existsSync(path))).toEqual([])
  },
)
