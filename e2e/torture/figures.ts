import { appendFileSync } from 'node:fs'

/** File in which `npm run torture` collects measured figures; unset in `npm test`. */
const { TORTURE_FIGURES } = process.env

/** Returns `small` in `npm test`, `full` in `npm run torture`. */
export function pickSize(small: number, full: number): number {
  return TORTURE_FIGURES ? full : small
}

/** Prints the figures that a test measured and stores them for the final table. */
export function recordFigures(title: string, figures: Record<string, string | number>): void {
  const parts = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`${title}: ${parts.join('; ')}\n`)
  if (TORTURE_FIGURES) appendFileSync(TORTURE_FIGURES, `${JSON.stringify([title, parts])}\n`)
}

export function formatSecondsSince(began: number): string {
  return `${((Date.now() - began) / 1_000).toFixed(1)} s`
}
