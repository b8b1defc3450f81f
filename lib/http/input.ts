import * as z from 'zod'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isRawNumber, parseExactJson } from '#lib/core/exact-json.ts'
import { formOf, hasUserInfo, isObject } from '#lib/core/fields.ts'
import { PAGE_BYTES_MAX, type Page } from '#lib/db/page.ts'
import type { RecentCheck } from '#lib/http/caller.ts'
import type { HttpRequest } from '#lib/http/exchange.ts'
import type { PageOfResult } from '#lib/http/response.ts'

const BYTES_MAX = 64 * 1024
/** Maximum nesting of a body: far above real use; some webhook receivers fail on deeper JSON. */
const DEPTH_MAX = 32

/** Like `readObject`. A body that had not arrived expires the check of the caller. */
export async function readObjectOf<Caller>(
  incoming: HttpRequest,
  check: RecentCheck<Caller>,
  bytesMax = BYTES_MAX,
): Promise<Record<string, unknown>> {
  const isComplete = incoming.isBodyComplete()
  const content = await readObject(incoming, bytesMax)
  if (!isComplete) check.expire()
  return content
}

/** Like `readObjectOf`, also from a form, as OAuth 2.0 has it. */
export async function readFormOf<Caller>(
  incoming: HttpRequest,
  check: RecentCheck<Caller>,
): Promise<Record<string, unknown>> {
  const type = incoming.header('content-type') ?? ''
  if (!/^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    return readObjectOf(incoming, check)
  const isComplete = incoming.isBodyComplete()
  const text = await readText(incoming, BYTES_MAX)
  if (!isComplete) check.expire()
  return Object.fromEntries(new URLSearchParams(text))
}

/** Reads the JSON object of a request. An empty body counts as an empty object. */
async function readObject(
  incoming: HttpRequest,
  bytesMax: number,
): Promise<Record<string, unknown>> {
  requireJsonType(incoming)
  const text = await readText(incoming, bytesMax)
  if (text.trim() === '') return {}
  const value = parseJson(text)
  if (!isObject(value)) throw invalidBody('must be a JSON object')
  refuseUnstorable(value, 1)
  return value
}

/**
 * Validates fields. Null and the empty string count as absent, and unknown fields are ignored, except by a
 * strict object, the body of an operation that moves money: a lost amount could mean the whole one.
 */
export function parseFields<T>(schema: z.ZodType<T>, input: Record<string, unknown>): T {
  const fieldsOfStrict = listFieldsOfStrict(schema)
  const present = fieldsOfStrict
    ? input
    : Object.fromEntries(
        Object.entries(input).filter(([, value]) => value !== null && value !== ''),
      )
  refuseInexact(schema, present)
  const result = schema.safeParse(present)
  if (result.success) return result.data
  // A field may be named __proto__.
  const problems = new Map<string, string[]>()
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys' && fieldsOfStrict) {
      for (const key of issue.keys)
        problems.set(key, [`${key} is unknown: the request has ${fieldsOfStrict}`])
      continue
    }
    const [field = 'body', ...inner] = issue.path.map(String)
    const fieldPath =
      field + inner.map(part => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('')
    const messages = problems.get(field) ?? []
    messages.push(`${fieldPath} ${issue.message}`)
    problems.set(field, messages)
  }
  throw refuse('invalid_input', { fields: Object.fromEntries(problems) })
}

/** Returns the names of the fields of a strict object; null for any other schema. */
function listFieldsOfStrict(schema: z.ZodType): string | null {
  const isStrict = schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever
  return isStrict ? Object.keys(schema.shape).join(', ') : null
}

function requireJsonType({ header }: HttpRequest): void {
  const type = header('content-type')
  const isJson = type === null || /^\s*[\w.+-]+\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)
  const encoding = header('content-encoding')
  if (!isJson || (encoding !== null && encoding.toLowerCase() !== 'identity')) {
    throw refuse('unsupported_media_type')
  }
}

