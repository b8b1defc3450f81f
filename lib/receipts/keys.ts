import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { hmac } from '#lib/core/keys.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'

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

const derivedKeys = processWide('payment receipt keys', () => new Map<string, SigningKey>())

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

export function importPublicKey(publicKey: string): KeyObject {
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
export async function publishKey(
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
export async function findLostKey(id: string): Promise<SigningKey | null> {
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
