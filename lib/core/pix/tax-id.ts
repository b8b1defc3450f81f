/** CPF and CNPJ as strings: a CNPJ may contain letters since July 2026 (IN RFB 2.229/2024). */

export type TaxIdKind = 'cpf' | 'cnpj'

/** Removes punctuation and upper-cases ASCII only: `ß` or `ſ` would become other letters. */
export function normalizeTaxId(text: string): string {
  return text.replace(/[./ -]/g, '').replace(/[a-z]/g, letter => letter.toUpperCase())
}

/** Returns the kind by form alone, without verifying the check digits; null if neither. */
export function taxIdKind(text: string): TaxIdKind | null {
  const bare = normalizeTaxId(text)
  if (/^\d{11}$/.test(bare)) return 'cpf'
  return /^[0-9A-Z]{12}\d{2}$/.test(bare) ? 'cnpj' : null
}

/** Numbers of forms and documentation, which no payer has: one repeated character, or 1 to 9. */
export function isPlaceholderTaxId(text: string): boolean {
  const bare = normalizeTaxId(text)
  return taxIdKind(bare) !== null && (/^(.)\1*$/.test(bare) || bare === '12345678909')
}

export function isValidCpf(text: string): boolean {
  return taxIdKind(text) === 'cpf' && hasCheckDigits(normalizeTaxId(text), 11)
}

export function isValidCnpj(text: string): boolean {
  return taxIdKind(text) === 'cnpj' && hasCheckDigits(normalizeTaxId(text), 9)
}

export function formatTaxId(text: string): string {
  const bare = normalizeTaxId(text)
  const kind = taxIdKind(bare)
  if (kind === 'cpf') return bare.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4')
  if (kind === 'cnpj') return bare.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5')
  return text
}

/**
 * Masks a document for lists and logs, so that only its owner can recognize it. Returns a masked
 * document unchanged, and no text as it is: a charge may have no payer.
 */
export function maskTaxId(text: string): string {
  if (text === '') return ''
  if (/^\*{2,3}\./.test(text)) return text
  const bare = normalizeTaxId(text)
  const kind = taxIdKind(bare)
  if (kind === 'cpf') return `***.${bare.slice(3, 6)}.${bare.slice(6, 9)}-**`
  if (kind === 'cnpj') return `**.${bare.slice(2, 5)}.${bare.slice(5, 8)}/****-**`
  return '***'
}

// Refuses one repeated character: 00000000000000 has valid check digits but is never issued.
function hasCheckDigits(bare: string, weightMax: number): boolean {
  if (/^(.)\1*$/.test(bare)) return false
  const first = checkDigit(bare.slice(0, -2), weightMax)
  const second = checkDigit(bare.slice(0, -2) + first, weightMax)
  return bare.endsWith(`${first}${second}`)
}

/** Computes a check digit. Weights run from 2, right to left, and restart after `weightMax`. */
function checkDigit(base: string, weightMax: number): number {
  let sum = 0
  for (let index = 0; index < base.length; index++) {
    const weight = 2 + (index % (weightMax - 1))
    sum += (base.charCodeAt(base.length - 1 - index) - 48) * weight
  }
  const remainder = sum % 11
  return remainder < 2 ? 0 : 11 - remainder
}
