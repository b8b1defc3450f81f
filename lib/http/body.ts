import * as z from 'zod'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isRawNumber, parseExactJson } from '#lib/core/exact-json.ts'
import { isObject } from '#lib/core/fields.ts'
import type { RecentCheck } from '#lib/http/caller.ts'
import type { HttpRequest } from '#lib/http/exchange.ts'

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
