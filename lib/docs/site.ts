import { readFileSync } from 'node:fs'
import { type Locale, languageOf } from '#lib/core/locale.ts'
import { API_ERRORS } from '#lib/core/refusals.ts'
import { EVENT_TYPES, type EventType, goesToResource } from '#lib/webhooks/states.ts'
import { API_ERROR_WORDS, DOCUMENT_WORDS, REFERENCE_WORDS } from '#messages/words.ts'

export interface DocsPage extends PageText {
  /** Last part of the address; empty for the first page. */
  slug: string
  title: string
  group: string
  /** What the form that tries a request needs. */
  operation?: { method: string; path: string; parameters: Parameter[]; body?: unknown }
}

export interface DocsSite {
  locale: Locale
  words: ReferenceWords
  /** Address of this language's pages, without the origin. */
  base: string
  origin: string
  pages: DocsPage[]
}

/** Guides in the order in which a reader needs them; `index` is the first page. */
const GUIDES = [
  'index',
  'first-charge',
  'webhooks',
  'testing',
  'errors-and-retries',
  'clients',
  'shops',
  'api-pix',
  'command-line',
  'reconciling',
  'going-live',
]
/** Origin in the guides' texts, which the server's own one replaces. */
const ORIGIN_IN_GUIDES = 'http://localhost:3000'

/** Makes the pages of one language from the guides and the OpenAPI document. */
export function buildSite(document: ApiDocument, locale: Locale): DocsSite {
  const { origin } = new URL(document.servers[0]?.url ?? '')
  const base = `/docs/${languageOf(locale)}`
  const words = referenceWords(locale)
  const translated = translateDocument(document, DOCUMENT_WORDS[locale])
  const described = {
    document: translated,
    words,
    causes: API_ERROR_WORDS[locale].apiErrors,
    base,
  }
  const guide = (slug: string, group: string) => readGuide(locale, slug, group, origin)
  return {
    locale,
    words,
    base,
    origin,
    pages: [
      ...GUIDES.map(slug => guide(slug, words.guides)),
      ...operationPages(described),
      ...webhookPages(described),
      { ...errorsPage(locale, words), slug: 'errors', title: words.errorsTitle, group: words.more },
      guide('changelog', words.more),
    ],
  }
}

function operationPages(described: Described): DocsPage[] {
  return Object.entries(described.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...writeOperation(described, path, method, operation),
      slug: slugOf(operation.operationId),
      title: operation.summary,
      group: tagName(described.words, operation.tags[0]),
      operation: {
        method: method.toUpperCase(),
        path,
        parameters: (operation.parameters ?? []).map(part =>
          resolve<Parameter>(described.document, part),
        ),
        body: operation.requestBody?.content['application/json']?.example,
      },
    })),
  )
}

function webhookPages(described: Described): DocsPage[] {
  return Object.entries(described.document.webhooks).map(([type, { post }]) => ({
    ...describeWebhook(described, type, post),
    slug: type.replaceAll(/[._]/g, '-'),
    title: type,
    group: described.words.events,
  }))
}

function tagName({ tags }: ReferenceWords, tag = ''): string {
  return Object.entries(tags).find(([name]) => name === tag)?.[1] ?? tag
}

function slugOf(operationId: string): string {
  return operationId.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}

function readGuide(locale: Locale, slug: string, group: string, origin: string): DocsPage {
  const file = new URL(`../../docs/guides/${locale}/${slug}.md`, import.meta.url)
  const text = readFileSync(file, 'utf8').trim().replaceAll(ORIGIN_IN_GUIDES, origin)
  const title = /^# (.+)$/m.exec(text)?.[1] ?? slug
  return { slug: slug === 'index' ? '' : slug, title, group, head: text, aside: '', rest: '' }
}

function errorsPage(locale: Locale, words: ReferenceWords): PageText {
  const texts = API_ERROR_WORDS[locale].apiErrors
  const entries = API_ERRORS.map(({ code, status }) =>
    blocks(
      `## ${inlineCode(code)}`,
      `${words.status} ${status}. ${texts[code].cause}`,
      `**${words.remedy}:** ${texts[code].remedy}`,
    ),
  )
  return {
    head: blocks(`# ${words.errorsTitle}`, words.errorsText, ...entries),
    aside: '',
    rest: '',
  }
}

