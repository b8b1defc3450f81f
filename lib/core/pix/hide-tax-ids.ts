import { FREE_FIELDS, isRawNumber, type RawNumber } from '#lib/core/exact-json.ts'
import { isValidCnpj, isValidCpf, maskTaxId } from '#lib/core/pix/tax-id.ts'

/**
 * Form of a document in text, for JavaScript and PostgreSQL: digits between other characters, or a
 * CNPJ with letters as a word of its own. Whatever stands beside them, but no part of a longer number.
 */
export const TAX_ID_FORM = [
  '(?<![0-9])[0-9]{3}[. -]?[0-9]{3}[. -]?[0-9]{3}[./ -]?[0-9]{2}(?![0-9])',
  '(?<![0-9])[0-9]{2}[. -]?[0-9]{3}[. -]?[0-9]{3}[./ -]?[0-9]{4}[. -]?[0-9]{2}(?![0-9])',
  '(?<![0-9A-Za-z])[0-9A-Za-z]{2}[.]?[0-9A-Za-z]{3}[.]?[0-9A-Za-z]{3}/?[0-9A-Za-z]{4}-?[0-9]{2}(?![0-9A-Za-z])',
].join('|')

/** UUIDs, txids and end-to-end ids, whose digits are no document. */
const IDS = [
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  '(?<![0-9a-z])[0-9a-f]{32}(?![0-9a-z])',
  '(?<![0-9a-z])[ED][0-9]{20}[0-9a-z]{11}(?![0-9a-z])',
].join('|')

/** In a BR Code, the merchant's name (59) stands between digits: its own length and the city's (60). */
const IN_BR_CODE =
  '(?:(?<![0-9])|(?<=5802BR59[0-9]{2}))(?:[0-9]{14}|[0-9]{11})(?:(?![0-9])|(?=60(?:0[1-9]|1[0-5])[a-z]))'

const ID_OR_TAX_ID = new RegExp(`(${IDS})|${IN_BR_CODE}|${TAX_ID_FORM}`, 'gi')

/** In free fields. Other numbers are amounts, counts and times. */
const TYPED_IN_ITEMS = ['price', 'quantity']
/** A number loses the zeros at its beginning. With more of them, most numbers would be documents. */
const NUMBER_MIN = 100_000_000

/**
 * Masks each valid document in the strings and keys of a value, such as the Pix key that is a CPF, and
 * in the numbers of free data.
 */
export function hideTaxIds<Value>(value: Value): Value {
  return hide(value, false) as Value
}

function hide(part: unknown, isFree: boolean): unknown {
  if (typeof part === 'string') return hideInText(part)
  if (isRawNumber(part)) return isFree ? hideInRawNumber(part) : part
  if (typeof part === 'number') return isFree ? hideInNumber(part) : part
  if (Array.isArray(part)) return part.map(inner => hide(inner, isFree))
  if (typeof part !== 'object' || part === null) return part
  if (![Object.prototype, null].includes(Object.getPrototypeOf(part))) return part
  const entries = Object.entries(part).map(([key, inner]) => {
    const isInnerFree = (isFree && !TYPED_IN_ITEMS.includes(key)) || FREE_FIELDS.includes(key)
    return [hideInText(key), hide(inner, isInnerFree)]
  })
  return Object.fromEntries(entries)
}

function hideInText(text: string): string {
  return text.replace(ID_OR_TAX_ID, (match, id) => id ?? maskIfValid(match))
}

function hideInNumber(number: number): number | string {
  if (!Number.isSafeInteger(number) || number < NUMBER_MIN) return number
  const padded = [11, 14].map(length => String(number).padStart(length, '0'))
  const document = padded.find(text => isValidCpf(text) || isValidCnpj(text))
  return document === undefined ? number : maskTaxId(document)
}

function hideInRawNumber(raw: RawNumber): RawNumber | string {
  const hidden = hideInNumber(Number(raw.rawJSON))
  return typeof hidden === 'string' ? hidden : raw
}

function maskIfValid(text: string): string {
  return isValidCpf(text) || isValidCnpj(text) ? maskTaxId(text) : text
}
