import { randomBytes } from 'node:crypto'

const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Eight digits that no bank in Brazil has. */
const ISPB = '99999999'

export const MONEY_PATTERN = /^\d{1,10}\.\d{2}$/
export const TXID_PATTERN = /^[a-zA-Z0-9]{26,35}$/
/** Ids that the client chooses for refunds and payouts. */
export const CLIENT_ID_PATTERN = /^[a-zA-Z0-9]{1,35}$/
const KEY_PATTERNS = [
  /^\d{11}$/,
  /^[0-9A-Z]{12}\d{2}$/,
  /^\+[1-9]\d{1,14}$/,
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  /^[^@\sA-Z]+@[^@\sA-Z]+$/,
]

export function isPixKey(text: string): boolean {
  return text.length <= 77 && KEY_PATTERNS.some(pattern => pattern.test(text))
}

/** Writes cents as the API does, such as `12.34`. */
export function toReais(cents: number): string {
  const [sign, size] = [cents < 0 ? '-' : '', Math.abs(cents)]
  return `${sign}${Math.floor(size / 100)}.${String(size % 100).padStart(2, '0')}`
}

export function toCents(reais: string): number {
  return Number(reais.replace('.', ''))
}

/** Makes an end-to-end id (`E`) or a return id (`D`). */
export function makePixId(letter: 'E' | 'D', at: Date): string {
  const minute = at.toISOString().replace(/\D/g, '').slice(0, 12)
  const ending = [...randomBytes(11)].map(byte => ALPHANUMERIC[byte % ALPHANUMERIC.length])
  return `${letter}${ISPB}${minute}${ending.join('')}`
}

export function makeHexId(bytes = 16): string {
  return randomBytes(bytes).toString('hex')
}
