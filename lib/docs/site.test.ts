import { readdirSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { LOCALES } from '#lib/core/locale.ts'
import { renderPage } from '#lib/docs/render.ts'
import {
  type ApiDocument,
  addressOf,
  buildSite,
  type DocsSite,
  llmsText,
  markdownOf,
} from '#lib/docs/site.ts'
import { buildDocument } from '#lib/http/openapi.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { EVENT_TYPES, goesToResource } from '#lib/webhooks/states.ts'
import { DOCUMENT_WORDS, REFERENCE_WORDS } from '#messages/words.ts'

const ASSETS = { style: '/s.css', reader: '/r.js', trial: '/t.js', font: '/f.woff2' }

let document: ApiDocument
let sites: DocsSite[]
beforeAll(async () => {
  const built = buildDocument(await loadRoutes(), 'https://pix.troco.test')
  document = JSON.parse(JSON.stringify(built))
  sites = LOCALES.map(locale => buildSite(document, locale))
})

/** Paragraphs of the texts for people, without the introduction, which no page shows. */
function listParagraphs(value: unknown, key = ''): string[] {
  if (typeof value === 'string')
    return key === 'description' || key === 'summary' ? value.split('\n\n') : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([name]) => !['example', 'value', 'info', 'x-codeSamples'].includes(name))
    .flatMap(([name, part]) => listParagraphs(part, Array.isArray(value) ? '' : name))
}

const codeIn = (text: string) => (text.match(/`[^`]+`/g) ?? []).toSorted()

test('every paragraph of the document has a Portuguese text with the same code, and no text is unused', () => {
  const paragraphs = new Set(listParagraphs(document))
  for (const type of Object.keys(document.webhooks)) paragraphs.delete(type)
  const dictionary = DOCUMENT_WORDS['pt-BR']
  expect(Object.keys(dictionary).toSorted()).toEqual([...paragraphs].toSorted())
  for (const [english, portuguese] of Object.entries(dictionary)) {
    expect(codeIn(portuguese), portuguese).toEqual(codeIn(english))
  }
})

describe('the guides', () => {
  const read = (locale: string, file: string) =>
    readFileSync(`docs/guides/${locale}/${file}`, 'utf8')
  const structureOf = (text: string) =>
    text.match(/^(#+|```\w*|\||- |\d+\.)/gm)?.filter(mark => mark !== '- ')

  test('exist in both languages with the same sections, tables and samples', () => {
    const files = readdirSync('docs/guides/en')
    expect(readdirSync('docs/guides/pt-BR')).toEqual(files)
    for (const file of files) {
      expect(structureOf(read('pt-BR', file)), file).toEqual(structureOf(read('en', file)))
    }
  })

  test('have the same code in both languages, apart from strings and comments', () => {
    const codeOf = (text: string) =>
      [...text.matchAll(/^```(?:sh|js|python|php)\n(.*?)^```/gms)].map(([, code = '']) =>
        code
          .replaceAll(/(?:^|\s)(?:\/\/|#) .*$/gm, '')
          .replaceAll(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, '""'),
      )
    for (const file of readdirSync('docs/guides/en'))
      expect(codeOf(read('pt-BR', file)), file).toEqual(codeOf(read('en', file)))
  })

  test('name the product instead of its authors', () => {
    for (const file of readdirSync('docs/guides/en')) {
      expect(read('en', file), file).not.toMatch(/\b(?:ours?|us|we)\b/i)
      expect(read('pt-BR', file), file).not.toMatch(/\b(?:noss[oa]s?|nós)\b/i)
    }
  })

  test.each(['en', 'pt-BR'])('mention every header of responses in %s', locale => {
    const texts = readdirSync(`docs/guides/${locale}`).map(file => read(locale, file))
    const headers = Object.keys(document.components.headers ?? {})
    expect(headers).toContain('X-Ignored-Parameters')
    const changelog = read(locale, 'changelog.md')
    const isExplained = (name: string) =>
      texts.some(text => text !== changelog && new RegExp(`\`${name}[\`:]`).test(text))
    expect(headers.filter(name => !isExplained(name))).toEqual([])
  })

  test('are all pages of the site', () => {
    const slugs = sites[0]?.pages.map(({ slug }) => `${slug || 'index'}.md`)
    expect(slugs).toEqual(expect.arrayContaining(readdirSync('docs/guides/en')))
  })
})

test.each([
  ['en', /30 days for (.*?), 24 hours/s],
  ['pt-BR', /30 dias para (.*?), 24 horas/s],
])(
  'the guide to errors in %s names the operations whose keys are valid for 30 days',
  (locale, list) => {
    const posts = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method === 'post')
        .map(([, { description }]) => ({
          name: `\`POST ${path}\``,
          duration: /the response is stored for (24 hours|30 days)\./.exec(description ?? '')?.[1],
        })),
    )
    const keptFor = (duration?: string) =>
      posts.filter(post => post.duration === duration).map(({ name }) => name)
    const guide = readFileSync(`docs/guides/${locale}/errors-and-retries.md`, 'utf8')
    expect(codeIn(list.exec(guide)?.[1] ?? '')).toEqual(keptFor('30 days').toSorted())
    expect(keptFor(undefined)).toEqual([])
  },
)

