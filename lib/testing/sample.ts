import * as z from 'zod'
import { CANARY } from '#lib/testing/canary.ts'

/** Chooses among the alternatives of a schema. */
export interface Chooser {
  pick<T>(list: readonly T[]): T
  between(min: number, max: number): number
  some<T>(list: readonly T[]): T[]
}

/** Deterministic: always the first alternative, the smallest number and no optional field. */
export const FIRST_CHOICE: Chooser = {
  pick: <T>(list: readonly T[]) => list[0] as T,
  between: min => min,
  some: () => [],
}

type JsonSchema = Record<string, unknown>

/** Values that a schema cannot describe, by field name. */
const FIELD_SAMPLES: Record<string, unknown> = {
  client_doc: CANARY.formattedDocument,
  client_email: 'ana@example.com',
  email: 'ana@example.com',
  pix_key: 'hold@example.com',
  pix_key_type: 'email',
  time_zone: 'America/Recife',
  // No process listens on this port.
  url: 'http://127.0.0.1:8009/hook',
  webhook_url: 'http://127.0.0.1:8009/hook',
}

const jsonSchemas = new WeakMap<z.ZodType, JsonSchema>()

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const known = jsonSchemas.get(schema)
  const shape =
    known ?? (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema)
  jsonSchemas.set(schema, shape)
  return shape
}

/** Makes a valid body or query from the schema that an endpoint declares. */
export function sampleOf(
  schema: z.ZodType,
  chooser: Chooser = FIRST_CHOICE,
  overrides: Record<string, unknown> = {},
): Record<string, unknown> {
  const json = jsonSchemaOf(schema)
  const sample = sampleObject(json, json, chooser)
  const replaced = Object.keys(sample).filter(name => name in overrides)
  return { ...sample, ...Object.fromEntries(replaced.map(name => [name, overrides[name]])) }
}

function sampleObject(
  schema: JsonSchema,
  root: JsonSchema,
  chooser: Chooser,
): Record<string, unknown> {
  const { properties = {}, required = [], oneOf, anyOf } = resolveReference(schema, root)
  const options = (oneOf ?? anyOf) as JsonSchema[] | undefined
  if (options) return sampleObject(chooser.pick(options), root, chooser)
  const parts = Object.entries(properties as Record<string, JsonSchema>)
  const isRequired = ([name]: [string, JsonSchema]) => (required as string[]).includes(name)
  const optional = chooser.some(parts.filter(part => !isRequired(part)))
  return Object.fromEntries(
    [...parts.filter(isRequired), ...optional].map(([name, part]) => [
      name,
      FIELD_SAMPLES[name] ?? sampleValue(part, root, chooser),
    ]),
  )
}

function sampleValue(schema: JsonSchema, root: JsonSchema, chooser: Chooser): unknown {
  const shape = resolveReference(schema, root)
  const { examples, enum: choices, items, type, minimum, maximum, pattern, maxLength } = shape
  if (shape.const !== undefined) return shape.const
  if (Array.isArray(choices)) return chooser.pick(choices)
  if (Array.isArray(examples)) return examples[0]
  const options = (shape.oneOf ?? shape.anyOf) as JsonSchema[] | undefined
  if (options) return sampleValue(chooser.pick(options), root, chooser)
  if (items) return [sampleValue(items as JsonSchema, root, chooser)]
  if (type === 'boolean') return chooser.pick([true, false])
  if (type === 'integer' || type === 'number') {
    const lowest = Math.max(Number(minimum ?? 1), 1)
    return chooser.between(lowest, Math.min(Number(maximum ?? lowest), lowest * 20))
  }
  if (type === 'object') return sampleObject(shape, root, chooser)
  if (String(pattern).startsWith('^\\d{1,')) return `${chooser.between(1, 100)}`
  if (shape.format === 'date-time') return new Date(Date.now() - HOUR_MS).toISOString()
  if (shape.format === 'date') return new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)
  return 'Recife'.slice(0, Number(maxLength ?? Number.POSITIVE_INFINITY))
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function resolveReference(shape: JsonSchema, root: JsonSchema): JsonSchema {
  const name = String(shape.$ref ?? '').replace('#/$defs/', '')
  return (root.$defs as Record<string, JsonSchema> | undefined)?.[name] ?? shape
}
