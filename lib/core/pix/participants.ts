import type { Mode } from '#lib/core/mode.ts'
import participants from '#lib/core/pix/participants.json' with { type: 'json' }

const NAMES = new Map(Object.entries(participants))

/** Digits alone would be a number in a spreadsheet, which drops the zeros before it. */
const ISPB = /^\d{8}$/

/**
 * Returns the name and ISPB of a bank, from Banco Central's list of participants. Returns what the bank sent if it is not
 * on the list, and in test mode, whose simulated bank does not exist.
 */
export function describeBank(mode: Mode, bank: string | null): string | null {
  if (bank === null || !ISPB.test(bank)) return bank
  const name = mode === 'live' ? NAMES.get(bank) : undefined
  return name === undefined ? `ISPB ${bank}` : `${name} (${bank})`
}
