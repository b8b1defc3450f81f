import { createConfig, lintFromString } from '@redocly/openapi-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { API_REFUSALS, INTERNAL_ERROR } from '#lib/core/refusals.ts'
import { buildDocument } from '#lib/http/openapi.ts'
import { GENERAL_CODES, SESSION_CODES } from '#lib/http/openapi-responses.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import frozen from '#lib/testing/frozen.json' with { type: 'json' }
import { type Document, type Json, makeStrictValidator } from '#lib/testing/strict-validator.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { EVENT_TYPES, TEST_EVENT_TYPES } from '#lib/webhooks/states.ts'

interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  parameters?: Json[]
  requestBody?: { required: boolean; content: Json }
  responses: Record<string, Json>
  'x-required-permission': string | string[]
}

let routes: Awaited<ReturnType<typeof loadRoutes>>
let document: Document & Json
beforeAll(async () => {
  routes = await loadRoutes()
  document = JSON.parse(JSON.stringify(buildDocument(routes, 'https://pix.troco.test/')))
})

function operations(): { path: string; method: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      operation: operation as unknown as Operation,
    })),
  )
}

function schema(name: string): { properties: Record<string, Json>; required: string[] } {
  return document.components.schemas[name] as ReturnType<typeof schema>
}

function mediaOf(part: unknown): Json {
  return (part as { content: Record<string, Json> }).content['application/json'] ?? {}
}

describe('the document', () => {
  test('satisfies the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source: JSON.stringify(document), config })
    expect(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ).toEqual([])
  })

  test('lists exactly the routes and methods of the API', () => {
    const apiRoutes = routes.filter(
      ({ segments }) => !/^(dashboard|visitor|person|admin)$/.test(segments[0] ?? ''),
    )
    const served = apiRoutes.flatMap(({ segments, handlers }) =>
      [...handlers.keys()]
        .filter(method => method !== 'HEAD')
        .map(method => `${method} /${segments.join('/')}`),
    )
    const documented = operations().map(({ path, method }) => {
      return `${method.toUpperCase()} ${path.replaceAll('{', '[').replaceAll('}', ']')}`
    })
    expect(documented.sort()).toEqual(served.sort())
  })

  test('contains the URL and the version of the API', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '1.0.0' },
      servers: [{ url: 'https://pix.troco.test/api' }],
    })
  })

  test('gives each operation the id that is pinned, a summary, a description and valid permissions', () => {
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(ids.toSorted()).toEqual(frozen.names.operations)
    for (const { operation } of operations()) {
      expect(operation.summary).toMatch(/^[A-Z].*[^.]$/)
      expect(operation.description).toMatch(/^[A-Z][\s\S]*\n\nRequires /)
      const allowed = [operation['x-required-permission']].flat()
      expect(allowed.length).toBeGreaterThan(0)
      for (const name of allowed) {
        expect(PERMISSIONS).toContain(name)
        expect(operation.description).toContain(`\`${name}\``)
      }
    }
  })

  test('lists each error code under its status, and no code of a session', () => {
    const documented = new Set(
      operations().flatMap(({ operation }) =>
        Object.entries(operation.responses).flatMap(([status, response]) =>
          codesOf(response).map(code => `${status} ${code}`),
        ),
      ),
    )
    const codes = Object.entries(API_REFUSALS).map(([code, { status }]) => `${status} ${code}`)
    const unlisted = [...GENERAL_CODES, ...SESSION_CODES]
    const general = codes.filter(row => unlisted.some(code => row.endsWith(` ${code}`)))
    expect([...documented, ...general].toSorted()).toEqual(
      [...codes, `${INTERNAL_ERROR.status} internal_error`].toSorted(),
    )
  })

  test('says of each error code what it means and what to do', () => {
    const { 'x-error-codes': codes } = document as unknown as {
      'x-error-codes': { code: string; status: number; cause: string; remedy: string }[]
    }
    const known = [...Object.keys(API_REFUSALS), 'internal_error']
    expect(codes.map(({ code }) => code).toSorted()).toEqual(known.toSorted())
    for (const { code, cause, remedy } of codes) {
      expect(cause, code).toMatch(/^[A-Z`].*\.$/s)
      expect(remedy, code).toMatch(/^[A-Z`].*\.$/s)
    }
  })

  test('has each operation under a declared tag', () => {
    const names = (document.tags as { name: string }[]).map(({ name }) => name)
    for (const { operation } of operations()) expect(names).toContain(operation.tags[0])
  })

  test('lists each event type with its payload', () => {
    const webhooks = document.webhooks as Record<string, { post: Operation }>
    expect(Object.keys(webhooks)).toEqual([...TEST_EVENT_TYPES])
    const exampleOf = (type: string) => mediaOf(webhooks[type]?.post.requestBody).example
    for (const type of EVENT_TYPES) {
      const [subject = '', event] = type.split('.')
      expect(exampleOf(type)).toMatchObject({ type, event, mode: 'test' })
      expect(exampleOf(type)).toHaveProperty(subject)
    }
    expect(exampleOf('troco.ping')).toMatchObject({ event: 'ping', sequence: 0 })
    expect(exampleOf('transaction.paid')).toMatchObject({
      client: { doc: '529.982.247-25' },
      products: [{ quantity: 1 }],
      utms: { utm_source: 'instagram' },
    })
    expect(exampleOf('transaction.dispute_closed')).toMatchObject({
      dispute: { status: 'lost', lost_amount: 1500 },
    })
    expect(exampleOf('transaction.refund_failed')).toMatchObject({
      transaction: { status: 'paid' },
      refund: { status: 'rejected', completed_at: null },
    })
  })
})

