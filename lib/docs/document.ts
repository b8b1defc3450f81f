import type { Locale } from '#lib/core/locale.ts'
import { REFERENCE_WORDS } from '#messages/words.ts'

/** The parts of an OpenAPI document that the documentation shows. */
export type Schema = Record<string, unknown>

export interface Header {
  description: string
  schema: Schema
}

export interface Parameter extends Header {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  example?: unknown
}

interface Content {
  schema: Schema
  example?: unknown
  examples?: Record<string, { summary: string; value: unknown }>
}

export interface Response {
  description: string
  headers?: Record<string, Schema>
  content?: Record<string, Content>
}

export interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters?: Schema[]
  requestBody?: { required: boolean; content: Record<string, Content> }
  responses: Record<string, Schema>
  'x-codeSamples'?: { lang: string; label: string; source: string }[]
}

export interface ApiDocument {
  info: { version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: Record<string, Record<string, unknown>>
}

/** Follows a `$ref` within the document; returns anything else as it is. */
export function resolve<Part>(document: ApiDocument, part: Schema): Part {
  if (typeof part.$ref !== 'string') return part as Part
  const [, , group = '', name = ''] = part.$ref.split('/')
  return document.components[group]?.[name] as Part
}

export function jsonOf(holder?: { content?: Record<string, Content> }): Content | undefined {
  return holder?.content?.['application/json']
}

/** Returns the document with each paragraph of its descriptions and summaries translated. */
export function translateDocument<Document>(
  document: Document,
  dictionary: Record<string, string>,
): Document {
  const translate = (value: unknown, key?: string): unknown => {
    if (typeof value === 'string') return key ? translateText(value, dictionary) : value
    if (Array.isArray(value)) return value.map(part => translate(part))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [
        name,
        IS_DATA.has(name) ? part : translate(part, IS_TEXT.has(name) ? name : undefined),
      ]),
    )
  }
  return translate(document) as Document
}

const IS_TEXT = new Set(['description', 'summary'])
/** Values of these keys are examples of data, whose fields may be named like a text. */
const IS_DATA = new Set(['example', 'value', 'x-codeSamples'])

function translateText(text: string, dictionary: Record<string, string>): string {
  return text
    .split('\n\n')
    .map(paragraph => dictionary[paragraph] ?? paragraph)
    .join('\n\n')
}

export type ReferenceWords = (typeof REFERENCE_WORDS)[Locale]['reference']

export function referenceWords(locale: Locale): ReferenceWords {
  return REFERENCE_WORDS[locale].reference
}

/** Writes a table in Markdown; no table without rows. */
export function table(head: string[], rows: string[][]): string {
  if (rows.length === 0) return ''
  const line = (cells: string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')
}

export function inlineCode(text: string): string {
  return `\`${text}\``
}

export function fence(language: string, source: string): string {
  return `\`\`\`${language}\n${source}\n\`\`\``
}

export function jsonFence(value: unknown): string {
  return fence('json', JSON.stringify(value, null, 2))
}

/** Joins blocks with empty lines between them, without those that are empty. */
export function blocks(...parts: (string | false | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}
