import { randomInt } from 'node:crypto'

/** Returns the seed of this run's random choices; child processes inherit it. */
export function chooseSeed(): number {
  process.env.TEST_SEED ||= String(randomInt(2 ** 31))
  const seed = Number(process.env.TEST_SEED)
  if (Number.isInteger(seed) && seed >= 0) return seed
  throw new Error('TEST_SEED must be a whole number, 0 or greater')
}
