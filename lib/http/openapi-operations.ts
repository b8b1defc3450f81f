import { Invariant } from '#lib/core/invariant.ts'
import type { Endpoint } from '#lib/http/endpoint.ts'
import {
  describeErrorResponses,
  headerRefs,
  type Json,
  type Shapes,
} from '#lib/http/openapi-responses.ts'

type Declared = Endpoint['declared']

interface OperationContext {
  shapes: Shapes
  responses: Json
  server: string
}

export function describeOperation(
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
      file: declared.fileType && segments.at(-1),
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
  fileType?: string,
): Json {
  const json = { 'application/json': { schema, example: shapes.exampleOf(schema) } }
  const file = { [String(fileType)]: { schema: { type: 'string', contentMediaType: fileType } } }
  return {
    description: 'Success.',
    headers: headerRefs(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', ...more]),
    content: fileType ? file : json,
  }
}

const NOUNS: Record<string, { tag: string; singular: string }> = {
  account: { tag: 'Account', singular: 'Account' },
  transactions: { tag: 'Charges', singular: 'Charge' },
  refunds: { tag: 'Refunds', singular: 'Refund' },
  disputes: { tag: 'Disputes', singular: 'Dispute' },
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

export function pathOf(segments: string[]): string {
  return `/${segments.map(part => (isParameter(part) ? `{${part.slice(1, -1)}}` : part)).join('/')}`
}

function isParameter(part: string): boolean {
  return part.startsWith('[')
}

export function tagOf(segments: string[]): string {
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
