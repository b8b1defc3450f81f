import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DIFFERENCE_KINDS } from '#lib/differences/differences.ts'

test('docs/operating.md says what to do about each kind of difference', () => {
  const [, rows = ''] = readFileSync('docs/operating.md', 'utf8').split(
    '| Kind | What happened | What to do |\n|---|---|---|\n',
  )
  const [table = ''] = rows.split('\n\n')
  const kinds = [...table.matchAll(/^\| `(\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, kind]) => kind)
  expect(kinds.toSorted()).toEqual([...DIFFERENCE_KINDS].toSorted())
})
