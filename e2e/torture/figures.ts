import { appendFileSync } from 'node:fs'

/** Where `npm run torture` gathers what its tests measured; unset in `npm test`. */
const { TORTURE_FIGURES } = process.env

/** The figure of `npm test`, or the full one of `npm run torture`. */
export function figure(small: number, full: number): number {
  return TORTURE_FIGURES ? full : small
}

/** Says what a test measured, and keeps it for the closing table. */
export function recordFigures(what: string, figures: Record<string, string | number>): void {
  const said = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`${what}: ${said.join('; ')}\n`)
  if (TORTURE_FIGURES) appendFileSync(TORTURE_FIGURES, `${JSON.stringify([what, said])}\n`)
}

export function secondsSince(began: number): string {
  return `${((Date.now() - began) / 1_000).toFixed(1)} s`
}
