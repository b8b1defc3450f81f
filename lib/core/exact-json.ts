/** A number with the text that it was sent as: JSON.stringify writes this text. */
export interface RawNumber {
  rawJSON: string
}

interface ExactJson {
  rawJSON(text: string): RawNumber
  isRawJSON?: (value: unknown) => boolean
}

// TypeScript does not declare raw numbers, which Node has since 22.
const exactJson = JSON as unknown as ExactJson

/** Always false in browsers without raw numbers, which parse none. */
export const isRawNumber = (value: unknown): value is RawNumber =>
  exactJson.isRawJSON?.(value) === true

/** Fields with data of the merchant's choice, whose numbers are returned as sent. */
export const FREE_FIELDS = ['metadata', 'utms', 'items', 'products']

/**
 * Parses JSON. In free fields, a number such as 175928847299117063, 1.10, 1e400 or -0 becomes a RawNumber.
 * Elsewhere, `readNumber` reads it. Text without such a number is only scanned before.
 */
export function parseExactJson(
  text: string,
  readNumber: (source: string) => unknown = Number,
): unknown {
  const { marked, sources } = markInexact(text)
  const value: unknown = JSON.parse(marked)
  return sources.length === 0 ? value : replaceMarks(value, sources, readNumber)
}

const QUOTE = 34
const BACKSLASH = 92
const MINUS = 45
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Maximum of texts that share a RawNumber: enough for short ones, and a larger map would cost more. */
const SHARED_MAX = 4096

/**
 * Replaces the nth inexact number by ne16. No other number of the result is beyond 2^53, because
 * each of those is inexact. What is no number stays, for JSON.parse to refuse.
 */
function markInexact(text: string): { marked: string; sources: string[] } {
  const sources: string[] = []
  const marks = new Map<string, string>()
  let marked = ''
  let copied = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = findClosingQuote(text, at)
    if (code !== MINUS && !isDigit(code)) continue
    const start = at
    at = findNumberEnd(text, start)
    if (isExact(text, start, at)) continue
    const source = text.slice(start, at)
    let mark = marks.get(source)
    if (mark === undefined) {
      if (!NUMBER.test(source)) continue
      mark = `${sources.push(source)}e16`
      if (marks.size < SHARED_MAX) marks.set(source, mark)
    }
    marked += text.slice(copied, start) + mark
    copied = at
  }
  return { marked: marked + text.slice(copied), sources }
}

function findClosingQuote(text: string, opening: number): number {
  const closing = text.indexOf('"', opening + 1)
  if (closing !== -1 && text.charCodeAt(closing - 1) !== BACKSLASH) return closing
  let at = opening + 1
  for (let code = text.charCodeAt(at); at < text.length; code = text.charCodeAt(++at)) {
    if (code === QUOTE) break
    if (code === BACKSLASH) at++
  }
  return at
}

const isDigit = (code: number) => code >= 48 && code <= 57

function findNumberEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && isInNumber(text.charCodeAt(at))) at++
  return at
}

/** Digits, signs, points and the exponent's E or e. */
const isInNumber = (code: number) =>
  isDigit(code) || code === MINUS || code === 43 || code === 46 || code === 69 || code === 101

/**
 * Whether JavaScript surely writes a number as it was sent: up to 15 digits, no exponent, no zero at the
 * end of a fraction, and neither minus zero nor a fraction that starts with six zeros.
 */
function isExact(text: string, start: number, end: number): boolean {
  if (end - start > 16) return false
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start
  let point = -1
  for (let at = first; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === 46 && point < 0) point = at
    else if (!isDigit(code)) return false
  }
  const isZero = text.charCodeAt(first) === 48
  if (point < 0) return end - first < 16 && !(isZero && first > start)
  return text.charCodeAt(end - 1) !== 48 && !(isZero && text.startsWith('000000', point + 1))
}

/** Whether a parsed value stands for an inexact number: see markInexact. */
const isMark = (value: unknown): value is number =>
  typeof value === 'number' && value > Number.MAX_SAFE_INTEGER

/** Works without recursion, because the text may be nested to any depth. */
function replaceMarks(
  root: unknown,
  sources: string[],
  readNumber: (source: string) => unknown,
): unknown {
  const rawNumbers: RawNumber[] = []
  const readMark = (mark: number, isFree: boolean) => {
    const nth = Math.round(mark / 1e16) - 1
    const source = sources[nth] as string
    if (!isFree) return readNumber(source)
    rawNumbers[nth] ??= exactJson.rawJSON(source)
    return rawNumbers[nth]
  }
  const top = { root }
  const pending: { holder: object; isFree: boolean }[] = [{ holder: top, isFree: false }]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { isFree } = next
    const holder = next.holder as Record<string | number, unknown>
    const keys = Array.isArray(holder) ? null : Object.keys(holder)
    const length = keys ? keys.length : (holder as unknown as unknown[]).length
    for (let index = 0; index < length; index++) {
      const key = keys?.[index] ?? index
      const inner = holder[key]
      if (isMark(inner)) holder[key] = readMark(inner, isFree)
      else if (typeof inner === 'object' && inner !== null)
        pending.push({ holder: inner, isFree: isFree || FREE_FIELDS.includes(key as string) })
    }
  }
  return top.root
}

/** Returns a copy with the texts of raw numbers, which React and workers cannot receive. */
export function showRawNumbers<Value>(value: Value): Value {
  if (isRawNumber(value)) return value.rawJSON as Value
  if (Array.isArray(value)) return value.map(showRawNumbers) as Value
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, showRawNumbers(inner)])
  return Object.fromEntries(entries) as Value
}
