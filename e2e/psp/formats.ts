import { randomBytes, randomInt } from 'node:crypto'

const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Eight digits that no bank in Brazil has. */
const ISPB = '99999999'

export const MONEY_PATTERN = /^\d{1,10}\.\d{2}$/
export const TXID_PATTERN = /^[a-zA-Z0-9]{26,35}$/
/** Ids that the client chooses for refunds and payouts. */
export const CLIENT_ID_PATTERN = /^[a-zA-Z0-9]{1,35}$/

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
  const ending = Array.from({ length: 11 }, () => ALPHANUMERIC[randomInt(ALPHANUMERIC.length)])
  return `${letter}${ISPB}${minute}${ending.join('')}`
}

export function makeHexId(bytes = 16): string {
  return randomBytes(bytes).toString('hex')
}
