/** The largest amount of one movement: what field 54 of a BR Code can hold (9999999999.99). */
export const AMOUNT_MAX = 999_999_999_999

/**
 * The one bridge from the database's BIGINT to a number. A sum of cents beyond 2^53 would be
 * rounded in silence, so it throws instead.
 */
export function cents(value: bigint | number | string): number {
  const amount = Number(value)
  if (!Number.isSafeInteger(amount))
    throw new RangeError('An amount must be a whole number of cents')
  return amount
}
