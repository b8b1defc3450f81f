import { Invariant } from '#lib/core/invariant.ts'
import { LOCALES, numberFormat } from '#lib/core/locale.ts'

/** Maximum amount of a movement in cents: the maximum of field 54 of a BR Code (9999999999.99). */
export const AMOUNT_MAX = 999_999_999_999

/** Converts a BIGINT to a number. Throws beyond 2^53, where a number would be rounded silently. */
export function cents(value: bigint | number | string): number {
  const amount = Number(value)
  if (!Number.isSafeInteger(amount))
    throw new Invariant('an amount must be a whole number of cents')
  return amount
}

export interface TypedAmount {
  /** Cents; null if the text has no meaning, or more than one. */
  amount: number | null
  /** Possible meanings in cents, the smallest first, if `amount` is null. */
  readings: number[]
}

/** Portuguese notation: a comma starts one or two decimals, a dot stands between groups of three digits. */
const WITH_DECIMALS = /^(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+),\d{1,2}$/
const WHOLE = /^(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)$/
/** Matches a space before a group of three digits. */
const GROUP_SPACE = /(?<=\d)\s(?=\d{3}(?!\d))/g
const DIGITS_AND_SEPARATORS = /^[.,]*\d[\d.,]*$/
const DECIMALS = 2

/**
 * Reads a typed amount in the notation of a language. That of the other language is read, too, if it has decimals:
 * without, `10,999` may also be a slip of the hand (docs/decisions/054).
 */
export function readReais(text: string, locale: string): TypedAmount {
  const typed = text
    .trim()
    .replace(/^R\$\s*/i, '')
    .replace(GROUP_SPACE, '')
  const mirrored = typed.replace(/[.,]/g, char => (char === '.' ? ',' : '.'))
  const [own, other] = formatReais(0, locale).includes(',') ? [typed, mirrored] : [mirrored, typed]
  const isOwn = WITH_DECIMALS.test(own) || WHOLE.test(own)
  if (!isOwn && !WITH_DECIMALS.test(other))
    return { amount: null, readings: listReadings(own.replace(/\s/g, '')) }
  const [whole = '', fraction = ''] = (isOwn ? own : other).split(',')
  const amount = toCents(whole, fraction)
  return { amount: amount <= AMOUNT_MAX ? amount : null, readings: [] }
}

/** Returns the cents of a typed amount; null unless it has exactly one meaning. */
export function parseReais(text: string, locale: string): number | null {
  return readReais(text, locale).amount
}

/** Reads an amount that is searched for, in any notation: no text means different amounts in two of them. */
export function parseSearchedReais(text: string): number | null {
  const amounts = LOCALES.map(locale => parseReais(text, locale))
  return amounts.find(amount => amount !== null) ?? null
}

/** Each reading keeps all digits: the last separator or the last two digits start decimals, or nothing does. */
function listReadings(typed: string): number[] {
  if (!DIGITS_AND_SEPARATORS.test(typed)) return []
  const [separated, before = '', behind = ''] = /^(.*)[.,](.*)$/s.exec(typed) ?? []
  const startsDecimals = separated !== undefined && behind.length <= DECIMALS
  const withDecimals = startsDecimals ? toCents(before, behind) : toCents(typed) / 100
  const isMixed = typed.includes('.') && typed.includes(',')
  const readings = isMixed && startsDecimals ? [withDecimals] : [withDecimals, toCents(typed)]
  return [...new Set(readings)].filter(amount => amount <= AMOUNT_MAX)
}

function toCents(whole: string, fraction = ''): number {
  return Number(whole.replace(/[.,]/g, '') + fraction.padEnd(2, '0'))
}

export function formatReais(amount: number, locale: string): string {
  return numberFormat(locale, { minimumFractionDigits: 2 }).format(amount / 100)
}

/** Formats cents as reais for other programs: a decimal point and two decimals, `-1234.05`. */
export function formatDecimalAmount(amount: number): string {
  const digits = String(Math.abs(amount)).padStart(3, '0')
  return `${amount < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