export function addressOf({ base }: DocsSite, { slug }: DocsPage): string {
  return slug ? `${base}/${slug}` : base
}

export function markdownAddressOf(site: DocsSite, page: DocsPage): string {
  return `${addressOf(site, page)}.md`
}

/** Groups of pages, in order. */
export function groupPages({ pages }: DocsSite): Map<string, DocsPage[]> {
  const groups = new Map<string, DocsPage[]>()
  for (const page of pages) groups.set(page.group, [...(groups.get(page.group) ?? []), page])
  return groups
}

/** Returns a page as Markdown whose links lead to this server's pages. */
export function markdownOf(site: DocsSite, page: DocsPage): string {
  const text = blocks(page.head, page.aside, page.rest)
  return `${text
    .replaceAll(/\]\((?:\.\/)?([a-z-]+)\.md(#[\w-]+)?\)/g, `](${site.origin}${site.base}/$1.md$2)`)
    .replaceAll('](/docs/', `](${site.origin}/docs/`)}\n`
}

/** Lists all pages for programs that read documentation: https://llmstxt.org. */
export function llmsText(sites: DocsSite[]): string {
  const sections = sites.flatMap(site =>
    [...groupPages(site)].map(([group, pages]) =>
      blocks(
        `## ${group} (${languageOf(site.locale)})`,
        pages
          .map(page => {
            return `- [${page.title}](${site.origin}${markdownAddressOf(site, page)})`
          })
          .join('\n'),
      ),
    ),
  )
  const [first] = sites
  const origin = first?.origin ?? ''
  return `${blocks(
    '# Troco',
    `> ${first?.words.summary}`,
    `OpenAPI 3.1: ${origin}/api/openapi.json`,
    ...sections,
  )}\n`
}

interface SearchEntry {
  title: string
  group: string
  url: string
  /** Lower case, without accents: what the words of a search are looked for in. */
  text: string
}

/** Lists the pages and the error codes for the search, which runs in the browser. */
export function buildSearchIndex(site: DocsSite): SearchEntry[] {
  const pages = site.pages.map(page => ({
    title: page.title,
    group: page.group,
    url: addressOf(site, page),
    text: foldText([page.title, page.head, page.rest].join(' ')),
  }))
  const codes = API_ERRORS.map(({ code }) => ({
    title: code,
    group: site.words.errorsTitle,
    url: `${site.base}/errors#${code}`,
    text: code,
  }))
  return [...pages, ...codes]
}

/** Leaves each word once: the index says where a word occurs, not how often. */
function foldText(text: string): string {
  const folded = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return [...new Set(folded.match(/[\p{L}\p{N}_.:/-]+/gu))].join(' ')
}

/** A page in Markdown. `aside` has samples and examples, which wide windows show beside the rest. */
interface PageText {
  head: string
  aside: string
  rest: string
}

interface Described {
  document: ApiDocument
  words: ReferenceWords
  /** Cause of each error code. */
  causes: Record<string, { cause: string }>
  /** Address of the pages of this language. */
  base: string
}

function writeOperation(
  described: Described,
  path: string,
  method: string,
  operation: Operation,
): PageText {
  const { document, words } = described
  const success = resolve<Response>(document, operation.responses[200] ?? {})
  const parameters = (operation.parameters ?? []).map(one => resolve<Parameter>(document, one))
  const samples = operation['x-codeSamples'] ?? []
  const example = jsonOf(success)?.example
  return {
    head: blocks(
      `# ${operation.summary}`,
      `\`${method.toUpperCase()} ${new URL(document.servers[0]?.url ?? '').pathname}${path}\``,
      operation.description,
    ),
    aside: blocks(
      `## ${words.samples}`,
      ...samples.map(({ lang, source }) => fence(lang, source)),
      example !== undefined && blocks(`## ${words.example}`, jsonFence(example)),
    ),
    rest: blocks(
      parameterSection(described, parameters, 'path'),
      parameterSection(described, parameters, 'query'),
      parameterSection(described, parameters, 'header'),
      bodySection(described, words.body, jsonOf(operation.requestBody)?.schema, true),
      bodySection(described, words.response, jsonOf(success)?.schema, false),
      headerSection(described, success),
      errorSection(described, operation),
    ),
  }
}

