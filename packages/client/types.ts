/** Writes the TypeScript types of an OpenAPI 3.1 document, as far as Troco's document goes. */

type Schema = { [key: string]: unknown } & {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean
  description?: string
}

interface Parameter {
  in: string
  name: string
  required?: boolean
  description?: string
  schema: Schema
}

export interface Operation {
  operationId: string
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

export interface Document {
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, unknown>
  components: { schemas: Record<string, Schema> }
  'x-error-codes': { code: string }[]
}

/** Bodies of errors become a TrocoError, and the client declares the union of events itself. */
const LEFT_OUT = ['Error', 'FirstError', 'FieldErrors', 'Event']

export function writeTypes(document: Document): string {
  const { schemas } = document.components
  const shared = Object.entries(schemas).filter(([name]) => !LEFT_OUT.includes(name))
  const codes = document['x-error-codes'].map(({ code }) => code)
  const events = Object.entries(schemas).filter(([name, { properties }]) => {
    return properties?.sequence && properties.event && name !== 'OtherEvent'
  })
  return [
    ...shared.map(([name, schema]) => declare(name, schema)),
    ...queriesOf(document),
    `export type KnownEvent = ${events.map(([name]) => name).join(' | ')}\n`,
    `export type ErrorCode =\n${codes.map(code => `  | '${code}'`).join('\n')}\n`,
  ].join('\n')
}

function declare(name: string, schema: Schema): string {
  const comment = commentOf(schema.description, '')
  if (schema.type === 'object' && !schema.additionalProperties)
    return `${comment}export interface ${name} ${writeObject(schema, '')}\n`
  return `${comment}export type ${name} = ${writeType(schema, '')}\n`
}

/** The filters of each list, and the bodies that have no name in the document. */
function queriesOf({ paths }: Document): string[] {
  return Object.values(paths).flatMap(methods =>
    Object.values(methods).flatMap(({ operationId, parameters = [], requestBody }) => {
      const name = operationId.replace(/^./, first => first.toUpperCase())
      const query = parameters.filter((one): one is Parameter => 'in' in one && one.in === 'query')
      const fields = query.map(one => [one.name, { ...one.schema, description: one.description }])
      const properties: Record<string, Schema> = Object.fromEntries(fields)
      const body = requestBody?.content['application/json']?.schema
      return [
        ...(query.length > 0 ? [declare(`${name}Query`, { type: 'object', properties })] : []),
        ...(body?.properties ? [declare(`${name}Body`, body)] : []),
      ]
    }),
  )
}

function writeType(schema: Schema, indent: string): string {
  const { $ref, type, anyOf, allOf, items } = schema
  if ($ref) return $ref.slice($ref.lastIndexOf('/') + 1)
  if ('const' in schema) return quote(schema.const)
  if (schema.enum) return schema.enum.map(quote).join(' | ')
  if (anyOf) return unique(anyOf.map(one => writeType(one, indent))).join(' | ')
  if (allOf) return allOf.map(one => writeType(one, indent)).join(' & ')
  if (Array.isArray(type))
    return unique(type.map(one => writeType({ ...schema, type: one }, indent))).join(' | ')
  if (type === 'array') {
    const element = writeType(items ?? {}, indent)
    return element.includes(' ') ? `(${element})[]` : `${element}[]`
  }
  if (type === 'object')
    return schema.properties ? writeObject(schema, indent) : 'Record<string, unknown>'
  if (type === 'integer') return 'number'
  return type ?? 'unknown'
}

function writeObject({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?'
    const comment = commentOf(schema.description, inner)
    return `${comment}${inner}${name}${mark}: ${writeType(schema, inner)}\n`
  })
  return fields.length > 0 ? `{\n${fields.join('')}${indent}}` : '{}'
}

function commentOf(description: string | undefined, indent: string): string {
  return description ? `${indent}/** ${description.replaceAll('*/', '*\\/')} */\n` : ''
}

function quote(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function unique(types: string[]): string[] {
  return [...new Set(types)]
}
