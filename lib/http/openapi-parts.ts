import { LIMITS } from '#lib/core/refusals.ts'
import type { Json } from '#lib/http/openapi-schemas.ts'

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
    description:
      'Makes the request safe to repeat. Take the key from your own record, such as the order number, and repeat the request with the same one. See the guide to errors and retries.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'order-1048',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'An earlier `ETag`: if it is still the current one, the response is 304, without a body.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      'With `return=representation`, the response has all fields of the resource. A request repeated with an `Idempotency-Key` gets the form that it prefers itself.',
    schema: { type: 'string' },
  },
  'webhook-id': {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'Id of the event, the same in every attempt.',
    schema: { type: 'string', format: 'uuid' },
    example: '01a1fbbf-2574-7f02-a3c8-1b6d0e4f9a77',
  },
  'webhook-timestamp': {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'Unix time of this attempt, in seconds.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '1795224970',
  },
  'webhook-signature': {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description: 'One or two signatures, separated by a space. See the guide to webhooks.',
    schema: { type: 'string' },
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
  traceparent: {
    name: 'traceparent',
    in: 'header',
    required: true,
    description:
      'Trace of the request that caused the event, or one of its own (W3C Trace Context). Not signed.',
    schema: { type: 'string', pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$' },
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  },
  'troco-request-id': {
    name: 'troco-request-id',
    in: 'header',
    required: false,
    description: 'The `X-Request-Id` of the request that caused the event, if one did. Not signed.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' },
    example: '7f0c1e4a-5b1d-4a58-9d0e-8b6f3f1f2a11',
  },
}

const TEXT_SCHEMA = { type: 'string' }
const SECONDS_SCHEMA = { type: 'integer', minimum: 1 }

export const HEADERS: Record<string, Json> = {
  'X-Request-Id': {
    description: 'Identifies the request in the log.',
    schema: TEXT_SCHEMA,
    example: '8d0f8f4e-6a0e-4b59-9d5e-0c2f6f1f7c3b',
  },
  'X-Required-Permission': {
    description: 'The missing permission. Absent if the response has another reason.',
    schema: TEXT_SCHEMA,
    example: 'withdrawals:write',
  },
  'X-Ignored-Parameters': {
    description: 'Query parameters of the request, which this operation ignores.',
    schema: TEXT_SCHEMA,
    example: 'expand',
  },
  ETag: {
    description:
      'Version of the response, for `If-None-Match`. `Cache-Control` is `private, no-cache`.',
    schema: TEXT_SCHEMA,
    example: '"d0fVbTzJ8bq1sQ9yXo2nWA"',
  },
  'Preference-Applied': {
    description: 'The preference of the request that the response honors. Absent without one.',
    schema: { type: 'string', enum: ['return=representation'] },
  },
  'X-Ignored-Fields': {
    description:
      'Fields of the body, separated by commas: those that are unknown, those whose value could not be read and counts as absent, and those stored without line breaks, control or format characters, or the user name and password of a URL.',
    schema: TEXT_SCHEMA,
    example: 'ip',
  },
  'Troco-Feed-Epoch': {
    description:
      'Epoch of the event feed. Within an epoch, sequence numbers have no gaps and are given once.',
    schema: { ...TEXT_SCHEMA, pattern: '^[0-9a-f]{16}$' },
    example: 'b54f1c0e9a7d3362',
  },
  'Troco-Continue-After': {
    description: 'Value of `after` with which to continue this feed.',
    schema: { type: 'integer', minimum: 0, format: 'int64' },
    example: 4710,
  },
  'Troco-Last-Sequence': {
    description: 'Last sequence number of this feed, the same as `last_sequence` of a page.',
    schema: { type: 'integer', minimum: 0, format: 'int64' },
    example: 4711,
  },
  'Troco-Last-Kept': {
    description:
      'Sequence number of the last event that a restore has kept. What you have read after it is gone.',
    schema: { type: 'integer', minimum: 0, format: 'int64' },
    example: 4710,
  },
  'X-Error-Fields': {
    description: 'All invalid fields, separated by spaces. The body names only the first.',
    schema: TEXT_SCHEMA,
    example: 'amount client_doc',
  },
  'X-Limit': {
    description:
      'With `limit_exceeded`: the limit. The limits of a connection are set by your administrator.',
    schema: { ...TEXT_SCHEMA, enum: [...LIMITS] },
    example: 'account_day',
  },
  'X-Limit-Amount': {
    description: 'The limit in cents. Absent if it concerns other accounts, too.',
    schema: { type: 'integer', minimum: 0 },
    example: 500_000,
  },
  'X-Limit-Frees-At': {
    description: 'When the same amount is possible again. Absent if it never is.',
    schema: { ...TEXT_SCHEMA, format: 'date-time' },
    example: '2026-11-22T03:00:00.000000Z',
  },
  'WWW-Authenticate': {
    description: 'Authentication scheme.',
    schema: TEXT_SCHEMA,
    example: 'Bearer',
  },
  Link: {
    description: 'Page that explains the error code, with `rel="help"`.',
    schema: TEXT_SCHEMA,
    example: '<https://pix.shop.example/docs/errors#insufficient_balance>; rel="help"',
  },
  'Retry-After': { description: 'Seconds to wait.', schema: SECONDS_SCHEMA, example: 2 },
  'RateLimit-Policy': {
    description: 'Limits: `q` requests in `w` seconds.',
    schema: TEXT_SCHEMA,
    example: '"ip";q=200;w=1, "token";q=100;w=1',
  },
  RateLimit: {
    description: 'Remaining requests `r` of each limit, and seconds `t` until it is full again.',
    schema: TEXT_SCHEMA,
    example: '"ip";r=199;t=1, "token";r=99;t=1',
  },
  'Idempotent-Replayed': {
    description: '`true` if this is the response to an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
}

function describeErrorBody(description: string, properties: Json): Json {
  return { type: 'object', description, properties, required: Object.keys(properties) }
}

const TEXT_LIST_SCHEMA = { type: 'array', items: TEXT_SCHEMA, minItems: 1 }

export const ERRORS: Record<string, Json> = {
  Error: describeErrorBody('Error. `X-Error-Code` is the code for programs.', {
    error: { ...TEXT_SCHEMA, description: 'Message for people.' },
  }),
  FirstError: describeErrorBody('First problem found.', {
    errors: { ...TEXT_SCHEMA, description: 'Message that names the field and the rule.' },
  }),
  FieldErrors: describeErrorBody('All problems found.', {
    errors: {
      type: 'object',
      description: 'Messages by field name.',
      additionalProperties: TEXT_LIST_SCHEMA,
    },
  }),
}
