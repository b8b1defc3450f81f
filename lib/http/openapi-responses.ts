import * as z from 'zod'
import { REFUND_WINDOW_DAYS } from '#lib/charges/states.ts'
import { invalidInput, isTrocoError, refuse, type TrocoError } from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'
import {
  API_ERRORS,
  type ApiErrorCode,
  INTERNAL_ERROR,
  type PublicErrorCode,
  REFUSALS,
} from '#lib/core/refusals.ts'
import { storesTestData } from '#lib/http/declaration.ts'
import type { Endpoint } from '#lib/http/endpoint.ts'
import { KEY_LENGTH_MAX } from '#lib/http/idempotency.ts'
import { parseFields, parseQuery } from '#lib/http/input.ts'
import { errorResponse } from '#lib/http/response.ts'
import { needsOpenMode } from '#lib/people/roles.ts'
import { tokenEnded } from '#lib/tokens/change.ts'
import { API_ERROR_WORDS } from '#messages/words.ts'

/** JSON Schema, or any other part of the document. */
export type Json = Record<string, unknown>

export const SCHEMAS_PATH = '#/components/schemas/'
const COMPOSITION_KEYWORDS = ['anyOf', 'oneOf', 'allOf']
const INT32_MAX = 2 ** 31 - 1
/** Longer patterns are unreadable, and are omitted if the schema has a format. */
const PATTERN_MAX = 60

/** Converts the endpoints' schemas to JSON Schema. A named schema is defined once. */
export class Shapes {
  readonly shared: Record<string, Json> = {}
  /** Schema name by event type. */
  readonly webhooks = new Map<string, string>()
  /** Fields of an example, also of a `$ref`, that replace fields of its schema's example. */
  readonly #samples = new WeakMap<Json, Json>()

  convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    return this.#convert(toJson(schema, io))
  }

  #convert({ $schema: _, $defs = {}, ...own }: Json): Json {
    for (const [name, shape] of Object.entries($defs as Record<string, Json>)) {
      const simplified = this.#simplify(shape)
      const existing = this.shared[name] ?? simplified
      if (JSON.stringify(existing) !== JSON.stringify(simplified)) {
        throw new Invariant(`Two different shapes are named ${name}`)
      }
      this.shared[name] = simplified
      if (typeof shape.webhook === 'string') this.webhooks.set(shape.webhook, name)
    }
    return this.#simplify(own)
  }

  resolveRef(shape: Json): Json {
    return this.shared[String(shape.$ref).slice(SCHEMAS_PATH.length)] ?? shape
  }

  exampleOf(shape: Json, fields: 'all' | 'required' = 'all'): unknown {
    const { examples, $ref, const: constant, enum: choices, items, allOf } = shape
    if (Array.isArray(examples)) return examples[0]
    if (constant !== undefined) return constant
    if (Array.isArray(choices)) return choices[0]
    if (items) return [this.exampleOf(items as Json)]
    if (typeof $ref === 'string') {
      const example = this.exampleOf(this.resolveRef(shape), fields)
      return typeof example === 'object' ? { ...example, ...this.#samples.get(shape) } : example
    }
    if (allOf) return Object.assign({}, ...(allOf as Json[]).map(part => this.exampleOf(part)))
    const [option] = (shape.oneOf ?? shape.anyOf ?? []) as Json[]
    if (option) return this.exampleOf(option, fields)
    const { properties = {}, required = [] } = shape as { properties?: Json; required?: string[] }
    const included = Object.entries(properties).filter(
      ([name]) => fields === 'all' || required.includes(name),
    )
    const parts = included.map(([name, part]) => [name, this.exampleOf(part as Json)])
    return { ...Object.fromEntries(parts), ...this.#samples.get(shape) }
  }

  #simplify(generated: Json): Json {
    const { like, sample, id: _, webhook: __, ...shape } = generated
    if (like) return { ...this.#convert(like as Json), ...annotationsOf(shape) }
    const simplifyPart = (part: unknown) => this.#simplify(part as Json)
    const { $ref, items, properties, additionalProperties: additional } = shape
    if (typeof $ref === 'string') shape.$ref = $ref.replace('#/$defs/', SCHEMAS_PATH)
    if (items) shape.items = simplifyPart(items)
    if (additional && typeof additional === 'object')
      shape.additionalProperties = simplifyPart(additional)
    for (const key of COMPOSITION_KEYWORDS) {
      if (shape[key]) shape[key] = (shape[key] as Json[]).map(simplifyPart)
    }
    if (properties) {
      const parts = Object.entries(properties).map(([name, part]) => [name, simplifyPart(part)])
      shape.properties = Object.fromEntries(parts)
    }
    const simplified = simplify(shape)
    if (sample) this.#samples.set(simplified, sample as Json)
    return simplified
  }
}

function toJson(schema: z.ZodType, io: 'input' | 'output'): Json {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Clients must accept fields that a later version adds to a response.
      if (io === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties
      // No format that tools know; `contentEncoding` says it.
      if (jsonSchema.format === 'base64') delete jsonSchema.format
      if (isSchema(jsonSchema.like)) jsonSchema.like = toJson(jsonSchema.like, io)
    },
  }) as Json
}

function isSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && '_zod' in value
}

function annotationsOf({ description, examples }: Json): Json {
  return { ...(description ? { description } : {}), ...(examples ? { examples } : {}) }
}

function simplify(generated: Json): Json {
  const { propertyNames: _, ...shape } = mergeNull(generated)
  const { additionalProperties: additional, format, pattern, minimum, maximum } = shape
  if (additional && Object.keys(additional).length === 0) shape.additionalProperties = true
  if (format && String(pattern).length > PATTERN_MAX) delete shape.pattern
  if (shape.type === 'integer') {
    if (minimum === Number.MIN_SAFE_INTEGER) delete shape.minimum
    if (maximum === Number.MAX_SAFE_INTEGER) delete shape.maximum
    // Without `int64`, code generators for other languages store amounts in 32 bits.
    if (Number(maximum) > INT32_MAX) shape.format = 'int64'
  }
  return shape
}

/** Merges `anyOf` with null into one schema with two types. */
function mergeNull(shape: Json): Json {
  const { anyOf, ...rest } = shape
  const [valueSchema, nullSchema, ...others] = (anyOf ?? []) as Json[]
  const isPlain = typeof valueSchema?.type === 'string' && !valueSchema.enum && !valueSchema.const
  if (nullSchema?.type !== 'null' || others.length > 0 || !isPlain) return shape
  return { ...valueSchema, ...rest, type: [valueSchema.type, 'null'] }
}

/** Returns a function that builds an example event of a type from the schema of an event page. */
export function eventSamples(page: z.ZodType): (type: string) => Json {
  const shapes = new Shapes()
  shapes.convert(page, 'output')
  return type => shapes.exampleOf({ $ref: SCHEMAS_PATH + shapes.webhooks.get(type) }) as Json
}

const ERROR_WORDS: Record<ApiErrorCode, { cause: string; remedy: string }> =
  API_ERROR_WORDS.en.apiErrors

/** Codes that any request can get, whatever its path. No operation lists them, only ERROR_CODES. */
export const GENERAL_CODES = [
  'malformed_request',
  'request_timeout',
  'expectation_failed',
  'uri_too_long',
  'headers_too_large',
  'method_not_allowed',
  'not_found',
] as const satisfies PublicErrorCode[]

/** Codes that only a session of the dashboard gets: no operation of the document lists them. */
export const SESSION_CODES = [
  'session_required',
  'cross_origin',
  'viewing_read_only',
  'proof_required',
  'review_required',
] as const satisfies PublicErrorCode[]

/** All codes that API clients get, for programs and generated clients: what each means and what to do. */
export const ERROR_CODES = API_ERRORS.map(({ code, status }) => ({
  code,
  status,
  ...ERROR_WORDS[code],
}))

function causeOf(code: PublicErrorCode): string {
  return ERROR_WORDS[code].cause
}

const STATUS_DESCRIPTIONS: Record<number, string> = {
  400: 'The body is not JSON.',
  401: 'No token was sent, or it is unknown, revoked or expired.',
  403: 'The caller is not allowed to do this.',
  404: 'The resource does not exist in this account and mode.',
  409: 'The request conflicts with the status of the resource.',
  410: 'The data has been deleted.',
  413: 'The body is too large.',
  415: 'The Content-Type is not JSON.',
  422: 'The request is invalid and had no effect.',
  429: 'Too many requests. Repeat after `Retry-After` seconds.',
  500: 'Internal error. `X-Request-Id` identifies the request in the log.',
  503: 'Temporarily unavailable. Repeat after `Retry-After` seconds.',
}

