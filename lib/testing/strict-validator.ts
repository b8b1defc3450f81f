import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export type Json = Record<string, unknown>

export interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Json> }>>
  components: { schemas: Record<string, Json>; responses: Record<string, Json> }
}

const SCHEMAS = '#/components/schemas/'

/** Makes validators that refuse additional properties, although clients must accept them. */
export function makeStrictValidator(document: Document): (schema: Json) => ValidateFunction {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
  ajv.addKeyword('discriminator')
  formats.default(ajv)
  const { schemas } = document.components
  const parts = new Set(listParts(schemas))
  for (const [name, schema] of Object.entries(schemas)) {
    ajv.addSchema(closeSchema(schema, parts.has(SCHEMAS + name)) as Json, SCHEMAS + name)
  }
  const compiled = new Map<Json, ValidateFunction>()
  return schema => {
    const validator = compiled.get(schema) ?? ajv.compile(closeSchema(schema) as Json)
    compiled.set(schema, validator)
    return validator
  }
}

/** Returns the schemas used within allOf. They stay open; the schema with the allOf is closed. */
function listParts(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { allOf = [] } = value as { allOf?: { $ref?: string }[] }
  return [...allOf.map(({ $ref = '' }) => $ref), ...Object.values(value).flatMap(listParts)]
}

function closeSchema(schema: unknown, isPart = false): unknown {
  if (Array.isArray(schema)) return schema.map(item => closeSchema(item, isPart))
  if (typeof schema !== 'object' || schema === null) return schema
  const closed: Json = { ...schema }
  for (const key of ['items', 'oneOf', 'anyOf', 'additionalProperties']) {
    if (key in closed) closed[key] = closeSchema(closed[key])
  }
  if (closed.allOf) {
    closed.allOf = closeSchema(closed.allOf, true)
    closed.type = 'object'
    closed.unevaluatedProperties = false
  }
  if (closed.properties) {
    const closedEntries = Object.entries(closed.properties).map(([name, part]) => [
      name,
      closeSchema(part),
    ])
    closed.properties = Object.fromEntries(closedEntries)
    if (!isPart) closed.additionalProperties ??= false
  }
  return closed
}
