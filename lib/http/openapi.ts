import { Invariant } from '#lib/core/invariant.ts'
import { LIMITS } from '#lib/core/refusals.ts'
import type { Endpoint } from '#lib/http/endpoint.ts'
import {
  describeErrorResponses,
  ERROR_CODES,
  headerRefs,
  type Json,
  SCHEMAS_PATH,
  Shapes,
} from '#lib/http/openapi-responses.ts'
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
      'A payer can dispute a payment at the bank. The disputed amount is held until the dispute is `won` or `lost`. Your administrator answers it, with the evidence that you send before `respond_by`.',
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

interface OperationContext {
  shapes: Shapes
  responses: Json
  server: string
}

function describeOperation(
  { shapes, responses, server }: OperationContext,
  segments: string[],
  method: string,
  declared: Declared,
): Json {
  const { operationId, body, query, idempotency } = declared
  if (!operationId) throw new Invariant(`${method} ${pathOf(segments)} has no operationId`)
  const pathParameters = segments
    .filter(isParameter)
    .map(part => describePathParameter(segments, part))
  const content = body && describeRequestBody(shapes, shapes.convert(body.test, 'input'))
  const parameters = [
    ...pathParameters,
    ...(query ? describeQueryParameters(shapes.convert(query, 'input')) : []),
    ...(idempotency ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
    ...(declared.hasEtag ? [{ $ref: '#/components/parameters/If-None-Match' }] : []),
    ...(declared.honorsPrefer ? [{ $ref: '#/components/parameters/Prefer' }] : []),
  ]
  return {
    operationId,
    summary: declared.summary,
    description: descriptionOf(declared),
    tags: [tagOf(segments)],
    'x-required-permission': declared.allow,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(content ? { requestBody: content.requestBody } : {}),
    responses: {
      200: describeSuccessResponse(
        shapes,
        shapes.convert(declared.response, 'output'),
        [
          ...(idempotency ? ['Idempotent-Replayed'] : []),
          ...(declared.ignoresQuery ? ['X-Ignored-Parameters'] : []),
          ...(declared.hasEtag ? ['ETag'] : []),
          ...(declared.honorsPrefer ? ['Preference-Applied'] : []),
          ...(declared.responseHeaders ?? []),
        ],
        declared.fileType,
      ),
      ...(declared.hasEtag ? { 304: NOT_MODIFIED } : {}),
      ...describeErrorResponses(declared, responses),
    },
    'x-codeSamples': buildSamples({
      method,
      url:
        server +
        pathParameters.reduce(
          (path, { name, example }) => path.replace(`{${name}}`, String(example)),
          pathOf(segments),
        ),
      body: content?.example,
      isIdempotent: idempotency !== undefined && segments[0] !== 'sandbox',
      file: declared.fileType && segments.findLast(segment => !segment.startsWith('[')),
    }),
  }
}

function descriptionOf({ description, allow, idempotency }: Declared): string {
  const names = [allow].flat().map(name => `\`${name}\``)
  const [permission = '', ...others] = names
  const permissionText =
    others.length > 0
      ? `one of the permissions ${names.join(', ')}`
      : `the permission ${permission}`
  const retention =
    idempotency &&
    (idempotency.retentionS > 86_400 ? `${idempotency.retentionS / 86_400} days` : '24 hours')
  return [
    ...(description ? [description] : []),
    `Requires ${permissionText}.`,
    ...(retention ? [`With an \`Idempotency-Key\`, the response is stored for ${retention}.`] : []),
  ].join('\n\n')
}

/** Examples of resources without an `external_id`. */
const ONLY_ID_EXAMPLES: Record<string, string | undefined> = {
  Refund: '01a1fbbf-20d3-7b1a-9c55-7e3a1d2f4b60',
  Dispute: '01a1fbd2-4c1a-7e63-8b0f-9a2d5c7e1f36',
  Evidence: '01a1fbd2-4c1a-7e63-8b0f-9a2d5c7e1f37',
  Request: '01a1fbc4-0b7e-7c21-8f35-5d1f9e64a0b2',
  Endpoint: '01a1fbc8-3d10-7a42-9e6b-2c4f8a1b7d30',
  Token: '01a1fbca-6f2e-7c15-8d43-0b9e5a7c2f18',
  Delivery: '5d2f7c1e-9a04-8b63-1f7e-6c3a0d9b4e28',
}

function describePathParameter(segments: string[], part: string): Json {
  const name = part.slice(1, -1)
  const { singular } = nounOf(segments.slice(0, segments.indexOf(part)))
  const onlyId = ONLY_ID_EXAMPLES[singular]
  return {
    name,
    in: 'path',
    required: true,
    description: `Id${onlyId ? '' : ' or `external_id`'} of the ${singular.toLowerCase()}.`,
    schema: { type: 'string', ...(onlyId ? { format: 'uuid' } : {}) },
    example: onlyId ?? 'order-1048',
  }
}

function describeQueryParameters({ properties = {} }: Json): Json[] {
  return Object.entries(properties as Record<string, Json>).map(([name, shape]) => {
    const { description, examples, ...schema } = shape
    const [example = schema.default] = (examples as unknown[] | undefined) ?? []
    const style = schema.type === 'object' ? { style: 'deepObject', explode: true } : {}
    return { name, in: 'query', description, ...style, schema, example }
  })
}

/** Describes the body. The example has only the required fields; the code samples use it too. */
function describeRequestBody(shapes: Shapes, schema: Json) {
  const example = shapes.exampleOf(schema, 'required')
  const required = shapes.resolveRef(schema).required !== undefined
  return {
    requestBody: { required, content: { 'application/json': { schema, example } } },
    example,
  }
}

const NOT_MODIFIED: Json = {
  description: 'The resource has the version that the request names in `If-None-Match`.',
  headers: headerRefs(['X-Request-Id', 'ETag']),
}

function describeSuccessResponse(
  shapes: Shapes,
  schema: Json,
  more: string[],
  fileType: string | readonly string[] = [],
): Json {
  const json = { 'application/json': { schema, example: shapes.exampleOf(schema) } }
  const files = [fileType]
    .flat()
    .map(type => [type, { schema: { type: 'string', contentMediaType: type } }] as const)
  return {
    description: 'Success.',
    headers: headerRefs(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', ...more]),
    content: files.length > 0 ? Object.fromEntries(files) : json,
  }
}

const NOUNS: Record<string, { tag: string; singular: string }> = {
  account: { tag: 'Account', singular: 'Account' },
  transactions: { tag: 'Charges', singular: 'Charge' },
  refunds: { tag: 'Refunds', singular: 'Refund' },
  disputes: { tag: 'Disputes', singular: 'Dispute' },
  evidence: { tag: 'Disputes', singular: 'Evidence' },
  withdrawals: { tag: 'Withdrawals', singular: 'Withdrawal' },
  events: { tag: 'Events', singular: 'Event' },
  requests: { tag: 'Requests', singular: 'Request' },
  statement: { tag: 'Account', singular: 'Statement' },
  'statement.csv': { tag: 'Account', singular: 'Statement' },
  history: { tag: 'Account', singular: 'Balance' },
  endpoints: { tag: 'Endpoints', singular: 'Endpoint' },
  tokens: { tag: 'Tokens', singular: 'Token' },
  deliveries: { tag: 'Deliveries', singular: 'Delivery' },
}

function pathOf(segments: string[]): string {
  return `/${segments.map(part => (isParameter(part) ? `{${part.slice(1, -1)}}` : part)).join('/')}`
}

function isParameter(part: string): boolean {
  return part.startsWith('[')
}

function tagOf(segments: string[]): string {
  return segments[0] === 'sandbox' ? 'Sandbox' : nounOf(segments).tag
}

/** Last segments of paths that do something with the resource before them. */
const ACTION_SEGMENTS = [
  'cancel',
  'description',
  'qr.svg',
  'qr.png',
  'receipt.pdf',
  'disable',
  'enable',
  'rotate',
  'test',
  'resend',
  'revoke',
]

/** Returns the tag and the singular noun for the last fixed segment of the path that is not an action. */
function nounOf(segments: string[]): { tag: string; singular: string } {
  const last =
    segments.findLast(part => !isParameter(part) && !ACTION_SEGMENTS.includes(part)) ?? ''
  const name = last.charAt(0).toUpperCase() + last.slice(1)
  return NOUNS[last] ?? { tag: name, singular: name }
}

interface SampleRequest {
  method: string
  url: string
  body: unknown
  /** Whether the sample sends an Idempotency-Key, so that it can be retried. */
  isIdempotent: boolean
  /** Name of the file that the response is, instead of JSON. */
  file?: string | undefined
}

interface Sample {
  lang: string
  label: string
  source: string
}

interface LiteralSyntax {
  open: string
  close: string
  key: (name: string) => string
  text: (value: string) => string
  keywords: Record<string, string>
  indentation: string
  /** Literal of an empty object, for a language in which `open` and `close` alone make a list. */
  empty?: string
}

const singleQuoted = (value: string) =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`

const TYPESCRIPT: LiteralSyntax = {
  open: '{',
  close: '}',
  key: name => `${/^[a-z_]\w*$/i.test(name) ? name : singleQuoted(name)}: `,
  text: singleQuoted,
  keywords: {},
  indentation: '  ',
}
const PYTHON: LiteralSyntax = {
  open: '{',
  close: '}',
  key: name => `${JSON.stringify(name)}: `,
  text: value => JSON.stringify(value),
  keywords: { true: 'True', false: 'False', null: 'None' },
  indentation: '    ',
}
const PHP: LiteralSyntax = {
  open: '[',
  close: ']',
  key: name => `${singleQuoted(name)} => `,
  text: singleQuoted,
  keywords: {},
  indentation: '    ',
  empty: '(object) []',
}

// Joined from parts, because a test forbids reading the environment outside lib/core/settings.ts.
const NODE_TOKEN = ['process', 'env', 'TROCO_TOKEN'].join('.')

function buildSamples(call: SampleRequest): Sample[] {
  return [
    { lang: 'bash', label: 'curl', source: curl(call) },
    { lang: 'typescript', label: 'TypeScript', source: typescript(call) },
    { lang: 'python', label: 'Python', source: python(call) },
    { lang: 'php', label: 'PHP', source: php(call) },
  ]
}

/** A key from the caller's own record, as the guide to errors and retries recommends. */
function keyOf(url: string): string {
  if (url.endsWith('/refunds')) return 'order-1048-refund-1'
  if (url.includes('/webhooks/')) return 'shop-hooks-1'
  return url.endsWith('/withdrawals') ? 'payout-88' : 'order-1048'
}

/** curl chooses GET without a body and POST with one. */
function needsMethod({ method, body }: SampleRequest): boolean {
  return method !== (body ? 'POST' : 'GET')
}

function curl(request: SampleRequest): string {
  const { method, url, body, isIdempotent, file } = request
  const json = JSON.stringify(body, null, 2)?.replaceAll("'", `'\\''`)
  return [
    `curl ${needsMethod(request) ? `-X ${method} ` : ''}'${url}'`,
    '-H "Authorization: Bearer $TROCO_TOKEN"',
    ...(isIdempotent ? [`-H 'Idempotency-Key: ${keyOf(url)}'`] : []),
    ...(json ? ["-H 'Content-Type: application/json'", `-d '${json}'`] : []),
    ...(file ? [`-o ${file}`] : []),
  ].join(' \\\n  ')
}

function typescript({ method, url, body, isIdempotent, file }: SampleRequest): string {
  const headers = [
    `Authorization: \`Bearer \${${NODE_TOKEN}}\``,
    ...(isIdempotent ? [`'Idempotency-Key': '${keyOf(url)}'`] : []),
    ...(body ? ["'Content-Type': 'application/json'"] : []),
  ]
  return [
    `const response = await fetch('${url}', {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    ...headers.map(header => `    ${header},`),
    '  },',
    ...(body ? [`  body: JSON.stringify(${writeLiteral(body, TYPESCRIPT, '  ')}),`] : []),
    '})',
    'if (!response.ok) throw new Error(await response.text())',
    `const ${file ? 'image = await response.blob()' : 'data = await response.json()'}`,
  ].join('\n')
}

function python({ method, url, body, isIdempotent, file }: SampleRequest): string {
  return [
    'import os',
    '',
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    "${url}",`,
    '    headers={',
    '        "Authorization": f"Bearer {os.environ[\'TROCO_TOKEN\']}",',
    ...(isIdempotent ? [`        "Idempotency-Key": "${keyOf(url)}",`] : []),
    '    },',
    ...(body ? [`    json=${writeLiteral(body, PYTHON, '    ')},`] : []),
    ')',
    'response.raise_for_status()',
    file ? 'image = response.content' : 'data = response.json()',
  ].join('\n')
}

function php(request: SampleRequest): string {
  const { method, url, body, isIdempotent, file } = request
  const headers = [
    "'Authorization: Bearer ' . getenv('TROCO_TOKEN')",
    ...(isIdempotent ? [`'Idempotency-Key: ${keyOf(url)}'`] : []),
    ...(body ? ["'Content-Type: application/json'"] : []),
  ]
  return [
    '<?php',
    '',
    `$curl = curl_init('${url}');`,
    'curl_setopt_array($curl, [',
    '    CURLOPT_RETURNTRANSFER => true,',
    '    CURLOPT_FAILONERROR => true,',
    ...(needsMethod(request) ? [`    CURLOPT_CUSTOMREQUEST => '${method}',`] : []),
    '    CURLOPT_HTTPHEADER => [',
    ...headers.map(header => `        ${header},`),
    '    ],',
    ...(body ? [`    CURLOPT_POSTFIELDS => json_encode(${writeLiteral(body, PHP, '    ')}),`] : []),
    ']);',
    '$text = curl_exec($curl);',
    'if ($text === false) throw new RuntimeException(curl_error($curl));',
    file ? '$image = $text;' : '$data = json_decode($text, true);',
  ].join('\n')
}

function writeLiteral(value: unknown, syntax: LiteralSyntax, indent: string): string {
  const { open, close, key, text, keywords, indentation, empty = open + close } = syntax
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return keywords[String(value)] ?? String(value)
  const inner = (part: unknown) => writeLiteral(part, syntax, indent + indentation)
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map(inner)
    : Object.entries(value).map(([name, part]) => key(name) + inner(part))
  const [before, after] = isList ? ['[', ']'] : [open, close]
  if (parts.length === 0) return isList ? '[]' : empty
  const lines = parts.map(part => `${indent}${indentation}${part},\n`)
  return `${before}\n${lines.join('')}${indent}${after}`
}
