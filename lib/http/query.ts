import type * as z from 'zod'
import { refuse } from '#lib/core/errors.ts'
import { formOf, hasUserInfo } from '#lib/core/fields.ts'
import { PAGE_BYTES_MAX, type Page } from '#lib/db/page.ts'
import { parseFields, refuseUnstorable } from '#lib/http/body.ts'
import type { PageOfResult } from '#lib/http/response.ts'

const NAMES_MAX = 20
const NAME_LENGTH_MAX = 64

/** Validates the query string. A parameter that would have no effect is refused, not ignored. */
export function parseQuery<T>(schema: z.ZodType<T> | undefined, url: string): T | undefined {
  const forms = schema ? formsOf(schema) : new Map<string, Form>()
  const parameters = pairsOf(url).map(pair => ({ ...pair, ...partsOf(pair.name, forms) }))
  const problems = findProblems(parameters, forms)
  if (problems.size > 0) throw refuse('invalid_input', { fields: Object.fromEntries(problems) })
  if (!schema) return undefined
  const query = collectValues(parameters, forms)
  refuseUnstorable(query, 1)
  return parseFields(schema, query)
}

/** Returns a URL without the parameters that the schema does not know: banks have some of their own in API Pix. */
export function keepKnown(schema: z.ZodType | undefined, url: string): string {
  const forms = schema ? formsOf(schema) : new Map<string, Form>()
  const [path = '', ...query] = url.split('?')
  const known = query
    .join('?')
    .split('&')
    .filter(pair => forms.has(readPair(pair).name))
  return `${path}?${known.join('&')}`
}

type Form = ReturnType<typeof formOf>

interface Pair {
  name: string
  value: string
  /** Whether it is percent-encoded UTF-8. */
  isEncoded: boolean
}

interface Parameter extends Pair {
  /** Name in the schema: of `metadata[order]`, `metadata`. */
  base: string
  key: string | null
}

function formsOf(schema: z.ZodType): Map<string, Form> {
  const { shape } = schema as z.ZodObject
  return new Map(Object.entries(shape).map(([name, field]) => [name, formOf(field)]))
}

function partsOf(name: string, forms: Map<string, Form>): Pick<Parameter, 'base' | 'key'> {
  const [, base = '', key = ''] = /^(\w+)\[(.*)\]$/s.exec(name) ?? []
  return forms.get(base) === 'keyed' ? { base, key } : { base: name, key: null }
}

/** Collects the values by name. An empty one counts as absent. */
function collectValues(parameters: Parameter[], forms: Map<string, Form>): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const { base, key, value } of parameters) {
    if (value === '') continue
    const entry = key === null ? value : [key, value]
    if (forms.get(base) === 'single') query[base] = value
    else query[base] = [...((query[base] as unknown[] | undefined) ?? []), entry]
  }
  return query
}

/** Names of what an operation ignores of a request. */
export interface Ignored {
  parameters?: string[] | undefined
  fields?: string[] | undefined
}

export function ignoredHeaders({ parameters = [], fields = [] }: Ignored): Record<string, string> {
  return {
    ...(parameters.length > 0 && { 'x-ignored-parameters': parameters.join(', ') }),
    ...(fields.length > 0 && { 'x-ignored-fields': fields.join(', ') }),
  }
}

/** Lists the names in a query string, short enough for a header. */
export function listParameters(url: string): string[] {
  const names = new Set(pairsOf(url).map(({ name }) => shorten(name)))
  return [...names].slice(0, NAMES_MAX).map(encodeURIComponent)
}

/**
 * Lists the fields of a body that have no effect: unknown ones, those that `listMore` finds, and a
 * `webhook_url` whose user name and password are not stored.
 */
export function listIgnoredFields(
  schema: z.ZodType,
  content: Record<string, unknown>,
  listMore: (content: Record<string, unknown>) => string[] = () => [],
): string[] {
  const { webhook_url: url } = content
  const hasCredentials = typeof url === 'string' && hasUserInfo(url)
  const { shape } = schema as z.ZodObject
  const unknown = Object.keys(content).filter(name => !Object.hasOwn(shape, name))
  const names = [...listMore(content), ...(hasCredentials ? ['webhook_url'] : []), ...unknown]
  return names.slice(0, NAMES_MAX).map(name => encodeURIComponent(shorten(name)))
}

/** Returns a map, because a parameter may be named __proto__. */
function findProblems(parameters: Parameter[], forms: Map<string, Form>): Map<string, string[]> {
  const problems = new Map<string, string[]>()
  const seen = new Set<string>()
  const known = [...forms].map(([name, form]) => (form === 'keyed' ? `${name}[key]` : name))
  for (const { name, base, key, value, isEncoded } of parameters) {
    const label = shorten(name)
    const form = forms.get(base)
    if (!form || (form === 'keyed' && key === null)) {
      const names = known.length > 0 ? `: send ${known.join(', ')}` : ''
      problems.set(label, [`${label} is not a parameter of this operation${names}`])
    } else if (seen.has(name) && form !== 'repeatable') {
      problems.set(label, [`${label} must not be sent twice`])
    } else if (!isEncoded) {
      problems.set(label, [`${label} must be percent-encoded UTF-8`])
    } else if (form === 'keyed' && value === '') {
      problems.set(label, [`${label} must have a value`])
    }
    seen.add(name)
  }
  return problems
}

/** Names of a schema's fields. */
export function parameterNames(schema: z.ZodType): string[] {
  return [...formsOf(schema).keys()]
}

function pairsOf(url: string): Pair[] {
  const index = url.indexOf('?')
  const pairs = index < 0 ? [] : url.slice(index + 1).split('&')
  return pairs.filter(pair => pair !== '').map(readPair)
}

/** URLSearchParams decodes anything, and removes a first question mark, so that a second one remains. */
function readPair(pair: string): Pair {
  const [[name, value] = ['', '']] = new URLSearchParams(`?${pair}`)
  return { name, value, isEncoded: isDecodable(pair) }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function shorten(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).toWellFormed()
}

/** Result of a list. The endpoint masks its entries for callers who may not read documents. */
export function pageResult<Row, Cursor extends string | number>(
  page: Page<Row, Cursor>,
  toWire: (row: Row) => unknown = row => row,
  cursorName = 'next_cursor',
  more: Record<string, unknown> = {},
): PageOfResult {
  const serialize: PageOfResult['serializePage'] = mask =>
    serializePage(page, row => mask(toWire(row)), { cursorName, more })
  return { serializePage: serialize }
}

/** Serializes each row once and measures it; rows beyond PAGE_BYTES_MAX go to the next page. */
function serializePage<Row, Cursor extends string | number>(
  { rows, nextCursor, cursorOf }: Page<Row, Cursor>,
  toWire: (row: Row) => unknown,
  { cursorName, more }: { cursorName: string; more: Record<string, unknown> },
): string {
  const texts: string[] = []
  let next = nextCursor
  let bytes = 0
  for (const [nth, row] of rows.entries()) {
    const text = JSON.stringify(toWire(row))
    // One byte for the comma.
    bytes += Buffer.byteLength(text) + 1
    const previous = nth > 0 ? rows[nth - 1] : undefined
    if (previous !== undefined && bytes > PAGE_BYTES_MAX) {
      next = cursorOf(previous)
      break
    }
    texts.push(text)
  }
  const rest = JSON.stringify({ [cursorName]: next, ...more })
  return `{"data":[${texts.join(',')}],${rest.slice(1)}`
}