test('an event of an unknown type is valid, and one of a known type only with its fields', () => {
  const validate = makeStrictValidator(document)({ $ref: '#/components/schemas/Event' })
  const webhooks = document.webhooks as Record<string, { post: Operation }>
  const paid = mediaOf(webhooks['transaction.paid']?.post.requestBody).example as Json
  expect(validate(paid)).toBe(true)
  const { transaction, client, products, utms, ...head } = paid
  expect(validate(head)).toBe(false)
  expect(validate({ ...head, transaction })).toBe(true)
  expect(validate({ ...head, type: 'transaction.settled', event: 'settled' })).toBe(true)
})

describe('documented fields and limits of', () => {
  test('a charge', () => {
    const { properties, required } = schema('ChargeRequest')
    expect(required).toEqual(['amount', 'client_name', 'client_email', 'client_doc'])
    expect(properties).toMatchObject({
      amount: { type: 'integer', minimum: 500, maximum: 999_999_999_999 },
      client_name: { type: 'string', minLength: 1, maxLength: 255 },
      client_email: { type: 'string', format: 'email', maxLength: 254 },
      client_doc: { type: 'string' },
      client_phone: { type: 'string', maxLength: 30 },
      webhook_url: { type: 'string', format: 'uri', maxLength: 2048 },
      ip: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
      metadata: { type: 'object', maxProperties: 20, additionalProperties: true },
      utms: { type: 'object', additionalProperties: true },
      items: { type: 'array', maxItems: 50, items: { $ref: '#/components/schemas/Item' } },
      external_id: { type: 'string', minLength: 1, maxLength: 255 },
      expires_in: { type: 'integer', minimum: 60, maximum: 2_592_000 },
    })
    expect(Object.keys(schema('Item').properties)).toEqual(['name', 'price', 'quantity'])
    const created = schema('ChargeCreated').properties.data as ReturnType<typeof schema>
    expect(created.required).toEqual(['transaction_id', 'br_code', 'amount', 'status', 'metadata'])
    expect(created.properties.metadata).toMatchObject({ type: ['object', 'null'] })
  })

  test('a withdrawal', () => {
    const { properties, required } = schema('WithdrawalRequest')
    expect(required).toEqual(['amount', 'pix_key'])
    expect(properties).toMatchObject({
      amount: { type: 'integer', minimum: 1_000, maximum: 999_999_999_999 },
      pix_key: { type: 'string', maxLength: 77 },
      pix_key_type: { enum: ['cpf', 'cnpj', 'email', 'phone', 'random'] },
      webhook_url: { type: 'string', format: 'uri' },
    })
    const { data } = schema('WithdrawalCreated').properties
    expect((data as { required: string[] }).required).toEqual([
      'id',
      'amount',
      'status',
      'pix_key_type',
      'pix_key',
      'created_at',
    ])
  })

  test('the account and the error shapes', () => {
    expect(schema('Account').required).toEqual(['name', 'balance'])
    expect(schema('Error').properties).toMatchObject({ error: { type: 'string' } })
    expect(schema('FirstError').properties).toMatchObject({ errors: { type: 'string' } })
    expect(schema('FieldErrors').properties).toMatchObject({
      errors: { type: 'object', additionalProperties: { type: 'array' } },
    })
    const errorSchemas = ['/transactions', '/withdrawals'].map(
      path => mediaOf(document.paths[path]?.post?.responses[422]).schema,
    )
    expect(errorSchemas).toEqual([
      { $ref: '#/components/schemas/FirstError' },
      { $ref: '#/components/schemas/FieldErrors' },
    ])
  })
})

test('every example is valid for its schema, and every operation has one', () => {
  const validatorOf = makeStrictValidator(document)
  const samples = listSamples(document, '')
  const invalid = samples.filter(({ schema, value }) => !validatorOf(schema)(value))
  expect(invalid.map(({ location }) => location)).toEqual([])
  expect(samples.length).toBeGreaterThan(200)
  for (const { operation } of operations()) {
    const { content } = operation.responses[200] as { content: Json }
    const isFile = !('application/json' in content)
    for (const part of [operation.requestBody, isFile ? undefined : operation.responses[200]]) {
      const { example, examples } = part ? mediaOf(part) : { example: 'none' }
      expect(example ?? examples, operation.operationId).toBeDefined()
    }
  }
})

interface Sample {
  location: string
  schema: Json
  value: unknown
}

/** Finds each example (of a body, a parameter, a header or a field) with its schema. */
function listSamples(value: unknown, location: string): Sample[] {
  if (typeof value !== 'object' || value === null) return []
  const { schema, example, examples, type, anyOf } = value as Record<string, Json>
  const namedExamples = examples && !Array.isArray(examples) ? Object.values(examples) : []
  const values = example === undefined ? namedExamples.map(one => (one as Json).value) : [example]
  const ownSamples = schema ? values.map(value => ({ location, schema, value })) : []
  const isSchema = (type || anyOf) && Array.isArray(examples)
  const { examples: fieldExamples, ...rest } = value as Json
  const fields = isSchema
    ? (fieldExamples as unknown[]).map(one => ({ location, schema: rest, value: one }))
    : []
  const inner = Object.entries(value)
    .filter(([key]) => key !== 'example' && key !== 'examples')
    .flatMap(([key, part]) => listSamples(part, `${location}/${key}`))
  return [...ownSamples, ...fields, ...inner]
}

function codesOf(response: Json): string[] {
  const name = String(response.$ref).replace('#/components/responses/', '')
  const { headers } = (document.components.responses[name] ?? response) as { headers?: Json }
  const header = headers?.['X-Error-Code'] as { schema: { enum: string[] } } | undefined
  return header?.schema.enum ?? []
}
