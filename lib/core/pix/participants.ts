import type { Mode } from '#lib/core/mode.ts'
import participants from '#lib/core/pix/participants.json' with { type: 'json' }

const NAMES = new Map(Object.entries(participants))

/**
 * Names a bank by its ISPB, as Banco Central's list of participants does. What is not on the list stays as it is, and so
 * does the bank of test mode, which is none.
 */
export function describeBank(mode: Mode, bank: string | null): string | null {
  const name = mode === 'live' ? NAMES.get(bank ?? '') : undefined
  return name === undefined ? bank : `${name} (${bank})`
}