async function readText(incoming: HttpRequest, bytesMax: number): Promise<string> {
  if (Number(incoming.header('content-length') ?? 0) > bytesMax) throw tooLarge()
  // Reading fails if the caller disconnects: 400, because a 500 would count as a server fault.
  const bytes = await incoming.readBody(bytesMax).catch(() => {
    throw malformed()
  })
  if (!bytes) throw tooLarge()
  try {
    return utf8.decode(bytes)
  } catch {
    throw malformed()
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Replaces a number that a double cannot represent: another one would take effect. */
const INEXACT_NUMBER = Symbol('a number that a double cannot represent')

function parseJson(text: string): unknown {
  try {
    return parseExactJson(text, readNumber)
  } catch {
    throw malformed()
  }
}

/** Reads 500.0 and 5e2 as 500, but not 500.00000000000000000001. */
function readNumber(source: string): unknown {
  const value = Number(source)
  const isSafe = Number.isSafeInteger(value) || !Number.isInteger(value)
  return isSafe && decimalOf(source) === decimalOf(String(value)) ? value : INEXACT_NUMBER
}

/** Digits and exponent of a decimal number, without zeros at either end. */
function decimalOf(source: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? []
  const padded = (whole + fraction).replace(/^0+/, '')
  // A pattern for the zeros at the end would take quadratic time.
  let end = padded.length
  while (padded[end - 1] === '0') end--
  const digits = padded.slice(0, end)
  return digits === ''
    ? '0'
    : `${sign}${digits}e${Number(exponent) - fraction.length + padded.length - end}`
}

/**
 * Refuses inexact numbers inside the fields that a schema reads. One that is itself the value of a field is
 * refused by the field's schema, with a more specific message.
 */
function refuseInexact(schema: z.ZodType, fields: Record<string, unknown>): void {
  const known = schema instanceof z.ZodObject && !schema.def.catchall ? schema.shape : fields
  for (const [field, value] of Object.entries(fields)) {
    if (Object.hasOwn(known, field) && value !== INEXACT_NUMBER && containsInexact(value))
      throw invalidInput(
        field,
        'must not contain a number that a double cannot represent: send it as a string',
      )
  }
}

function containsInexact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === INEXACT_NUMBER
  // A copy of a list of 30,000 elements would take 240 KB.
  if (Array.isArray(value)) return value.some(containsInexact)
  return !isRawNumber(value) && Object.values(value).some(containsInexact)
}

/** Refuses what cannot be stored: NUL, unpaired surrogates, deep nesting. */
export function refuseUnstorable(value: unknown, depth: number, field = 'body'): void {
  if (depth > DEPTH_MAX) throw invalidBody(`must not be nested deeper than ${DEPTH_MAX} levels`)
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) throw invalidText(field)
  } else if (Array.isArray(value)) {
    // Object.entries of 30,000 elements would take 2.7 MB.
    for (const inner of value) refuseUnstorable(inner, depth + 1, field)
  } else if (typeof value === 'object' && value !== null && !isRawNumber(value)) {
    for (const [key, inner] of Object.entries(value)) {
      if (key.includes('\0') || !key.isWellFormed()) throw invalidText(field)
      refuseUnstorable(inner, depth + 1, depth === 1 ? key : field)
    }
  }
}

function malformed(): TrocoError {
  return refuse('malformed_json')
}

function tooLarge(): TrocoError {
  return refuse('payload_too_large')
}

function invalidBody(rule: string): TrocoError {
  return invalidInput('body', rule)
}

function invalidText(field: string): TrocoError {
  return invalidInput(field, 'must not contain NUL characters or unpaired surrogates')
}

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
  if (!url.includes('?')) return []
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
  toWire: (row: Row, nth: number) => unknown = row => row,
  cursorName = 'next_cursor',
  more: Record<string, unknown> = {},
): PageOfResult {
  const serialize: PageOfResult['serializePage'] = mask =>
    serializePage(page, (row, nth) => mask(toWire(row, nth)), { cursorName, more })
  return { serializePage: serialize }
}

/** Serializes each row once and measures it; rows beyond PAGE_BYTES_MAX go to the next page. */
function serializePage<Row, Cursor extends string | number>(
  { rows, nextCursor, cursorOf }: Page<Row, Cursor>,
  toWire: (row: Row, nth: number) => unknown,
  { cursorName, more }: { cursorName: string; more: Record<string, unknown> },
): string {
  const texts: string[] = []
  let next = nextCursor
  let bytes = 0
  for (const [nth, row] of rows.entries()) {
    const text = JSON.stringify(toWire(row, nth))
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
