/** A number with the text that it was sent as: JSON.stringify writes this text. */
export interface RawNumber {
  rawJSON: string
}

interface ExactJson {
  rawJSON(text: string): RawNumber
  isRawJSON?: (value: unknown) => boolean
  parse(text: string, reviver: (key: string, value: unknown, context: Context) => unknown): unknown
}
interface Context {
  /** Source text of a primitive value. */
  source?: string
}

// TypeScript declares neither the reviver's third argument nor raw numbers, which Node has since 22.
const exactJson = JSON as unknown as ExactJson

/** Always false in browsers without raw numbers, which parse none. */
export const isRawNumber = (value: unknown): value is RawNumber =>
  exactJson.isRawJSON?.(value) === true

/** Fields with data of the merchant's choice, whose numbers are returned as sent. */
export const FREE_FIELDS = ['metadata', 'utms', 'items', 'products']

/**
 * Finds a number whose text a JavaScript number may not repeat: with 16 digits, a fraction, an exponent, or
 * minus zero. Text in strings may match, too, which only costs time. Linear in the length.
 */
const MAY_BE_INEXACT = /(?:"\s*:|[,[])\s*(?:-0|-?\d{16}|-?\d+[.eE])/

/**
 * Parses JSON. In free fields, a number such as 175928847299117063, 1.10, 1e400 or -0 becomes a RawNumber.
 * Elsewhere, `readNumber` reads it. Text without such a number is parsed at the usual speed.
 */
export function parseExactJson(
  text: string,
  readNumber: (source: string) => unknown = Number,
): unknown {
  if (!MAY_BE_INEXACT.test(text)) return JSON.parse(text)
  const value = exactJson.parse(text, (_key, inner, { source }) =>
    typeof inner === 'number' && source !== undefined && !repeats(inner, source)
      ? exactJson.rawJSON(source)
      : inner,
  )
  return readOutsideFreeFields(value, readNumber)
}

/** Whether a number is written as it was sent. An integer beyond 2^53 may only by chance be the same. */
function repeats(value: number, source: string): boolean {
  return source === String(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))
}

function readOutsideFreeFields(value: unknown, readNumber: (source: string) => unknown): unknown {
  if (isRawNumber(value)) return readNumber(value.rawJSON)
  if (typeof value !== 'object' || value === null) return value
  const holder = value as Record<string, unknown>
  for (const [key, inner] of Object.entries(holder)) {
    const isFree = FREE_FIELDS.includes(key) && typeof inner === 'object' && !isRawNumber(inner)
    if (!isFree) holder[key] = readOutsideFreeFields(inner, readNumber)
  }
  return value
}

/** Returns a copy with the texts of raw numbers, which React and workers cannot receive. */
export function showRawNumbers<Value>(value: Value): Value {
  if (isRawNumber(value)) return value.rawJSON as Value
  if (Array.isArray(value)) return value.map(showRawNumbers) as Value
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, showRawNumbers(inner)])
  return Object.fromEntries(entries) as Value
}
