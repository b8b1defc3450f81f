import { vi } from 'vitest'
import { pool } from '#lib/base/db/client.ts'

/** Returns the text of each statement that `work` sends, without notifications. */
export async function recordStatements(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(pool(), 'query')
  try {
    await work()
    const sent = query.mock.calls.map(([given]) => (given as unknown as { text: string }).text)
    return sent.filter(text => !text.includes('pg_notify'))
  } finally {
    query.mockRestore()
  }
}

const WIDTH = 100
const QUOTED_OR_SPACE = /('(?:[^']|'')*')|\s+/g
const TOKEN = /'(?:[^']|'')*'|[()]|[^\s()']+|\s+/g
const CLAUSE =
  /^(?:WITH|SELECT|FROM|(?:LEFT )?JOIN|WHERE|GROUP BY|ORDER BY|WINDOW|FOR UPDATE|INSERT INTO|VALUES|UPDATE|DELETE FROM|SET|RETURNING|UNION ALL)\b/
/** Break points of a long line: after a comma or before a keyword. */
const BREAK = /(?<=,) | (?=(?:AND|OR|WHEN|ELSE|FROM|END) )/g

/** Formats one clause per line, CTEs indented; subqueries in parentheses stay on one line. */
export function formatStatement(text: string): string {
  const flat = text
    .replace(QUOTED_OR_SPACE, (_, quoted) => quoted ?? ' ')
    .replace(/(?<=\() | (?=\))/g, '')
  const lines = ['']
  const open: boolean[] = []
  for (const { 0: token, index } of flat.matchAll(TOKEN)) {
    const rest = flat.slice(index)
    const before = lines.at(-1) ?? ''
    const isInCtes = open.every(isCte => isCte)
    const isClause = isInCtes && CLAUSE.test(rest) && !/\b(?:FOR|LEFT) $/.test(before)
    const closesCte = token === ')' && open.pop()
    if (closesCte || isClause) lines.push(`${'  '.repeat(open.length)}${token}`)
    else lines[lines.length - 1] = before + token
    if (token === '(') {
      open.push(
        isInCtes && / AS $/.test(before) && /^\((?:SELECT|INSERT|UPDATE|DELETE)\b/.test(rest),
      )
    }
  }
  return `${lines.flatMap(wrap).join('\n').trim()};\n`
}

function wrap(line: string): string[] {
  const indent = `${/^ */.exec(line)?.[0]}    `
  const lines = [line.trimEnd()]
  for (let last = lines[0] ?? ''; last.length > WIDTH; last = lines.at(-1) ?? '') {
    const space = findBreak(last.slice(0, WIDTH))
    if (space < indent.length) break
    lines.splice(-1, 1, last.slice(0, space), `${indent}${last.slice(space + 1)}`)
  }
  return lines
}

/** Returns the last break point with the fewest open parentheses, or the last space. */
function findBreak(start: string): number {
  const depthAt = (index: number) =>
    start.slice(0, index).split('(').length - start.slice(0, index).split(')').length
  const places = [...start.matchAll(BREAK)].map(({ index }) => index)
  const [best] = places
    .filter(index => index > WIDTH / 3)
    .sort((a, b) => depthAt(a) - depthAt(b) || b - a)
  return best ?? start.lastIndexOf(' ')
}
