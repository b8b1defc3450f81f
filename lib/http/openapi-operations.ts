import { Invariant } from '#lib/core/invariant.ts'
import type { Endpoint } from '#lib/http/endpoint.ts'
import { isParameter, nounOf, pathOf, tagOf } from '#lib/http/openapi-names.ts'
import { describeErrorResponses, headerRefs } from '#lib/http/openapi-responses.ts'
import { buildSamples } from '#lib/http/openapi-samples.ts'
import type { Json, Shapes } from '#lib/http/openapi-schemas.ts'

type Declared = Endpoint['declared']

export interface OperationContext {
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
