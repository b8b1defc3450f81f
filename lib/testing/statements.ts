import { Client } from 'pg'
import { vi } from 'vitest'

type Call = () => Promise<unknown>
/** Calls of one verb by title. The first of a pair prepares: its statements are not recorded. */
export type Calls = Record<string, Call | readonly [prepare: Call, call: Call]>
type RecordedCalls = [title: string, sent: string[]][]

/** Not recorded: notifications, the frame of a transaction, and the reading of cached tables. */
const FRAME =
  /pg_notify|^(?:BEGIN|COMMIT|ROLLBACK|SET TRANSACTION)\b|FROM "public"\."connections"|connection_states/

/** Returns the statements of each call in order, each once: loops may repeat them at any time. */
export async function recordCalls(calls: Calls, leftOut = FRAME): Promise<RecordedCalls> {
  const recorded: RecordedCalls = []
  for (const [title, given] of Object.entries(calls)) {
    const [prepare, call] = typeof given === 'function' ? [null, given] : given
    await prepare?.()
    recorded.push([title, await recordStatements(call, leftOut)])
  }
  return recorded
}

async function recordStatements(work: Call, leftOut: RegExp): Promise<string[]> {
  const query = vi.spyOn(Client.prototype, 'query')
  try {
    await work()
    const sent = query.mock.calls.map(([config]) => (config as unknown as { text: string }).text)
    const statements = [...new Set(sent)].filter(text => !leftOut.test(text))
    return statements.sort((a, b) => Number(isClaim(b)) - Number(isClaim(a)))
  } finally {
    query.mockRestore()
  }
}

/** Whether a statement claims due orders, at any time while others are sent: those come first. */
function isClaim(text: string): boolean {
  return /^\s*WITH RECURSIVE turns\b/.test(text)
}

/** Formats the statements of each call under its title. */
export function formatCalls(recorded: RecordedCalls): string {
  const printed = recorded.map(([title, sent]) => {
    const statements = sent.map(text => nameOrmStatement(text) ?? formatStatement(text))
    return `-- ${title}\n${statements.join('\n')}`
  })
  return printed.join('\n')
}

const ORM_STATEMENT = /\b(INSERT INTO|UPDATE|DELETE FROM|FROM) "public"\."(\w+)"/

/** Names a statement of the ORM: its text is the ORM's, and the TypeScript says what it does. */
function nameOrmStatement(text: string): string | null {
  const [, verb, table] = ORM_STATEMENT.exec(text) ?? []
  return table ? `-- by the ORM: ${verb === 'FROM' ? 'SELECT FROM' : verb} ${table}\n` : null
}

const LINE_WIDTH = 100
const QUOTED_OR_SPACE = /('(?:[^']|'')*')|\s+/g
const TOKEN = /'(?:[^']|'')*'|[()]|[^\s()']+|\s+/g
const CLAUSE =
  /^(?:WITH|SELECT|FROM|(?:LEFT |CROSS )?JOIN|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|WINDOW|FOR (?:(?:NO KEY )?UPDATE|SHARE)|INSERT INTO|VALUES|ON CONFLICT|UPDATE|DELETE FROM|SET|RETURNING|UNION(?: ALL)?)\b/
/** Words before a keyword that begins no clause there, such as `DISTINCT FROM`. */
const INSIDE_CLAUSE = /\b(?:FOR|FOR NO KEY|LEFT|CROSS|DELETE|DISTINCT|DO) $/
/** Break points of a long line: after a comma or before a keyword. */
const BREAK_POINT = /(?<=,) |(?<!\(epoch|DISTINCT) (?=(?:AND|OR|WHEN|ELSE|FROM|UNION|END) )/g

/** Formats one clause per line, CTEs indented; subqueries in parentheses stay on one line. */
export function formatStatement(text: string): string {
  const flat = text
    .replace(QUOTED_OR_SPACE, (_, quoted) => quoted ?? ' ')
    .replace(/(?<=\() | (?=\))/g, '')
  const lines = ['']
  const openParentheses: boolean[] = []
  for (const { 0: token, index } of flat.matchAll(TOKEN)) {
    const rest = flat.slice(index)
    const before = lines.at(-1) ?? ''
    const isInCtes = openParentheses.every(isCte => isCte)
    const isClause = isInCtes && CLAUSE.test(rest) && !INSIDE_CLAUSE.test(before)
    const closesCte = token === ')' && openParentheses.pop()
    if (closesCte || isClause) lines.push(`${'  '.repeat(openParentheses.length)}${token}`)
    else lines[lines.length - 1] = before + token
    if (token === '(') {
      const isCte = / AS (?:MATERIALIZED )?$/.test(before)
      openParentheses.push(isInCtes && isCte && /^\((?:SELECT|INSERT|UPDATE|DELETE)\b/.test(rest))
    }
  }
  return `${lines.flatMap(wrap).join('\n').trim()};\n`
}

function wrap(line: string): string[] {
  const indent = `${/^ */.exec(line)?.[0]}    `
  const lines = [line.trimEnd()]
  for (let last = lines[0] ?? ''; last.length > LINE_WIDTH; last = lines.at(-1) ?? '') {
    const space = findBreak(last.slice(0, LINE_WIDTH))
    if (space < indent.length) break
    lines.splice(-1, 1, last.slice(0, space), `${indent}${last.slice(space + 1)}`)
  }
  return lines
}

/**
 * Returns the last of the break points with the fewest open parentheses, or else the last space.
 */
function findBreak(start: string): number {
  const depthAt = (index: number) =>
    start.slice(0, index).split('(').length - start.slice(0, index).split(')').length
  const breakPoints = [...start.matchAll(BREAK_POINT)].map(({ index }) => index)
  const [best] = breakPoints
    .filter(index => index > LINE_WIDTH / 3)
    .sort((a, b) => depthAt(a) - depthAt(b) || b - a)
  return best ?? start.lastIndexOf(' ')
}
