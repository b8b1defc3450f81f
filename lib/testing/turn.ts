import { chooseSeed } from '#lib/testing/seed.ts'

const SHARES = 3

/**
 * Returns the third of a long table whose turn it is in this run of `npm test`: the seed decides.
 * `npm run torture` and a run of chosen files take every row.
 */
export function pickInTurn<T>(rows: readonly T[]): T[] {
  if (!process.env.WITHOUT_REPEATS) return [...rows]
  const turn = chooseSeed() % SHARES
  return rows.filter((_, index) => index % SHARES === turn)
}
