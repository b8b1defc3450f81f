/** Kinds of connections to banks that an operator can add, with their names, which are the same in every language. */
export const BANK_NAMES = { api_pix: 'API Pix', efi: 'Efí' } as const
export type BankKind = keyof typeof BANK_NAMES
export const BANK_KINDS = Object.keys(BANK_NAMES) as [BankKind, ...BankKind[]]
export type ConnectionKind = 'simulator' | BankKind
