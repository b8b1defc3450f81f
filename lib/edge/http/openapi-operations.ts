import type { Endpoint } from '#lib/edge/http/endpoint.ts'
import { headerRefs, refusalsOf } from '#lib/edge/http/openapi-answers.ts'
import { samplesOf } from '#lib/edge/http/openapi-samples.ts'
import type { Json, Shapes } from '#lib/edge/http/openapi-schemas.ts'

type Declared = Endpoint['declared']

const NOUNS: Record<string, { tag: string; one: string }> = {
  account: { tag: 'Account', one: 'Account' },
  transactions: { tag: 'Charges', one: 'Charge' },
  refunds: { tag: 'Refunds', one: 'Refund' },
  withdrawals: { tag: 'Withdrawals', one: 'Withdrawal' },
  events: { tag: 'Events', one: 'Event' },
}

export interface Context {
  shapes: Shapes
  responses: Json
  server: string
}

export function describeOperation(
  { shapes, responses, server }: Context,
  segments: string[],
  method: string,
  declared: Declared,
): Json {
  const { body, query, once } = declared
  const writes = method !== 'GET'
  const places = segments.filter(isOpen).map(part => pathParameter(segments, part))
  const content = body && requestBody(shapes, shapes.of(body.test, 'input'))
  const parameters = [
    ...places,
    ...(query ? queryParameters(shapes.of(query, 'input')) : []),
    ...(once ? [{ $ref: '#/components/parameters/Idempotency-Key' }] : []),
  ]
  return {
    operationId: operationId(segments, method),
    summary: declared.summary,
    description: descriptionOf(declared),
    tags: [tagOf(segments)],
    'x-required-permission': declared.allow,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(content ? { requestBody: content.described } : {}),
    responses: {
      200: success(shapes, shapes.of(declared.answer, 'output'), once !== undefined),
      ...refusalsOf(declared, writes, responses),
    },
    'x-codeSamples': samplesOf({
      method,
      url:
        server +
        places.reduce(
          (path, { name, example }) => path.replace(`{${name}}`, String(example)),
          pathOf(segments),
        ),
      body: content?.example,
      once: once !== undefined && segments[0] !== 'sandbox',
    }),
  }
}

function descriptionOf({ description, allow, once }: Declared): string {
  const names = [allow].flat().map(name => `\`${name}\``)
  const [permission = '', ...others] = names
  const needs =
    others.length > 0
      ? `one of the permissions ${names.join(', ')}`
      : `the permission ${permission}`
  const kept = once && (once.keptS > 86_400 ? `${once.keptS / 86_400} days` : '24 hours')
  return [
    ...(description ? [description] : []),
    `Requires ${needs}.`,
    ...(kept ? [`With an \`Idempotency-Key\`, the response is stored for ${kept}.`] : []),
  ].join('\n\n')
}

/** Returns the path in OpenAPI syntax: /transactions/{id}. */
export function pathOf(segments: string[]): string {
  return `/${segments.map(part => (isOpen(part) ? `{${part.slice(1, -1)}}` : part)).join('/')}`
}

function isOpen(part: string): boolean {
  return part.startsWith('[')
}

export function tagOf(segments: string[]): string {
  return segments[0] === 'sandbox' ? 'Sandbox' : nounOf(segments).tag
}

/** Returns the tag and name for the last fixed segment of the path. */
function nounOf(segments: string[]): { tag: string; one: string } {
  const last = segments.findLast(part => !isOpen(part)) ?? ''
  const name = last.charAt(0).toUpperCase() + last.slice(1)
  return NOUNS[last] ?? { tag: name, one: name }
}

function operationId(segments: string[], method: string): string {
  const { one } = nounOf(segments)
  const names = isOpen(segments.at(-1) ?? '') || segments.at(-1) === 'account'
  if (segments[0] === 'sandbox') return `simulate${one}`
  if (method === 'GET') return names ? `get${one}` : `list${one}s`
  return method === 'POST' ? `create${one}` : method.toLowerCase() + one
}

function pathParameter(segments: string[], part: string): Json {
  const name = part.slice(1, -1)
  const { one } = nounOf(segments.slice(0, segments.indexOf(part)))
  const isOurs = one === 'Refund'
  return {
    name,
    in: 'path',
    required: true,
    description: `Id${isOurs ? '' : ' or `external_id`'} of the ${one.toLowerCase()}.`,
    schema: { type: 'string', ...(isOurs ? { format: 'uuid' } : {}) },
    example: isOurs ? '01a1fbbf-20d3-7b1a-9c55-7e3a1d2f4b60' : 'order-1048',
  }
}

function queryParameters({ properties = {} }: Json): Json[] {
  return Object.entries(properties as Record<string, Json>).map(([name, shape]) => {
    const { description, examples, ...schema } = shape
    const [example = schema.default] = (examples as unknown[] | undefined) ?? []
    return { name, in: 'query', description, schema, example }
  })
}

/** Describes the body. Its example has only the required fields, like the code samples. */
function requestBody(shapes: Shapes, schema: Json) {
  const example = shapes.exampleOf(schema, 'required')
  const required = shapes.find(schema).required !== undefined
  return { described: { required, content: { 'application/json': { schema, example } } }, example }
}

function success(shapes: Shapes, schema: Json, once: boolean): Json {
  const names = ['X-Request-Id', 'RateLimit-Policy', 'RateLimit']
  return {
    description: 'Success.',
    headers: headerRefs(once ? [...names, 'Idempotent-Replayed'] : names),
    content: { 'application/json': { schema, example: shapes.exampleOf(schema) } },
  }
}
