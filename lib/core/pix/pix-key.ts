import { lowerAscii } from '#lib/core/fields.ts'
import {
  formatTaxId,
  isValidCnpj,
  isValidCpf,
  maskTaxId,
  normalizeTaxId,
  taxIdKind,
} from '#lib/core/pix/tax-id.ts'

/** Pix keys: converts typed keys to the form of the key directory (DICT). */

export const PIX_KEY_TYPES = ['cpf', 'cnpj', 'email', 'phone', 'random'] as const
export type PixKeyType = (typeof PIX_KEY_TYPES)[number]

/** `form` (test mode) accepts sample keys; `dict` (live mode) applies the bank's rules. */
type PixKeyStrictness = 'form' | 'dict'

export type PixKeyProblem = 'form' | 'check_digits' | 'area_code' | 'too_long'
type PixKeyReading = { ok: true; key: string } | { ok: false; reason: PixKeyProblem }
type PixKeyInference =
  | { ok: true; type: PixKeyType }
  | { ok: false; reason: 'ambiguous' | 'unknown' }

const KEY_MAX = 77

/** The 67 area codes in use (Anatel). */
const AREA_CODE = /^(?:[14689][1-9]|2[12478]|3[1-578]|5[1345]|7[134579])$/

// DICT's pattern plus a dot in the domain: live mode accepts no key that test mode refuses.
const DICT_EMAIL =
  /^[a-z0-9.!#$&'*+/=?^_{|}~`-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/

const READERS: Record<PixKeyType, (text: string, strictness: PixKeyStrictness) => PixKeyReading> = {
  cpf: (text, strictness) => readTaxId('cpf', text, strictness),
  cnpj: (text, strictness) => readTaxId('cnpj', text, strictness),
  email: readEmail,
  phone: (text, strictness) => (strictness === 'dict' ? readPhone(text) : readPhoneLeniently(text)),
  random: readRandom,
}

export function normalizePixKey(
  type: PixKeyType,
  raw: string,
  strictness: PixKeyStrictness,
): PixKeyReading {
  return READERS[type](raw.trim(), strictness)
}

/** Live mode refuses ambiguous keys: a mobile number can be the valid CPF of a stranger. */
export function inferPixKeyType(raw: string, strictness: PixKeyStrictness): PixKeyInference {
  const [type, ...others] = matchingTypes(raw, 'dict')
  if (type && others.length === 0) return { ok: true, type }
  if (strictness === 'form') {
    const [first] = matchingTypes(raw, 'form')
    return first ? { ok: true, type: first } : { ok: false, reason: 'unknown' }
  }
  return { ok: false, reason: type || taxIdKind(raw.trim()) === 'cpf' ? 'ambiguous' : 'unknown' }
}

/** Masks a key in DICT form, for lists and logs. */
export function maskPixKey(type: PixKeyType, key: string): string {
  switch (type) {
    case 'cpf':
    case 'cnpj':
      return maskTaxId(key)
    case 'email':
      return key.includes('@') ? `${key.slice(0, 1)}***${key.slice(key.lastIndexOf('@'))}` : '***'
    case 'phone': {
      const area = /^\+55(\d\d)\d{8,9}$/.exec(key)?.[1]
      return `${area ? `+55 (${area}) ` : ''}*****-${key.slice(-4)}`
    }
    case 'random':
      return `${key.slice(0, 8)}-****-****-****-************`
  }
}

function matchingTypes(raw: string, strictness: PixKeyStrictness): PixKeyType[] {
  return PIX_KEY_TYPES.filter(type => normalizePixKey(type, raw, strictness).ok)
}

function readTaxId(
  kind: 'cpf' | 'cnpj',
  text: string,
  strictness: PixKeyStrictness,
): PixKeyReading {
  if (taxIdKind(text) !== kind) return { ok: false, reason: 'form' }
  const isValid = kind === 'cpf' ? isValidCpf(text) : isValidCnpj(text)
  if (strictness === 'dict' && !isValid) return { ok: false, reason: 'check_digits' }
  return { ok: true, key: normalizeTaxId(text) }
}

function readEmail(text: string, strictness: PixKeyStrictness): PixKeyReading {
  const key = lowerAscii(text)
  const pattern = strictness === 'dict' ? DICT_EMAIL : /^[^\s@]{1,77}@[^\s@]{1,77}\.[^\s@]{1,77}$/
  if (key.length > KEY_MAX) return { ok: false, reason: 'too_long' }
  return pattern.test(key) ? { ok: true, key } : { ok: false, reason: 'form' }
}

/** A foreign number needs `+`: without it, a mistyped Brazilian number looks the same. */
function readPhone(text: string): PixKeyReading {
  const dialled = stripPhone(text)
  // Prefixes: 0 or 00 before the area code, 00 before 55. Never 14 digits, the length of a CNPJ.
  const national = /^(?:(?:00)?55|\+55|0{0,2})(\d\d)9\d{8}$/.exec(dialled)
  if (national) {
    if (!AREA_CODE.test(national[1] ?? '')) return { ok: false, reason: 'area_code' }
    return { ok: true, key: `+55${dialled.slice(-11)}` }
  }
  if (/^\+(?!55)[1-9]\d{9,14}$/.test(dialled)) return { ok: true, key: dialled }
  return { ok: false, reason: 'form' }
}

/** Test mode: also landlines, unknown area codes and foreign numbers without `+`. */
function readPhoneLeniently(text: string): PixKeyReading {
  const strict = readPhone(text)
  if (strict.ok) return strict
  const dialled = stripPhone(text)
  if (!/^\+?\d{10,15}$/.test(dialled)) return { ok: false, reason: 'form' }
  if (dialled.startsWith('+')) return { ok: true, key: dialled }
  const digits = dialled.replace(/^00?/, '')
  return { ok: true, key: `${digits.length > 11 ? '+' : '+55'}${digits}` }
}

function stripPhone(text: string): string {
  return text.replace(/[(). -]/g, '')
}

// Any UUID version: DICT's own example is version 1.
function readRandom(text: string): PixKeyReading {
  const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(lowerAscii(text.replace(/[ -]/g, '')))
  const key = parts?.slice(1).join('-') ?? ''
  return /^[0-9a-f-]{36}$/.test(key) ? { ok: true, key } : { ok: false, reason: 'form' }
}

/** Reads a key whose type is not known into the form of the directory; null: it is none, or ambiguous. */
export function readDictKey(raw: string): { type: PixKeyType; key: string } | null {
  const inferred = inferPixKeyType(raw, 'dict')
  if (!inferred.ok) return null
  const reading = normalizePixKey(inferred.type, raw, 'dict')
  return reading.ok ? { type: inferred.type, key: reading.key } : null
}

/** Masks a key in the form of the directory, whose type is not known. */
export function maskDictKey(dictKey: string): string {
  const kind = inferPixKeyType(dictKey, 'form')
  return kind.ok ? maskPixKey(kind.type, dictKey) : '***'
}

export function formatPixKey(type: PixKeyType, key: string): string {
  switch (type) {
    case 'cpf':
    case 'cnpj':
      return formatTaxId(key)
    case 'phone':
      return key.replace(/^\+55(\d\d)(\d{4,5})(\d{4})$/, '+55 ($1) $2-$3')
    case 'email':
    case 'random':
      return key
  }
}
