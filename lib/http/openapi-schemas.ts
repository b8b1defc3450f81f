import * as z from 'zod'
import { Invariant } from '#lib/core/invariant.ts'

/** JSON Schema, or any other part of the document. */
export type Json = Record<string, unknown>

export const SCHEMAS_PATH = '#/components/schemas/'
const COMPOSITION_KEYWORDS = ['anyOf', 'oneOf', 'allOf']
const INT32_MAX = 2 ** 31 - 1
/** Longer patterns are unreadable, and are omitted if the schema has a format. */
const PATTERN_MAX = 60

/** Converts the endpoints' schemas to JSON Schema. A named schema is defined once. */
export class Shapes {
  readonly shared: Record<string, Json> = {}
  /** Schema name by event type. */
  readonly webhooks = new Map<string, string>()
  /** Fields of an example, also of a `$ref`, that replace fields of its schema's example. */
  readonly #samples = new WeakMap<Json, Json>()

  convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    return this.#convert(toJson(schema, io))
  }

  #convert({ $schema: _, $defs = {}, ...own }: Json): Json {
    for (const [name, shape] of Object.entries($defs as Record<string, Json>)) {
      const simplified = this.#simplify(shape)
      const existing = this.shared[name] ?? simplified
      if (JSON.stringify(existing) !== JSON.stringify(simplified)) {
        throw new Invariant(`Two different shapes are named ${name}`)
      }
      this.shared[name] = simplified
      if (typeof shape.webhook === 'string') this.webhooks.set(shape.webhook, name)
    }
    return this.#simplify(own)
  }

  resolveRef(shape: Json): Json {
    return this.shared[String(shape.$ref).slice(SCHEMAS_PATH.length)] ?? shape
  }

  exampleOf(shape: Json, fields: 'all' | 'required' = 'all'): unknown {
    const { examples, $ref, const: constant, enum: choices, items, allOf } = shape
    if (Array.isArray(examples)) return examples[0]
    if (constant !== undefined) return constant
    if (Array.isArray(choices)) return choices[0]
    if (items) return [this.exampleOf(items as Json)]
    if (typeof $ref === 'string') {
      const example = this.exampleOf(this.resolveRef(shape), fields)
      return typeof example === 'object' ? { ...example, ...this.#samples.get(shape) } : example
    }
    if (allOf) return Object.assign({}, ...(allOf as Json[]).map(part => this.exampleOf(part)))
    const [option] = (shape.oneOf ?? shape.anyOf ?? []) as Json[]
    if (option) return this.exampleOf(option, fields)
    const { properties = {}, required = [] } = shape as { properties?: Json; required?: string[] }
    const included = Object.entries(properties).filter(
      ([name]) => fields === 'all' || required.includes(name),
    )
    const parts = included.map(([name, part]) => [name, this.exampleOf(part as Json)])
    return { ...Object.fromEntries(parts), ...this.#samples.get(shape) }
  }

  #simplify(generated: Json): Json {
    const { like, sample, id: _, webhook: __, ...shape } = generated
    if (like) return { ...this.#convert(like as Json), ...annotationsOf(shape) }
    const simplifyPart = (part: unknown) => this.#simplify(part as Json)
    const { $ref, items, properties, additionalProperties: additional } = shape
    if (typeof $ref === 'string') shape.$ref = $ref.replace('#/$defs/', SCHEMAS_PATH)
    if (items) shape.items = simplifyPart(items)
    if (additional && typeof additional === 'object')
      shape.additionalProperties = simplifyPart(additional)
    for (const key of COMPOSITION_KEYWORDS) {
      if (shape[key]) shape[key] = (shape[key] as Json[]).map(simplifyPart)
    }
    if (properties) {
      const parts = Object.entries(properties).map(([name, part]) => [name, simplifyPart(part)])
      shape.properties = Object.fromEntries(parts)
    }
    const simplified = simplify(shape)
    if (sample) this.#samples.set(simplified, sample as Json)
    return simplified
  }
}

function toJson(schema: z.ZodType, io: 'input' | 'output'): Json {
  return z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ jsonSchema }) {
      // Clients must accept fields that a later version adds to a response.
      if (io === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties
      if (isSchema(jsonSchema.like)) jsonSchema.like = toJson(jsonSchema.like, io)
    },
  }) as Json
}

function isSchema(value: unknown): value is z.ZodType {
  return typeof value === 'object' && value !== null && '_zod' in value
}

function annotationsOf({ description, examples }: Json): Json {
  return { ...(description ? { description } : {}), ...(examples ? { examples } : {}) }
}

function simplify(generated: Json): Json {
  const { propertyNames: _, ...shape } = mergeNull(generated)
  const { additionalProperties: additional, format, pattern, minimum, maximum } = shape
  if (additional && Object.keys(additional).length === 0) shape.additionalProperties = true
  if (format && String(pattern).length > PATTERN_MAX) delete shape.pattern
  if (shape.type === 'integer') {
    if (minimum === Number.MIN_SAFE_INTEGER) delete shape.minimum
    if (maximum === Number.MAX_SAFE_INTEGER) delete shape.maximum
    // Without `int64`, code generators for other languages store amounts in 32 bits.
    if (Number(maximum) > INT32_MAX) shape.format = 'int64'
  }
  return shape
}

/** Merges `anyOf` with null into one schema with two types. */
function mergeNull(shape: Json): Json {
  const { anyOf, ...rest } = shape
  const [valueSchema, nullSchema, ...others] = (anyOf ?? []) as Json[]
  const isPlain = typeof valueSchema?.type === 'string' && !valueSchema.enum && !valueSchema.const
  if (nullSchema?.type !== 'null' || others.length > 0 || !isPlain) return shape
  return { ...valueSchema, ...rest, type: [valueSchema.type, 'null'] }
}

/** Returns a function that builds an example event of a type from the schema of an event page. */
export function eventSamples(page: z.ZodType): (type: string) => Json {
  const shapes = new Shapes()
  shapes.convert(page, 'output')
  return type => shapes.exampleOf({ $ref: SCHEMAS_PATH + shapes.webhooks.get(type) }) as Json
}
