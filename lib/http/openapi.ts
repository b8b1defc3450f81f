import type { Endpoint } from '#lib/http/endpoint.ts'
import { pathOf, tagOf } from '#lib/http/openapi-names.ts'
import { describeOperation } from '#lib/http/openapi-operations.ts'
import { ERRORS, HEADERS, PARAMETERS, SECURITY } from '#lib/http/openapi-parts.ts'
import { introduction, TAGS } from '#lib/http/openapi-prose.ts'
import { ERROR_CODES } from '#lib/http/openapi-refusals.ts'
import { type Json, SCHEMAS_PATH, Shapes } from '#lib/http/openapi-schemas.ts'
import { isForPagesOnly } from '#lib/people/roles.ts'

const WEBHOOK_HEADERS = [
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ...['traceparent', 'troco-request-id'],
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
