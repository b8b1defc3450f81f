import type { Schema } from '#lib/docs/site.ts'

/**
 * Rewrites a document of OpenAPI 3.1 as 3.0.3, for generators that do not read 3.1: no lists of types, no
 * constants, no keywords beside `$ref`, one example for each schema, and no webhooks.
 */
export function toOpenApi30(document: object): Schema {
  const { webhooks: _, info, components, ...rest } = document as Schema
  const { license, summary: __, ...about } = info as { license: { name: string } } & Schema
  const { parameters = {}, ...others } = components as Record<string, Schema>
  const used = JSON.stringify(rest)
  const usedParameters = Object.entries(parameters).filter(([name]) =>
    used.includes(`#/components/parameters/${name}"`),
  )
  return {
    ...(rewrite(rest) as Schema),
    openapi: '3.0.3',
    info: { ...about, license: { name: license.name, url: LICENSE_URL } },
    components: {
      parameters: rewrite(Object.fromEntries(usedParameters)),
      ...(rewrite(others) as Schema),
    },
  }
}

const LICENSE_URL = 'https://www.apache.org/licenses/LICENSE-2.0'

/** Values of these keys are examples or code, not schemas. */
const IS_DATA = new Set(['example', 'value', 'x-codeSamples', 'enum', 'default'])

function rewrite(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(rewrite)
  if (typeof part !== 'object' || part === null) return part
  const entries = Object.entries(part).map(([key, value]) => [
    key,
    IS_DATA.has(key) ? value : rewrite(value),
  ])
  return rewriteSchema(Object.fromEntries(entries))
}

function rewriteSchema(schema: Schema): Schema {
  const { const: constant, examples, type, contentMediaType, $ref, pattern, ...rest } = schema
  const isList = Array.isArray(examples)
  const rewritten: Schema = {
    ...rest,
    ...(constant === undefined ? {} : { type: typeof constant, enum: [constant] }),
    ...(examples === undefined ? {} : isList ? { example: examples[0] } : { examples }),
    ...(type === undefined ? {} : splitTypes(type)),
    ...(isReadablePattern(pattern, rest.format) ? { pattern } : {}),
    ...(contentMediaType === undefined ? {} : { format: 'binary' }),
  }
  if (typeof $ref === 'string') {
    return Object.keys(rewritten).length > 0 ? { allOf: [{ $ref }], ...rewritten } : { $ref }
  }
  return splitNull(rewritten)
}

/** Generators that parse a date-time compile no pattern for it, and one of them knows no class such as `\p{C}`. */
function isReadablePattern(pattern: unknown, format: unknown): boolean {
  return typeof pattern === 'string' && format !== 'date-time' && !/\\p\{/i.test(pattern)
}

function splitTypes(type: unknown): Schema {
  if (!Array.isArray(type)) return { type }
  const named = type.filter(name => name !== 'null')
  const nullable = named.length < type.length ? { nullable: true } : {}
  if (named.length === 1) return { type: named[0], ...nullable }
  return { anyOf: named.map(name => ({ type: name, ...nullable })) }
}

/** An enumeration of 3.0 names null, too: `nullable` alone does not allow it. */
function allowNull({ enum: values }: Schema): Schema {
  return { nullable: true, ...(Array.isArray(values) ? { enum: [...values, null] } : {}) }
}

/** Replaces an option of type null by `nullable`. */
function splitNull(schema: Schema): Schema {
  for (const key of ['anyOf', 'oneOf']) {
    const options = schema[key] as Schema[] | undefined
    const others = options?.filter(({ type }) => type !== 'null')
    if (!options || !others || others.length === options.length) continue
    const { [key]: _, ...rest } = schema
    const nullable = others.map(option => ({ ...option, ...allowNull(option) }))
    return nullable.length === 1 ? { ...nullable[0], ...rest } : { ...rest, [key]: nullable }
  }
  return schema
}