type Declared = Endpoint['declared']

/** Epoch of a feed in the examples. */
const EPOCH = 'b54f1c0e9a7d3362'
const FEED = { epoch: EPOCH, lastSequence: 4711 }
const RESTORED = { continueAfter: 4_294_967_296, lastSequence: 4_294_967_300, lastKept: 4710 }

const COMMON_RESPONSES: Record<number, string> = {
  400: 'MalformedJson',
  401: 'Unauthenticated',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
}

/** Groups the error responses by status; adds those common to all endpoints to `shared`. */
export function describeErrorResponses(declared: Declared, shared: Json): Json {
  const byStatus = new Map<number, PublicErrorCode[]>()
  for (const code of listErrorCodes(declared)) {
    const { status } = REFUSALS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const responses: Json = {}
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const response = describeResponse(declared, status, codes)
    const name = COMMON_RESPONSES[status]
    if (name) shared[name] = response
    responses[status] = name ? responseRef(name) : response
  }
  shared.InternalServerError = INTERNAL_SERVER_ERROR
  return { ...responses, [INTERNAL_ERROR.status]: responseRef('InternalServerError') }
}

function listErrorCodes(declared: Declared): PublicErrorCode[] {
  const { allow, body, ignoresQuery, errorCodes = [], errorExamples, idempotency } = declared
  const isForTokens = (code: string) => !SESSION_CODES.some(name => name === code)
  const hasModeCheck = [allow].flat().some(needsOpenMode)
  return [
    'unauthenticated',
    'address_not_allowed',
    'account_not_active',
    'permission_denied',
    ...(hasModeCheck ? (['live_mode_disabled'] as const) : []),
    'too_many_requests',
    ...(storesTestData(declared) ? (['test_quota_exceeded'] as const) : []),
    ...(body ? (['malformed_json', 'payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(body || !ignoresQuery ? (['invalid_input'] as const) : []),
    ...(errorCodes.filter(isForTokens) as PublicErrorCode[]),
    ...((errorExamples ?? []).map(({ code }) => code) as PublicErrorCode[]),
    ...(idempotency
      ? (['idempotency_key_invalid', 'idempotency_key_reused', 'in_progress'] as const)
      : []),
    'service_unavailable',
  ]
}

function responseRef(name: string): Json {
  return { $ref: `#/components/responses/${name}` }
}

function describeResponse(declared: Declared, status: number, codes: PublicErrorCode[]): Json {
  const examples: Json = {}
  for (const code of codes) Object.assign(examples, buildExamples(declared, code))
  const validationSchema = declared.errorFormat === 'first_message' ? 'FirstError' : 'FieldErrors'
  const schema = { $ref: `${SCHEMAS_PATH}${status === 422 ? validationSchema : 'Error'}` }
  const content = { 'application/json': { schema, examples } }
  const headers = {
    ...describeHeaders(status, codes),
    ...(schema.$ref.endsWith('FirstError') ? headerRefs(['X-Error-Fields']) : {}),
  }
  return { description: STATUS_DESCRIPTIONS[status], headers, content }
}

function buildExamples(declared: Declared, code: PublicErrorCode): Json {
  const toBody = (error: TrocoError) =>
    JSON.parse(errorResponse(error, declared.errorFormat ?? 'field_messages').text) as Json
  // OpenAPI shows a summary as a title, without a full stop.
  const summary = causeOf(code).replace(/\.$/, '')
  return { [code]: { summary, value: toBody(buildExampleError(declared, code)) } }
}

/** Final statuses in the examples, by the code of a missing resource. */
const FINAL = [
  { missing: 'transaction_not_found', subject: 'Transaction', status: 'paid' },
  { missing: 'withdrawal_not_found', subject: 'Withdrawal', status: 'approved' },
  { missing: 'refund_not_found', subject: 'Refund', status: 'completed' },
  { missing: 'dispute_not_found', subject: 'Dispute', status: 'won' },
] as const

function buildExampleError(
  { allow, body, query, errorCodes, errorExamples }: Declared,
  code: PublicErrorCode,
): TrocoError {
  const declared = errorExamples?.find(example => example.code === code)
  if (declared) return declared
  switch (code) {
    case 'permission_denied':
      return refuse(code, { permission: [allow].flat().join(' or ') })
    case 'address_not_allowed':
      return refuse(code, { address: '203.0.113.9' })
    case 'too_many_requests':
    case 'test_quota_exceeded':
      return refuse(code, { retryAfterS: 1 })
    case 'invalid_input':
      return findValidationError(body?.test ?? query)
    case 'already_final':
      return refuse(code, FINAL.find(one => errorCodes?.includes(one.missing)) ?? FINAL[0])
    case 'refund_window_closed':
      return refuse(code, { days: REFUND_WINDOW_DAYS })
    case 'limit_exceeded': {
      const name = errorCodes?.includes('insufficient_balance')
        ? 'account_withdrawal'
        : 'account_charge'
      return refuse(code, { limit: { name, amount: 100_000, freesAt: null } })
    }
    case 'idempotency_key_invalid':
      return refuse(code, { lengthMax: KEY_LENGTH_MAX })
    case 'refused_by_bank':
      return refuse(code, { field: 'client_doc' })
    case 'refund_exceeds_remainder':
      return refuse(code, { rule: 'must be at most 1500, the amount left to refund' })
    case 'token_ended':
      return tokenEnded()
    case 'endpoint_disabled':
      return refuse(code, 'The endpoint is disabled or deleted: enable it, or create another')
    case 'under_way':
      return refuse(
        code,
        'The delivery is being sent, or waits for its receiver: try again when it has ended',
      )
    case 'limit_reached':
    case 'permission_not_held':
      throw new Invariant(`an operation declares no example of its ${code}`)
    case 'method_not_allowed':
      return refuse(code, { allow: 'GET, HEAD' })
    case 'events_gone':
      return refuse(code, { ...FEED, continueAfter: 4710 })
    case 'feed_epoch_changed':
      return refuse(code, { ...FEED, continueAfter: 0 })
    case 'feed_restored':
      return refuse(code, { ...FEED, ...RESTORED })
    case 'after_beyond_feed':
      return refuse(code, { ...FEED, continueAfter: 4711 })
    default:
      return refuse(code)
  }
}

/** Returns a real validation error of this schema, as the example. */
function findValidationError(schema: z.ZodType | undefined): TrocoError {
  for (const input of [{}, { limit: '0' }, { amount: 0 }]) {
    try {
      if (schema) parseFields(schema, input)
      else parseQuery(undefined, '?expand=true')
    } catch (error) {
      if (isTrocoError(error)) return error
    }
  }
  return invalidInput('body', 'must be a JSON object')
}

const OWN_HEADERS =
  'WWW-Authenticate X-Required-Permission X-Limit X-Limit-Amount X-Limit-Frees-At Retry-After Troco-Feed-Epoch Troco-Continue-After Troco-Last-Sequence Troco-Last-Kept'

function describeHeaders(status: number, codes: PublicErrorCode[]): Json {
  const sent = new Set(codes.flatMap(code => Object.keys(REFUSALS[code].headers ?? {})))
  const names = [
    'X-Request-Id',
    ...OWN_HEADERS.split(' ').filter(name => sent.has(name.toLowerCase())),
    ...(status === 429 ? ['RateLimit-Policy', 'RateLimit'] : []),
    'Link',
  ]
  return { ...headerRefs(names), 'X-Error-Code': codeHeader(codes) }
}

function codeHeader(codes: string[]): Json {
  return { description: 'Error code, for programs.', schema: { type: 'string', enum: codes } }
}

export function headerRefs(names: string[]): Json {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

const INTERNAL_SERVER_ERROR = {
  description: STATUS_DESCRIPTIONS[INTERNAL_ERROR.status],
  headers: {
    ...headerRefs(['X-Request-Id', 'Link']),
    'X-Error-Code': codeHeader([INTERNAL_ERROR.code]),
  },
  content: {
    'application/json': {
      schema: { $ref: `${SCHEMAS_PATH}Error` },
      example: { error: INTERNAL_ERROR.message },
    },
  },
}
