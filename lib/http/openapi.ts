import { LIMITS } from '#lib/core/refusals.ts'
import type { Endpoint } from '#lib/http/endpoint.ts'
import { describeOperation, pathOf, tagOf } from '#lib/http/openapi-operations.ts'
import { ERROR_CODES, type Json, SCHEMAS_PATH, Shapes } from '#lib/http/openapi-responses.ts'
import { isForPagesOnly } from '#lib/people/roles.ts'

const WEBHOOK_HEADERS = [
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'traceparent',
  'troco-request-id',
]

type Declared = Endpoint['declared']

export interface ServedRoute {
  segments: string[]
  handlers: Map<string, { declared?: Declared }>
}

/** Order of the methods in the reference. HEAD is omitted, because it responds like GET. */
const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE']

export function buildDocument(routes: ServedRoute[], publicUrl: string): Json {
  const shapes = new Shapes()
  const paths: Record<string, Json> = {}
  const responses: Json = {}
  const server = `${publicUrl.replace(/\/$/, '')}/api`
  const context = { shapes, responses, server }
  for (const { segments, handlers } of sortRoutes(routes)) {
    for (const method of METHODS) {
      const declared = handlers.get(method)?.declared
      if (!declared || [declared.allow].flat().every(isForPagesOnly)) continue
      const path = pathOf(segments)
      const operation = describeOperation(context, segments, method, declared)
      paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Troco API',
      version: '1.0.0',
      summary: 'Charges, withdrawals and refunds by Pix',
      description: introduction(server),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    security: [{ token: [] }],
    tags: TAGS,
    paths,
    webhooks: describeWebhooks(shapes),
    'x-error-codes': ERROR_CODES,
    components: {
      securitySchemes: SECURITY,
      parameters: PARAMETERS,
      headers: HEADERS,
      responses,
      schemas: { ...shapes.shared, ...ERRORS },
    },
  }
}

/** Sorts by tag, lists before single items. */
function sortRoutes(routes: ServedRoute[]): ServedRoute[] {
  const rank = ({ segments }: ServedRoute) =>
    TAGS.findIndex(({ name }) => name === tagOf(segments)) * 10 + segments.length
  return routes.toSorted((one, other) => rank(one) - rank(other))
}

function describeWebhooks(shapes: Shapes): Json {
  const webhooks: Json = {}
  for (const [type, name] of shapes.webhooks) {
    const schema = { $ref: SCHEMAS_PATH + name }
    const { description } = shapes.resolveRef(schema)
    webhooks[type] = {
      post: {
        operationId: `on${name}`,
        summary: type,
        description,
        tags: ['Webhooks'],
        security: [],
        parameters: WEBHOOK_HEADERS.map(header => ({
          $ref: `#/components/parameters/${header}`,
        })),
        requestBody: {
          required: true,
          content: { 'application/json': { schema, example: shapes.exampleOf(schema) } },
        },
        responses: {
          '2XX': { description: 'Received. Any other response, or none, causes a retry.' },
          410: { description: 'Stops the retries.' },
        },
      },
    }
  }
  return webhooks
}

/** Introduction of the document. The guides of the documentation have the rest. */
function introduction(server: string): string {
  const docs = new URL('/docs/en', server).href
  return [
    'Create Pix charges, receive signed webhooks when they are paid, refund them, and withdraw the balance to a Pix key. Requests and responses are JSON. Amounts are integers in cents, times are ISO 8601 in UTC.',
    `Guides: [first charge](${docs}/first-charge), [webhooks](${docs}/webhooks), [testing](${docs}/testing), [errors and retries](${docs}/errors-and-retries), [reconciling](${docs}/reconciling), [going live](${docs}/going-live). Error codes with cause and remedy: ${docs}/errors.`,
    'Integers are at most 2^53 − 1, which JavaScript stores exactly. Their `format: int64` is for languages whose integers have 32 bits: if your generator makes a `bigint` of it, set it to use numbers, as the JSON has.',
    'This is version 1.0.0 of the API. Fields, events and optional parameters may be added; ignore those that you do not know. The meaning of what is described here does not change.',
  ].join('\n\n')
}

const TAGS = [
  {
    name: 'Charges',
    description:
      'A charge requests one payment with a code that the payer copies or scans. It is created `pending` and becomes `paid`, `expired` or `failed`. If the bank reports a late payment, an expired or failed charge still becomes `paid`.',
  },
  {
    name: 'Refunds',
    description:
      'A refund returns a payment to the payer, in full or in parts, within 90 days. What the payer disputes cannot be refunded until the dispute ends. The amount is held at once. It leaves the account when the refund is `completed` and returns to the balance when it is `rejected`.',
  },
  {
    name: 'Disputes',
    description:
      'A payer can dispute a payment at the bank. The disputed amount is held until the dispute is `won` or `lost`. Your administrator answers it.',
  },
  {
    name: 'Withdrawals',
    description:
      'A withdrawal sends money from the balance to a Pix key. The amount is held at once. It leaves the account when the withdrawal is `approved` and returns to the balance when it is `rejected`.',
  },
  {
    name: 'Account',
    description: 'The account of the token, its available balance and statement.',
  },
  {
    name: 'Events',
    description: 'All events in order, for programs that cannot receive webhooks.',
  },
  {
    name: 'Endpoints',
    description:
      'An endpoint receives events of the account, of the types chosen for it, as signed webhooks. Each has a secret of its own, which is shown when it is created or rotated and never again.',
  },
  {
    name: 'Deliveries',
    description:
      'A delivery sends one event to one URL: to an endpoint, or to the `webhook_url` of a charge or withdrawal. It keeps each attempt with its request and response.',
  },
  {
    name: 'Tokens',
    description:
      'A token with `tokens:write` issues tokens with at most its own permissions, in its own mode, which end with it.',
  },
  {
    name: 'Requests',
    description: 'The log of the requests that your tokens sent, to find what went wrong.',
  },
  {
    name: 'Sandbox',
    description: 'The simulated bank of test mode. With a live token these paths respond 404.',
  },
  {
    name: 'Webhooks',
    description:
      'Signed POST requests to the `webhook_url` of a charge or withdrawal, retried until the receiver accepts them. See the guide to webhooks.',
  },
]

const SECURITY: Json = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token of the account: `troco_test_…` or `troco_live_…`.',
  },
}

const PARAMETERS: Record<string, Json> = {
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

const HEADERS: Record<string, Json> = {
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

const ERRORS: Record<string, Json> = {
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
