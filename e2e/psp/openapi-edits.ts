import { type OpenApi, resolve, type Schema } from './openapi.ts'
import type { Kind } from './settings.ts'

/** A change of Banco Central's document, without which it contradicts itself or describes too little. */
export interface Correction {
  name: string
  reason: string
  /** The only kind of bank whose deviation this describes. */
  kind?: Kind
  apply: (document: OpenApi) => void
}

const TEXT = { type: 'string' }
/** Error of OAuth 2.0 (RFC 6749, 5.2). */
export const OAUTH_ERROR = {
  type: 'object',
  required: ['error'],
  properties: { error: TEXT, error_description: TEXT },
}

export function schemaOf({ components }: OpenApi, name: string): Schema {
  const schema = components.schemas?.[name]
  if (!schema) throw new Error(`The document has no schema ${name}: is it version 2.9.0?`)
  return schema
}

export function propertiesOf(document: OpenApi, name: string): Record<string, Schema> {
  return schemaOf(document, name).properties as Record<string, Schema>
}

/** Visits every object of the document, among them all schemas and their lists of properties. */
export function forEachSchema(part: unknown, visit: (schema: Schema) => void): void {
  if (typeof part !== 'object' || part === null) return
  if (!Array.isArray(part)) visit(part as Schema)
  for (const inner of Object.values(part)) forEachSchema(inner, visit)
}

/** Adds the content to the responses with these statuses of every operation. */
export function addResponses(
  document: OpenApi,
  statuses: number[],
  content: Record<string, { schema: Schema }>,
): void {
  for (const path of Object.values(document.paths))
    for (const { responses } of Object.values(path))
      for (const status of responses ? statuses : []) {
        const known = resolve(document, responses[status])
        responses[status] = { content: { ...known?.content, ...content } }
      }
}
