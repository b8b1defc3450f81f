import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { hmac } from '#lib/core/keys.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'

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

export interface SigningKey {
  id: string
  number: number
  /** Coordinate x of the public key, in base64url. */
  publicKey: string
  privateKey: KeyObject
}

const KEY_ID_LENGTH = 16
/** Start of an Ed25519 private key in PKCS #8, before its 32 bytes (RFC 8410). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex')

const derivedKeys = new Map<string, SigningKey>()

/**
 * Derives a key pair from the server key, PUBLIC_URL and the number of the rotation: a copy of an
 * installation at another address has other keys, and a restored one the same.
 */
export function deriveSigningKey(number: number): SigningKey {
  const { PUBLIC_URL, TROCO_SECRET } = env()
  const name = `${number} ${PUBLIC_URL} ${TROCO_SECRET}`
  const known = derivedKeys.get(name)
  if (known) return known
  const seed = hmac('payment-receipts', `${number} ${PUBLIC_URL}`)
  const der = Buffer.concat([PKCS8_START, seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x: publicKey = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const key = { id: keyIdOf(publicKey), number, publicKey, privateKey }
  derivedKeys.set(name, key)
  return key
}

/** Returns the start of the thumbprint of the key (RFC 7638). */
function keyIdOf(publicKey: string): string {
  const members = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: publicKey })
  return createHash('sha256').update(members).digest('base64url').slice(0, KEY_ID_LENGTH)
}

function importPublicKey(publicKey: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
}

/**
 * Returns the key that signs now. Publishes it before its first use. Reads the keys each time: a key
 * that another process withdrew must not sign once more.
 */
export async function readCurrentKey(): Promise<SigningKey> {
  const rows = await listReceiptKeys()
  const withdrawn = new Set(rows.filter(row => row.withdrawnAt).map(({ id }) => id))
  let key = deriveSigningKey(Math.max(1, ...rows.map(({ number }) => number)))
  while (withdrawn.has(key.id)) key = deriveSigningKey(key.number + 1)
  if (!rows.some(({ id }) => id === key.id)) await publishKey(db(), key)
  return key
}

/** Returns false if the key was published before. */
async function publishKey(
  tx: Pick<Tx, 'receiptKey'>,
  { id, publicKey, number }: SigningKey,
): Promise<boolean> {
  const data = [{ id, publicKey, number }]
  const { count } = await tx.receiptKey.createMany({ data, skipDuplicates: true })
  return count > 0
}

/** Returns all keys that ever signed here, the newest first. */
export function listReceiptKeys() {
  return db().receiptKey.findMany({ orderBy: [{ createdAt: 'desc' }, { id: 'asc' }] })
}

/**
 * Finds a key without a row, which a database that was restored may have lost. Only keys of TROCO_SECRET,
 * not those of TROCO_SECRET_BEFORE, which may have leaked: withdrawing the keys that it signed with
 * must suffice.
 */
async function findLostKey(id: string): Promise<SigningKey | null> {
  const { number } = await readCurrentKey()
  // One more: the backup may be older than the last rotation.
  const keys = Array.from({ length: number + 1 }, (_, index) => deriveSigningKey(index + 1))
  return keys.find(key => key.id === id) ?? null
}

/**
 * Signs with a new key from now on, in all processes. Receipts of the former key stay valid. Two calls at the same time make one key.
 */
export async function rotateReceiptKey(actor: Actor): Promise<string> {
  const numbers = (await listReceiptKeys()).map(({ number }) => number)
  const key = deriveSigningKey(Math.max(1, ...numbers) + 1)
  await transaction(async tx => {
    const isNew = await publishKey(tx, key)
    if (isNew) await recordAudit(tx, { actor, action: 'receipt_key.rotated', target: key.id })
  })
  return key.id
}

/**
 * Makes all receipts of a key invalid. If it is the one that signs, the next one takes its place.
 * Does nothing if it was withdrawn before. A key whose row a restore lost gets it again.
 */
export async function withdrawReceiptKey(id: string, reason: string, actor: Actor): Promise<void> {
  const keys = await listReceiptKeys()
  const isListed = keys.some(key => key.id === id)
  const lost = isListed ? null : await findLostKey(id)
  if (!isListed && !lost) {
    throw refuse('not_found', `No key ${id}: see \`receipt-key list\``)
  }
  await transaction(async tx => {
    if (lost) await publishKey(tx, lost)
    const { count } = await tx.receiptKey.updateMany({
      where: { id, withdrawnAt: null },
      data: { withdrawnAt: new Date() },
    })
    if (count === 0) return
    await recordAudit(tx, { actor, action: 'receipt_key.withdrawn', target: id, reason })
  })
}