test('every operation and every event type has a page of its own', () => {
  const operations = Object.values(document.paths).flatMap(methods => Object.values(methods))
  for (const { pages } of sites) {
    const shown = pages.map(({ slug }) => slug)
    expect(new Set(shown).size).toBe(shown.length)
    expect(pages.filter(page => page.operation)).toHaveLength(operations.length)
    for (const type of Object.keys(document.webhooks))
      expect(shown).toContain(type.replaceAll(/[._]/g, '-'))
  }
})

test('every tag has a name in each language, and no name is unused', () => {
  const tags = document.tags.map(({ name }) => name).toSorted()
  for (const locale of LOCALES)
    expect(Object.keys(REFERENCE_WORDS[locale].reference.tags).toSorted()).toEqual(tags)
})

test('the page of each event type names the receivers that get it', () => {
  for (const { pages } of sites)
    for (const type of EVENT_TYPES) {
      const page = pages.find(({ title }) => title === type)
      expect(page?.head.includes('`webhook_url`'), type).toBe(goesToResource(type))
      expect(page?.head.includes('`utms`'), type).toBe(type.startsWith('transaction.'))
    }
})

test('the form that tries a request has every parameter, and a key for writes that take one', () => {
  for (const { pages } of sites) {
    const keyed = pages.filter(({ operation }) =>
      operation?.parameters.some(({ name }) => name === 'Idempotency-Key'),
    )
    const slugs = keyed.map(({ slug }) => slug)
    expect(slugs).toEqual(
      expect.arrayContaining(['create-charge', 'create-refund', 'create-withdrawal']),
    )
    for (const { operation, slug } of pages)
      for (const { name } of operation?.parameters ?? []) expect(name, slug).toMatch(/./)
  }
})

test('every link leads to a page of the site and to a heading on it', () => {
  const idsOf = new Map<string, Set<string>>()
  const linksOf = new Map<string, string[]>()
  for (const site of sites)
    for (const page of site.pages) {
      const html = renderPage(site, page, ASSETS)
      const main = html.slice(html.indexOf('<main'))
      idsOf.set(
        addressOf(site, page),
        new Set([...main.matchAll(/ id="([^"]+)"/g)].map(one => one[1] ?? '')),
      )
      linksOf.set(
        addressOf(site, page),
        [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(one => one[1] ?? ''),
      )
    }
  const files = ['/', '/api/openapi.json', '/llms.txt']
  const broken = [...linksOf].flatMap(([from, links]) =>
    links
      .map(link => link.replace('https://pix.troco.test', ''))
      .filter(
        link => !link.startsWith('https://') && !files.includes(link) && !link.endsWith('.md'),
      )
      .filter(link => {
        const [path = '', hash] = link.split('#')
        const ids = idsOf.get(path || from)
        return !ids || (hash !== undefined && !ids.has(hash) && hash !== 'content')
      })
      .map(link => `${from} → ${link}`),
  )
  expect(broken).toEqual([])
  expect(idsOf.get('/docs/en/errors')).toContain('insufficient_balance')
})

test('no header of a table is empty, because a screen reader would read it', () => {
  for (const site of sites)
    for (const page of site.pages)
      expect(renderPage(site, page, ASSETS), page.slug).not.toContain('<th></th>')
})

test('a page is Markdown as well, with addresses that lead to Markdown', () => {
  const [site] = sites
  const page = site?.pages.find(({ slug }) => slug === 'first-charge')
  const text = site && page ? markdownOf(site, page) : ''
  expect(text).toContain('](https://pix.troco.test/docs/pt/webhooks.md)')
  expect(text).not.toContain('localhost:3000')
})

test('llms.txt lists every page of every language once, and nothing else', () => {
  const listed = [...llmsText(sites).matchAll(/\]\((\S+)\)/g)].map(([, address]) => address)
  const pages = sites.flatMap(site =>
    site.pages.map(({ slug }) => `${site.origin}${site.base}${slug && `/${slug}`}.md`),
  )
  expect(listed.toSorted()).toEqual(pages.toSorted())
})

test('no page shows a value that is missing', () => {
  for (const site of sites)
    for (const page of site.pages)
      expect(markdownOf(site, page), page.slug).not.toMatch(/undefined|\[object/)
})

test('every link of a page in Markdown leads to a page or a file of this server', () => {
  const pages = sites.flatMap(site => site.pages.map(page => ({ site, page })))
  const known = new Set(
    pages.flatMap(({ site, page }) => [addressOf(site, page), `${addressOf(site, page)}.md`]),
  )
  known.add('/api/openapi.json')
  const broken = pages.flatMap(({ site, page }) =>
    [...markdownOf(site, page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => new URL(link, 'https://relative.test'))
      .filter(({ origin }) => origin === site.origin || origin === 'https://relative.test')
      .filter(({ origin, pathname }) => origin !== site.origin || !known.has(pathname))
      .map(({ href }) => `${page.slug} → ${href}`),
  )
  expect(broken).toEqual([])
})

test('data of an operation cannot end the script that holds it', () => {
  for (const site of sites)
    for (const page of site.pages) {
      const operation = page.operation && {
        ...page.operation,
        body: { note: '</script><script>alert(1)</script>' },
      }
      const html = renderPage(site, { ...page, ...(operation && { operation }) }, ASSETS)
      const scripts = html.match(/<script type="application\/json">(.*?)<\/script>/gs) ?? []
      expect(scripts.length).toBe(page.operation ? 1 : 0)
      for (const script of scripts) {
        const data = JSON.parse(script.replace(/^<script[^>]*>|<\/script>$/g, ''))
        expect(data.body).toEqual(operation?.body)
      }
    }
})
