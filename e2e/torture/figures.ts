import { appendFileSync } from 'node:fs'

export { pickSize } from '#lib/testing/size.ts'

/** File in which `npm run torture` collects measured figures; unset in `npm test`. */
const { TORTURE_FIGURES } = process.env

/** Prints the figures that a test measured and stores them for the final table. */
export function recordFigures(title: string, figures: Record<string, string | number>): void {
  const parts = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`${title}: ${parts.join('; ')}\n`)
  if (TORTURE_FIGURES) appendFileSync(TORTURE_FIGURES, `${JSON.stringify([title, parts])}\n`)
}

export function formatSecondsSince(began: number): string {
  return `${((Date.now() - began) / 1_000).toFixed(1)} s`
}
