import type { Json } from '#lib/edge/http/openapi-schemas.ts'

export const SECURITY: Json = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token of the account: `troco_test_…` or `troco_live_…`.',
  },
}

export const PARAMETERS: Record<string, Json> = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes it safe to send this again: a new UUID, say. See Idempotency.',
    // No example: the reference's try-out form would send the same key with every call.
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  'webhook-id': {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'The id of the event, the same whenever it is told.',
    schema: { type: 'string', format: 'uuid' },
    example: '01a1fbbf-2574-7f02-a3c8-1b6d0e4f9a77',
  },
  'webhook-timestamp': {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'When this attempt was made, in seconds since 1970.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '1795224970',
  },
  'webhook-signature': {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description: 'One signature or two, separated by a space: see Webhooks.',
    schema: { type: 'string' },
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
}

const text = { type: 'string' }
const seconds = { type: 'integer', minimum: 1 }

export const HEADERS: Record<string, Json> = {
  'X-Request-Id': {
    description: 'Names the request in the log.',
    schema: text,
    example: '8d0f8f4e-6a0e-4b59-9d5e-0c2f6f1f7c3b',
  },
  'X-Required-Permission': {
    description: 'The permission that is missing; absent where that is not the reason.',
    schema: text,
    example: 'withdrawals:write',
  },
  'X-Error-Fields': {
    description:
      'Fields that are wrong, separated by a space, where the body names the first only.',
    schema: text,
    example: 'amount client_doc',
  },
  'WWW-Authenticate': { description: 'How to say who calls.', schema: text, example: 'Bearer' },
  'Retry-After': { description: 'Whole seconds to wait.', schema: seconds, example: 2 },
  'RateLimit-Policy': {
    description: 'The limits that hold: `q` requests in `w` seconds.',
    schema: text,
    example: '"ip";q=200;w=1, "token";q=100;w=1',
  },
  RateLimit: {
    description: 'What is left of each: `r` requests, and `t` seconds until it is full again.',
    schema: text,
    example: '"ip";r=199;t=1, "token";r=99;t=1',
  },
  'Idempotent-Replayed': {
    description: '`true` where this is the answer to an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
}

function body(description: string, properties: Json): Json {
  return { type: 'object', description, properties, required: Object.keys(properties) }
}

const list = { type: 'array', items: text, minItems: 1 }

export const ERRORS: Record<string, Json> = {
  Error: body('What went wrong. `X-Error-Code` says it for programs.', {
    error: { ...text, description: 'For people.' },
  }),
  FirstError: body('The first problem that was found.', {
    errors: { ...text, description: 'Names the field and what it must be.' },
  }),
  FieldErrors: body('All problems that were found.', {
    errors: {
      type: 'object',
      description: 'Messages by the name of their field.',
      additionalProperties: list,
    },
  }),
}