function describeWebhook(described: Described, type: string, operation: Operation): PageText {
  const { document, words } = described
  const parameters = (operation.parameters ?? []).map(one => resolve<Parameter>(document, one))
  const body = jsonOf(operation.requestBody)
  return {
    head: blocks(`# ${inlineCode(type)}`, operation.description, ...receiversOf(words, type)),
    aside: blocks(`## ${words.example}`, jsonFence(body?.example)),
    rest: blocks(
      parameterSection(described, parameters, 'header'),
      bodySection(described, words.body, body?.schema, false),
    ),
  }
}

function receiversOf(words: ReferenceWords, type: string): (string | false)[] {
  return [
    EVENT_TYPES.some(name => name === type) && goesToResource(type as EventType)
      ? words.webhookText
      : words.endpointText,
    type.startsWith('transaction.') && words.payerText,
  ]
}

function parameterSection(
  { document, words }: Described,
  parameters: Parameter[],
  place: Parameter['in'],
): string {
  const rows = parameters
    .filter(parameter => parameter.in === place)
    .map(({ name, required, schema, description }) => [
      `${inlineCode(name)}${required ? ` **${words.required}**` : ''}`,
      describeType(document, words, schema),
      description,
    ])
  const titles = { path: words.path, query: words.query, header: words.headers }
  return rows.length > 0
    ? blocks(`## ${titles[place]}`, table([words.name, words.type, words.description], rows))
    : ''
}

function bodySection(
  { document, words }: Described,
  title: string,
  schema: Schema | undefined,
  marksRequired: boolean,
): string {
  const fields = schema ? fieldTable(document, words, schema, marksRequired) : ''
  return fields && blocks(`## ${title}`, fields)
}

function headerSection({ document, words }: Described, { headers = {} }: Response): string {
  const rows = Object.entries(headers).map(([name, part]) => [
    inlineCode(name),
    resolve<Header>(document, part).description,
  ])
  return blocks(`## ${words.responseHeaders}`, table([words.name, words.description], rows))
}

/** Lists the error codes of the operation; each leads to its entry among all codes. */
function errorSection({ document, words, causes, base }: Described, operation: Operation): string {
  const codes = Object.values(operation.responses).flatMap(part => {
    const { headers } = resolve<Response>(document, part)
    const code = headers?.['X-Error-Code'] as { schema: { enum: string[] } } | undefined
    return code?.schema.enum ?? []
  })
  const rows = API_ERRORS.filter(({ code }) => codes.includes(code)).map(({ code, status }) => [
    String(status),
    `[${inlineCode(code)}](${base}/errors#${code})`,
    causes[code]?.cause ?? '',
  ])
  return blocks(`## ${words.errors}`, table([words.status, words.code, words.cause], rows))
}

interface Field {
  name: string
  type: string
  text: string
}

/** Lists the fields of a schema as a table in Markdown; fields within others have dotted names. */
function fieldTable(
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
function describeType(document: ApiDocument, words: ReferenceWords, part: Schema): string {
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

/** The parts of an OpenAPI document that the documentation shows. */
export type Schema = Record<string, unknown>

interface Header {
  description: string
  schema: Schema
}

interface Parameter extends Header {
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

interface Response {
  description: string
  headers?: Record<string, Schema>
  content?: Record<string, Content>
}

interface Operation {
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
function resolve<Part>(document: ApiDocument, part: Schema): Part {
  if (typeof part.$ref !== 'string') return part as Part
  const [, , group = '', name = ''] = part.$ref.split('/')
  return document.components[group]?.[name] as Part
}

function jsonOf(holder?: { content?: Record<string, Content> }): Content | undefined {
  return holder?.content?.['application/json']
}

/** Returns the document with each paragraph of its descriptions and summaries translated. */
function translateDocument<Document>(
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

type ReferenceWords = (typeof REFERENCE_WORDS)[Locale]['reference']

function referenceWords(locale: Locale): ReferenceWords {
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

function inlineCode(text: string): string {
  return `\`${text}\``
}

function fence(language: string, source: string): string {
  return `\`\`\`${language}\n${source}\n\`\`\``
}

function jsonFence(value: unknown): string {
  return fence('json', JSON.stringify(value, null, 2))
}

/** Joins blocks with empty lines between them, without those that are empty. */
function blocks(...parts: (string | false | undefined)[]): string {
  return parts.filter(Boolean).join('\n\n')
}
