/** CPF and CNPJ, which may hold letters since July 2026 (IN RFB 2.229/2024). Never a number. */

export type TaxIdKind = 'cpf' | 'cnpj'

/** Only ASCII letters are raised: `ß` or `ſ` would turn into letters that nobody wrote. */
export function normalizeTaxId(text: string): string {
  return text.replace(/[./ -]/g, '').replace(/[a-z]/g, letter => letter.toUpperCase())
}

/** By form alone; the check digits are not looked at. */
export function taxIdKind(text: string): TaxIdKind | null {
  const bare = normalizeTaxId(text)
  if (/^\d{11}$/.test(bare)) return 'cpf'
  return /^[0-9A-Z]{12}\d{2}$/.test(bare) ? 'cnpj' : null
}

export function isValidCpf(text: string): boolean {
  return taxIdKind(text) === 'cpf' && hasCheckDigits(normalizeTaxId(text), 11)
}

export function isValidCnpj(text: string): boolean {
  return taxIdKind(text) === 'cnpj' && hasCheckDigits(normalizeTaxId(text), 9)
}

/** With its usual points; what is neither stays as it was written. */
export function formatTaxId(text: string): string {
  const bare = normalizeTaxId(text)
  const kind = taxIdKind(bare)
  if (kind === 'cpf') return bare.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4')
  if (kind === 'cnpj') return bare.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5')
  return text
}

/** Enough to recognise one's own document in a list or a log, too little to use it. */
export function maskTaxId(text: string): string {
  const bare = normalizeTaxId(text)
  const kind = taxIdKind(bare)
  if (kind === 'cpf') return `***.${bare.slice(3, 6)}.${bare.slice(6, 9)}-**`
  if (kind === 'cnpj') return `**.${bare.slice(2, 5)}.${bare.slice(5, 8)}/****-**`
  return '***'
}

// The check digits of 00000000000000 match, but nothing of one repeated character was issued.
function hasCheckDigits(bare: string, weightMax: number): boolean {
  if (/^(.)\1*$/.test(bare)) return false
  const first = checkDigit(bare.slice(0, -2), weightMax)
  const second = checkDigit(bare.slice(0, -2) + first, weightMax)
  return bare.endsWith(`${first}${second}`)
}

/** Weights grow from 2, right to left, and start again after the largest (9 for a CNPJ). */
function checkDigit(base: string, weightMax: number): number {
  let sum = 0
  for (let place = 0; place < base.length; place++) {
    const weight = 2 + (place % (weightMax - 1))
    sum += (base.charCodeAt(base.length - 1 - place) - 48) * weight
  }
  const rest = sum % 11
  return rest < 2 ? 0 : 11 - rest
}
