import { Invariant } from '#lib/base/invariant.ts'

/** The largest amount of one movement: what field 54 of a BR Code can hold (9999999999.99). */
export const AMOUNT_MAX = 999_999_999_999

/**
 * The one bridge from the database's BIGINT to a number. A sum of cents beyond 2^53 would be
 * rounded in silence, so it throws instead.
 */
export function cents(value: bigint | number | string): number {
  const amount = Number(value)
  if (!Number.isSafeInteger(amount))
    throw new Invariant('an amount must be a whole number of cents')
  return amount
}

const PLAIN = /^\d+$/
const GROUPED = /^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/

/**
 * Cents of an amount as people write it in reais, in Brazilian or English fashion: `15`, `15,00`,
 * `1.234,56`, `1,234.56`. A separator before one or two last digits is the decimal one. Null: it is
 * no amount, or could be two.
 */
export function parseReais(text: string): number | null {
  const bare = text.replace(/^\s*R\$/, '').replace(/[\s\u00a0]/g, '')
  const [, whole = '', decimal = '', fraction = ''] = /^(.*?)(?:([.,])(\d{1,2}))?$/.exec(bare) ?? []
  const separator = GROUPED.exec(whole)?.[1]
  if (!PLAIN.test(whole) && (separator === undefined || separator === decimal)) return null
  const digits = whole.replace(/[.,]/g, '') + fraction.padEnd(2, '0')
  const amount = Number(digits)
  return amount <= AMOUNT_MAX ? amount : null
}

/** Cents as an input shows them. */
export function reaisText(amount: number, locale: string): string {
  const format = new Intl.NumberFormat(locale, { minimumFractionDigits: 2 })
  return format.format(amount / 100)
}
