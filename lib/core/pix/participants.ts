import type { Mode } from '#lib/core/mode.ts'
import participants from '#lib/core/pix/participants.json' with { type: 'json' }

const NAMES = new Map(Object.entries(participants))

/**
 * Returns the name and ISPB of a bank, from Banco Central's list of participants. Returns the ISPB unchanged if it is not
 * on the list, and in test mode, whose simulated bank does not exist.
 */
export function describeBank(mode: Mode, bank: string | null): string | null {
  const name = mode === 'live' ? NAMES.get(bank ?? '') : undefined
  return name === undefined ? bank : `${name} (${bank})`
}
