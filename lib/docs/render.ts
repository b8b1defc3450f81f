import { Marked, type Token, type Tokens } from 'marked'
import { Html, html } from '#lib/core/html.ts'
import { LANGUAGE_NAMES, languageOf, nextLocale } from '#lib/core/locale.ts'
import {
  addressOf,
  type DocsPage,
  type DocsSite,
  groupPages,
  markdownAddressOf,
} from '#lib/docs/site.ts'

export interface Assets {
  style: string
  reader: string
  trial: string
  font: string
}

/** Labels of the samples' languages. Fences of these that follow each other become tabs. */
const SAMPLE_LANGUAGES: Record<string, string> = {
  sh: 'curl',
  bash: 'curl',
  js: 'Node.js',
  typescript: 'Node.js',
  python: 'Python',
  php: 'PHP',
}

/** Renders a whole page, readable without its script. */
export function renderPage(site: DocsSite, page: DocsPage, assets: Assets): string {
  const { words, locale } = site
  const address = addressOf(site, page)
  const body = (text: string) => new Html(renderMarkdown(site, text))
  return html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title} · Troco</title>
<meta name="description" content="${words.summary}">
<link rel="icon" href="/icon.svg">
<link rel="preload" href="${assets.font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${assets.style}">
<link rel="alternate" type="text/markdown" href="${markdownAddressOf(site, page)}">
<script src="${assets.reader}"></script>
</head>
<body data-copy="${words.copy}" data-copied="${words.copied}">
<a class="skip" href="#content">${words.skip}</a>
${renderHeader(site, page)}
<div class="frame">
<details class="menu"><summary>${words.menu}</summary><a class="plain" href="/">${words.dashboard}</a>${renderContents(site, address)}</details>
<div class="side">${renderContents(site, address)}</div>
<main id="content" tabindex="-1"${page.aside && new Html(' class="split"')}>
<article>${body(page.head)}</article>
${page.aside && html`<aside>${body(page.aside)}${page.operation ? renderTrial(site, page, assets) : ''}</aside>`}
${page.rest && html`<article>${body(page.rest)}</article>`}
<p class="source"><a href="${markdownAddressOf(site, page)}">${words.markdown}</a></p>
</main>
</div>
</body>
</html>
`.text
}

const MARK = new Html(
  '<svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true"><circle cx="16" cy="16" r="15" fill="var(--color-coin)"/><path d="M16 1a15 15 0 0 0 0 30c5.8-3.4 7-9.2 7-15s-1.2-11.6-7-15Z" fill="var(--color-accent)"/></svg>',
)

function renderHeader({ locale, words, base }: DocsSite, { slug }: DocsPage): Html {
  const next = nextLocale(locale)
  const language = languageOf(next)
  return html`<header>
<a class="logo" href="${base}">${MARK}<b>Troco</b><span>${words.title}</span></a>
<form role="search" hidden data-index="${base}/search.json" data-none="${words.noResults}" data-results="${words.results}">
<input type="search" aria-label="${words.search}" placeholder="${words.search}" autocomplete="off" spellcheck="false" maxlength="80">
<ul hidden></ul>
</form>
<button type="button" class="plain" data-theme-switch hidden aria-label="${words.theme}" title="${words.theme}">◐</button>
<a class="plain" href="/docs/${language}${slug && `/${slug}`}" lang="${language}" hreflang="${language}" data-locale="${next}">${LANGUAGE_NAMES[next]}</a>
<a class="plain wide" href="/">${words.dashboard}</a>
</header>`
}

function renderContents(site: DocsSite, current: string): Html {
  const { words } = site
  const link = (page: DocsPage) => {
    const address = addressOf(site, page)
    const isCurrent = address === current && new Html(' aria-current="page"')
    return html`<li><a href="${address}"${isCurrent}>${page.title}</a></li>`
  }
  const groups = [...groupPages(site)].map(
    ([group, pages]) => html`<h2>${group}</h2><ul>${pages.map(link)}</ul>`,
  )
  return html`<nav aria-label="${words.menu}">${groups}
