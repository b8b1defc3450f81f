import { isUuid } from '#lib/core/ids.ts'
import { parseSearchedReais } from '#lib/core/money.ts'
import { normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { reverseTail } from '#lib/db/sql.ts'

/** The shortest of more terms do not narrow a search: each combination is a statement of its own. */
const TERMS_MAX = 6
/** A mask hides the first three digits of a CPF: a shorter beginning would reveal them one by one. */
const DOCUMENT_LENGTH_MIN = 3

/** A word of a search. A charge matches if its words contain `text` or its amount is `amount`. */
export interface SearchTerm {
  /** Null for a number that is only an amount. */
  text: string | null
  amount: number | null
  /** Whether the trigram index finds the text: it needs three letters or digits in a row. */
  isIndexed: boolean
}

export interface ParsedSearch {
  text: string
  id: string | null
  terms: SearchTerm[]
  /** Beginning of a payer's document; null for callers who may not read documents. */
  document: string | null
  /** End of an end-to-end id, reversed, in upper case. */
  tail: string | null
}

/** Parses what a user searches charges for. Whoever may not read documents could guess them. */
export function parseSearch(q: string, matchesDocuments: boolean): ParsedSearch {
  const text = q.trim()
  const document = normalizeTaxId(text)
  return {
    text,
    id: isUuid(text) ? text : null,
    terms: parseTerms(text),
    document: matchesDocuments && isDocumentStart(document) ? document : null,
    tail: reverseTail(text),
  }
}

/** Words in any order. An amount such as `R$ 1 446,54` is one word. */
function parseTerms(text: string): SearchTerm[] {
  if (parseSearchedReais(text) !== null) return [parseTerm(text, false)]
  const words = new Set(text.split(/\s+/).filter(word => word !== '' && !/^r\$$/i.test(word)))
  const longest = [...words].sort((one, other) => other.length - one.length).slice(0, TERMS_MAX)
  const isNarrow = longest.some(hasTrigram)
  const terms = longest.map(word => parseTerm(word, isNarrow))
  return terms.sort((one, other) => kindOf(one) - kindOf(other))
}

/** Alone, a short number is an amount only: without a trigram, all rows would be read for its text. */
function parseTerm(word: string, isNarrow: boolean): SearchTerm {
  const amount = parseSearchedReais(word)
  const isIndexed = hasTrigram(word)
  return { text: isNarrow || isIndexed || amount === null ? word : null, amount, isIndexed }
}

function hasTrigram(text: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(text)
}

/** Terms in order of kind make few different statements. */
function kindOf({ text, amount, isIndexed }: SearchTerm): number {
  return (text === null ? 4 : 0) + (amount === null ? 0 : 2) + (isIndexed ? 0 : 1)
}

function isDocumentStart(bare: string): boolean {
  return bare.length >= DOCUMENT_LENGTH_MIN && /^(?=.*\d)[0-9A-Z]{1,14}$/.test(bare)
}
