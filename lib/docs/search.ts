import { API_ERRORS } from '#lib/core/refusals.ts'
import { addressOf, type DocsSite } from '#lib/docs/site.ts'

export interface SearchEntry {
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
