import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect, test } from 'vitest'
import { toOpenApi30 } from '#e2e/torture/openapi30.ts'
import { buildDocument } from '#lib/http/openapi.ts'
import { loadRoutes } from '#lib/http/routes.ts'

test('the document as OpenAPI 3.0 satisfies the recommended rules of Redocly', async () => {
  const document = toOpenApi30(buildDocument(await loadRoutes(), 'https://pix.troco.test'))
  expect(document.openapi).toBe('3.0.3')
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  expect(
    problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
  ).toEqual([])
})

test('null, constants and examples are written as 3.0 writes them', () => {
  const schemas = {
    Name: { type: ['string', 'null'], examples: ['Ana', 'Bia'] },
    Kind: { const: 'paid' },
    Owner: { $ref: '#/components/schemas/Name', description: 'Owner' },
    Either: { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }], description: 'One' },
    Number: { type: ['number', 'string', 'null'] },
    Image: { type: 'string', contentMediaType: 'image/png' },
    At: { type: 'string', format: 'date-time', pattern: 'Z$' },
    Code: { type: 'string', pattern: '^E' },
  }
  const info = { summary: 'S', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } }
  const { components } = toOpenApi30({
    openapi: '3.1.0',
    info,
    webhooks: {},
    components: { schemas },
  })
  expect(components).toEqual({
    parameters: {},
    schemas: {
      Name: { type: 'string', nullable: true, example: 'Ana' },
      Kind: { type: 'string', enum: ['paid'] },
      Owner: { allOf: [{ $ref: '#/components/schemas/Name' }], description: 'Owner' },
      Either: { type: 'string', enum: ['a', null], nullable: true, description: 'One' },
      Image: { type: 'string', format: 'binary' },
      At: { type: 'string', format: 'date-time' },
      Code: { type: 'string', pattern: '^E' },
      Number: {
        anyOf: [
          { type: 'number', nullable: true },
          { type: 'string', nullable: true },
        ],
      },
    },
  })
})