<h2>${words.downloads}</h2>
<ul><li><a href="/api/openapi.json">OpenAPI 3.1</a></li><li><a href="/llms.txt">llms.txt</a></li></ul></nav>`
}

/** The words of the form come with the page; its code is loaded when the button is pressed. */
function renderTrial({ words }: DocsSite, { operation }: DocsPage, assets: Assets): Html {
  const data = JSON.stringify({ ...operation, words }).replaceAll('<', '\\u003c')
  return html`<section class="trial" hidden data-script="${assets.trial}">
<button type="button">${words.tryIt}</button>
<p>${words.tryText}</p>
<script type="application/json">${new Html(data)}</script>
</section>`
}

/** Guides and descriptions are part of this program, so their HTML is not sanitized. */
function renderMarkdown(site: DocsSite, text: string): string {
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const content = this.parser.parseInline(tokens)
        const id = headingId(content)
        const link =
          depth > 1 ? `<a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a>` : ''
        return `<h${depth} id="${id}">${content}${link}</h${depth}>\n`
      },
      table(token: Tokens.Table) {
        const inline = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
        // A column of names has no name itself.
        const head = token.header
          .map(cell => (cell.text ? `<th>${inline(cell)}</th>` : '<td></td>'))
          .join('')
        // Narrow windows show each cell below the name of its column.
        const label = (column: number) =>
          column > 0 ? inline(token.header[column] as Tokens.TableCell) : ''
        const rows = token.rows.map(row => {
          const cells = row.map(
            (cell, column) =>
              `<td data-label="${label(column).replaceAll(/<[^>]*>/g, '')}">${inline(cell)}</td>`,
          )
          return `<tr>${cells.join('')}</tr>`
        })
        return `<div class="table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
      },
      code({ text }: Tokens.Code) {
        return html`<pre tabindex="0"><code>${text}</code></pre>`.text
      },
      link({ href, tokens }: Tokens.Link) {
        return html`<a href="${pageAddress(site, href)}">${new Html(this.parser.parseInline(tokens))}</a>`
          .text
      },
    },
  })
  const tokens = marked.lexer(text)
  return marked.parser(Object.assign(groupSamples(tokens), { links: tokens.links }))
}

/** Leads a link between the guides' files to the page of this site. */
function pageAddress({ base }: DocsSite, href: string): string {
  const [, slug, hash = ''] = /^(?:\.\/)?([a-z-]+)\.md(#[\w-]+)?$/.exec(href) ?? []
  if (slug === undefined) return href
  return `${slug === 'index' ? base : `${base}/${slug}`}${hash}`
}

function headingId(content: string): string {
  const text = content.replaceAll(/<[^>]*>/g, '').normalize('NFD')
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_ -]/g, '')
    .trim()
    .replaceAll(' ', '-')
}

/** Replaces samples that follow each other by one block, which the script turns into tabs. */
function groupSamples(tokens: Token[]): Token[] {
  const grouped: Token[] = []
  let run: Tokens.Code[] = []
  const endRun = () => {
    if (run.length > 0)
      grouped.push({ type: 'html', raw: '', pre: false, block: true, text: renderSamples(run) })
    run = []
  }
  for (const token of tokens) {
    if (isSample(token)) run.push(token)
    else if (token.type !== 'space' || run.length === 0) {
      endRun()
      grouped.push(token)
    }
  }
  endRun()
  return grouped
}

function isSample(token: Token): token is Tokens.Code {
  return token.type === 'code' && String(token.lang) in SAMPLE_LANGUAGES
}

function renderSamples(run: Tokens.Code[]): string {
  const samples = run.map(({ lang = '', text }) => {
    const label = SAMPLE_LANGUAGES[lang] ?? lang
    return html`<div class="sample" data-label="${label}"><p>${label}</p><pre tabindex="0"><code>${text}</code></pre></div>`
  })
  return html`<div class="samples">${samples}</div>`.text
}
