import { readFileSync } from 'node:fs'
import { type Locale, languageOf } from '#lib/core/locale.ts'
import { API_ERRORS } from '#lib/core/refusals.ts'
import {
  type ApiDocument,
  blocks,
  inlineCode,
  type Parameter,
  type ReferenceWords,
  referenceWords,
  resolve,
  translateDocument,
} from '#lib/docs/document.ts'
import { describeWebhook, type PageText, writeOperation } from '#lib/docs/operation.ts'
import { API_ERROR_WORDS, DOCUMENT_WORDS } from '#messages/words.ts'

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

type Described = Parameters<typeof writeOperation>[0]

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
