import type * as z from 'zod'
import { invalidInput, isTrocoError, TrocoError } from '#lib/base/errors.ts'
import { answerError, STATUS } from '#lib/edge/http/answer.ts'
import { parseFields } from '#lib/edge/http/body.ts'
import type { Endpoint } from '#lib/edge/http/endpoint.ts'
import { type Code, MEANINGS, REFUSALS } from '#lib/edge/http/openapi-refusals.ts'
import { type Json, SHARED } from '#lib/edge/http/openapi-schemas.ts'

type Declared = Endpoint['declared']

const REUSED = 'was used before with another body: send a new key'

/** What is the same for every endpoint that says it. */
const COMMON: Record<number, string> = {
  400: 'MalformedJson',
  401: 'Unauthenticated',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
}

/** Everything that an endpoint answers when it refuses, by status; what is common goes to `shared`. */
export function refusalsOf(declared: Declared, writes: boolean, shared: Json): Json {
  const byStatus = new Map<number, Code[]>()
  for (const code of codesOf(declared, writes)) {
    byStatus.set(STATUS[code], [...(byStatus.get(STATUS[code]) ?? []), code])
  }
  const answers: Json = {}
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const answer = answerOf(declared, status, codes)
    const name = COMMON[status]
    if (name) shared[name] = answer
    answers[status] = name ? refTo(name) : answer
  }
  shared.InternalServerError = FAULT
  return { ...answers, 500: refTo('InternalServerError') }
}

function codesOf(
  { allow, body, query, refuses, once, takesProof }: Declared,
  writes: boolean,
): Code[] {
  const opens = [allow].flat().some(permission => permission.endsWith(':write'))
  return [
    'unauthenticated',
    'account_not_active',
    'permission_denied',
    ...(opens ? (['live_mode_disabled'] as const) : []),
    ...(writes ? (['cross_origin'] as const) : []),
    ...(takesProof ? (['proof_required'] as const) : []),
    'too_many_requests',
    ...(body ? (['malformed_json', 'payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(body || query ? (['invalid_input'] as const) : []),
    ...((refuses ?? []) as Code[]),
    ...(once ? (['in_progress'] as const) : []),
    'service_unavailable',
  ]
}

function refTo(name: string): Json {
  return { $ref: `#/components/responses/${name}` }
}

function answerOf(declared: Declared, status: number, codes: Code[]): Json {
  const examples: Json = {}
  for (const code of codes) Object.assign(examples, examplesOf(declared, code))
  const first = declared.invalid === 'first_message' ? 'FirstError' : 'FieldErrors'
  const schema = { $ref: `${SHARED}${status === 422 ? first : 'Error'}` }
  const content = { 'application/json': { schema, examples } }
  return { description: MEANINGS[status], headers: headersOf(status, codes), content }
}

function examplesOf(declared: Declared, code: Code): Json {
  const { when } = REFUSALS[code]
  const said = (error: TrocoError) =>
    JSON.parse(answerError(error, declared.invalid ?? 'field_messages').text) as Json
  const told = { [code]: { summary: when, value: said(errorOf(declared, code)) } }
  if (code !== 'invalid_input' || !declared.once) return told
  const value = said(invalidInput('Idempotency-Key', REUSED))
  return { ...told, idempotency_key: { summary: 'The key came before with another body', value } }
}

function errorOf({ allow, body, query, refuses }: Declared, code: Code): TrocoError {
  const { message, fields } = REFUSALS[code]
  if (code === 'permission_denied') {
    return new TrocoError(code, `${message}: ${[allow].flat().join(' or ')}`)
  }
  if (code === 'already_final') {
    const subject = refuses?.includes('withdrawal_not_found') ? 'Withdrawal' : 'Transaction'
    return new TrocoError(code, `${subject} ${message}`)
  }
  if (code === 'invalid_input') return problemOf(body?.test ?? query)
  return new TrocoError(code, message, { fields })
}

/** What is really said of a request that is not valid. */
function problemOf(schema: z.ZodType | undefined): TrocoError {
  for (const attempt of [{}, { limit: '0' }, { amount: 0 }]) {
    try {
      if (schema) parseFields(schema, attempt)
    } catch (error) {
      if (isTrocoError(error)) return error
    }
  }
  return invalidInput('body', 'must be a JSON object')
}

function headersOf(status: number, codes: string[]): Json {
  const known = [
    'X-Request-Id',
    ...(status === 401 ? ['WWW-Authenticate'] : []),
    ...(status === 403 ? ['X-Required-Permission'] : []),
    ...(status === 429 ? ['RateLimit-Policy', 'RateLimit'] : []),
    ...(status === 429 || status === 503 || codes.includes('in_progress') ? ['Retry-After'] : []),
  ]
  const code = { description: 'The reason, for programs.', schema: { type: 'string', enum: codes } }
  return { ...headerRefs(known), 'X-Error-Code': code }
}

export function headerRefs(names: string[]): Json {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

const FAULT = {
  description: MEANINGS[500],
  headers: headersOf(500, ['internal_error']),
  content: {
    'application/json': {
      schema: { $ref: `${SHARED}Error` },
      example: { error: 'Internal server error' },
    },
  },
}
