import { type ApiDocument, resolve, type Schema } from '#lib/docs/document.ts'
import { inlineCode, table } from '#lib/docs/markdown.ts'
import type { ReferenceWords } from '#lib/docs/words.ts'

interface Field {
  name: string
  type: string
  text: string
}

/** Lists the fields of a schema as a table in Markdown; fields within others have dotted names. */
export function fieldTable(
  document: ApiDocument,
  words: ReferenceWords,
  schema: Schema,
  marksRequired: boolean,
): string {
  const fields = listFields(document, words, schema, '', marksRequired)
  return table(
    [words.field, words.type, words.description],
    fields.map(({ name, type, text }) => [name, type, text]),
  )
}

function listFields(
  document: ApiDocument,
  words: ReferenceWords,
  schema: Schema,
  prefix: string,
  marksRequired: boolean,
): Field[] {
  const { properties, required } = mergeParts(document, schema)
  return Object.entries(properties).flatMap(([key, part]) => {
    const name = `${prefix}${key}`
    const own = { ...mergeParts(document, part).own, ...part }
    const items = own.items as Schema | undefined
    const inner = items ? resolve<Schema>(document, items) : own
    const mark = marksRequired && required.includes(key) ? ` **${words.required}**` : ''
    return [
      {
        name: `${inlineCode(name)}${mark}`,
        type: describeType(document, words, part),
        text: String(own.description ?? ''),
      },
      ...listFields(document, words, inner, items ? `${name}[].` : `${name}.`, marksRequired),
    ]
  })
}

interface MergedSchema {
  own: Schema
  properties: Record<string, Schema>
  required: string[]
}

/** Resolves references and joins the parts of `allOf`. */
function mergeParts(document: ApiDocument, schema: Schema): MergedSchema {
  const own = resolve<Schema>(document, schema)
  const parts = [
    own,
    ...((own.allOf ?? []) as Schema[]).map(part => resolve<Schema>(document, part)),
  ]
  return {
    own,
    properties: Object.assign({}, ...parts.map(part => part.properties ?? {})),
    required: parts.flatMap(part => (part.required ?? []) as string[]),
  }
}

/** Describes the type and its limits in one line. */
export function describeType(document: ApiDocument, words: ReferenceWords, part: Schema): string {
  const schema = { ...resolve<Schema>(document, part), ...part }
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (options)
    return options.map(option => describeType(document, words, option)).join(` ${words.or} `)
  if (schema.const !== undefined) return inlineCode(JSON.stringify(schema.const))
  if (schema.enum)
    return (schema.enum as unknown[]).map(value => inlineCode(String(value))).join(', ')
  const types = [schema.type ?? 'object'].flat() as string[]
  const details = [...describeFormat(schema), ...describeLimits(schema, words)]
  const names = types.map(type => (type === 'array' ? words.list : type)).join(` ${words.or} `)
  return details.length > 0 ? `${names}, ${details.join(', ')}` : names
}

function describeFormat({ format }: Schema): string[] {
  return typeof format === 'string' && format !== 'int64' ? [format] : []
}

function describeLimits(schema: Schema, words: ReferenceWords): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties } = schema
  const { default: standard } = schema
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ` ${words.characters}`),
    ...range(minItems, maxItems, ` ${words.entries}`),
    ...range(undefined, maxProperties, ` ${words.keys}`),
    ...(standard === undefined ? [] : [`${words.default} ${inlineCode(String(standard))}`]),
  ]
}

function range(min: unknown, max: unknown, unit: string): string[] {
  if (min !== undefined && max !== undefined) return [`${min} – ${max}${unit}`]
  if (min !== undefined) return [`≥ ${min}${unit}`]
  return max === undefined ? [] : [`≤ ${max}${unit}`]
}
