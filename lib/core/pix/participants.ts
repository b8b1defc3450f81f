import participants from '#lib/core/pix/participants.json' with { type: 'json' }

const NAMES = new Map(Object.entries(participants))

/** Names a bank by its ISPB, as Banco Central's list of participants does; what is not on the list stays as it is. */
export function describeBank(bank: string | null): string | null {
  const name = NAMES.get(bank ?? '')
  return name === undefined ? bank : `${name} (${bank})`
}
