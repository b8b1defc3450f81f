import { sign, verify } from 'node:crypto'
import { removeHyphens } from '#lib/core/ids.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { findLostKey, importPublicKey, publishKey, readCurrentKey } from '#lib/receipts/keys.ts'

const RECEIPT_KINDS = ['transaction', 'withdrawal'] as const
export type ReceiptKind = (typeof RECEIPT_KINDS)[number]

/** The payment that a receipt proves, without names or documents. */
export interface ReceiptFacts {
  mode: Mode
  kind: ReceiptKind
  id: string
  amount: number
  /** Time of the payment, as the API writes it: UTC with microseconds. */
  at: string
  endToEndId: string
}

interface ParsedReceipt {
  keyId: string
  facts: ReceiptFacts
  /** The part that the signature covers. */
  signed: string
  signature: Buffer
}

const VERSION = 1
/** Separates these signatures from those of any other use of the key. */
const DOMAIN = 'troco-receipt:'
/** Exactly what `formatFacts` writes, so that no other text means the same receipt. */
const FORM = new RegExp(
  [
    `^(${VERSION}`,
    '(?<keyId>[A-Za-z0-9_-]{16})',
    `(?<mode>${MODES.join('|')})`,
    `(?<kind>${RECEIPT_KINDS.join('|')})`,
    '(?<id>[0-9a-f]{32})',
    '(?<amount>[1-9][0-9]{0,11})',
    '(?<at>[0-9]{8}T[0-9]{12}Z)',
    '(?<endToEndId>[A-Za-z0-9]{32}))',
    '(?<signature>[A-Za-z0-9_-]{86})$',
  ].join('\\.'),
)

export function isEndToEndId(text: string | null): text is string {
  return text !== null && /^[A-Za-z0-9]{32}$/.test(text)
}

/** Writes everything but the signature: the last part of the URL of a receipt begins with it. */
export function formatFacts(keyId: string, facts: ReceiptFacts): string {
  const { mode, kind, id, amount, at, endToEndId } = facts
  const time = at.replace(/[-:.]/g, '')
  return [VERSION, keyId, mode, kind, removeHyphens(id), amount, time, endToEndId].join('.')
}

export function signedBytes(text: string): Buffer {
  return Buffer.from(DOMAIN + text)
}

/** Null unless the text has exactly the form of a receipt; its signature is not verified. */
export function parseReceipt(text: string): ParsedReceipt | null {
  const match = FORM.exec(text)
  const { keyId = '', mode, kind, id = '', amount, at = '', ...rest } = match?.groups ?? {}
  const { endToEndId = '', signature: encoded = '' } = rest
  const signature = Buffer.from(encoded, 'base64url')
  // The last character carries only two bits; the other four must not give a second text.
  if (!match || signature.toString('base64url') !== encoded) return null
  const facts = {
    mode: mode as Mode,
    kind: kind as ReceiptKind,
    amount: Number(amount),
    endToEndId,
    id: id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    at: at.replace(/^(....)(..)(..)T(..)(..)(..)(.{6})Z$/, '$1-$2-$3T$4:$5:$6.$7Z'),
  }
  return { keyId, facts, signed: match[1] ?? '', signature }
}

type ReceiptVerdict =
  | { state: 'forged' | 'withdrawn' }
  | { state: 'signed'; facts: ReceiptFacts; keyId: string }

/** Path of the public pages, before the text of the receipt. */
export const RECEIPT_PATH = '/receipt/'

/** Returns the URL of the public page on which a receipt proves itself, the content of its QR code. */
export async function createReceiptUrl(facts: ReceiptFacts): Promise<string> {
  const key = await readCurrentKey()
  const text = formatFacts(key.id, facts)
  const signature = sign(null, signedBytes(text), key.privateKey).toString('base64url')
  return `${env().PUBLIC_URL}${RECEIPT_PATH}${text}.${signature}`
}

/**
 * Verifies the last part of such a URL, without the record of the payment. A receipt whose key was
 * withdrawn proves nothing: others may have the key. A key whose row a restore lost is published again.
 */
export async function verifyReceipt(text: string): Promise<ReceiptVerdict> {
  const receipt = parseReceipt(text)
  if (!receipt) return { state: 'forged' }
  const { signed, signature, facts, keyId } = receipt
  const row = await db().receiptKey.findUnique({ where: { id: keyId } })
  const lost = row ? null : await findLostKey(keyId)
  const publicKey = (row ?? lost)?.publicKey
  const isValid =
    publicKey !== undefined &&
    verify(null, signedBytes(signed), importPublicKey(publicKey), signature)
  if (!isValid) return { state: 'forged' }
  if (lost) await publishKey(db(), lost)
  return row?.withdrawnAt ? { state: 'withdrawn' } : { state: 'signed', facts, keyId }
}
