import { numberFormat } from '#lib/base/formatters.ts'
import { Invariant } from '#lib/base/invariant.ts'

/** Maximum amount of a movement in cents: the maximum of field 54 of a BR Code (9999999999.99). */
export const AMOUNT_MAX = 999_999_999_999

/** Converts a BIGINT to a number. Throws beyond 2^53, where a number would be rounded silently. */
export function cents(value: bigint | number | string): number {
  const amount = Number(value)
  if (!Number.isSafeInteger(amount))
    throw new Invariant('an amount must be a whole number of cents')
  return amount
}

const UNGROUPED = /^\d+$/
const GROUPED = /^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/

/** A separator before the last one or two digits is decimal. Null if invalid or ambiguous. */
export function parseReais(text: string): number | null {
  const bare = text.replace(/^\s*R\$/, '').replace(/[\s\u00a0]/g, '')
  const [, whole = '', decimal = '', fraction = ''] = /^(.*?)(?:([.,])(\d{1,2}))?$/.exec(bare) ?? []
  const separator = GROUPED.exec(whole)?.[1]
  if (!UNGROUPED.test(whole) && (separator === undefined || separator === decimal)) return null
  const digits = whole.replace(/[.,]/g, '') + fraction.padEnd(2, '0')
  const amount = Number(digits)
  return amount <= AMOUNT_MAX ? amount : null
}

export function formatReais(amount: number, locale: string): string {
  return numberFormat(locale, { minimumFractionDigits: 2 }).format(amount / 100)
}

/** Formats cents as reais for other programs: a decimal point and two decimals, `-1234.05`. */
export function formatDecimalAmount(amount: number): string {
  const digits = String(Math.abs(amount)).padStart(3, '0')
  return `${amount < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
