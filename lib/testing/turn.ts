import { chooseSeed } from '#lib/testing/seed.ts'

/**
 * Returns the half of a long table whose turn it is in this run of `npm test`: the seed decides.
 * `npm run torture` and a run of chosen files take every row.
 */
export function pickInTurn<T>(rows: readonly T[]): T[] {
  if (!process.env.WITHOUT_REPEATS) return [...rows]
  const turn = chooseSeed() % 2
  return rows.filter((_, index) => index % 2 === turn)
}
