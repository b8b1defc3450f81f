import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { db, type Tx } from '#lib/base/db/client.ts'
import { env } from '#lib/base/env.ts'
import { hmac } from '#lib/base/keys.ts'
import { processWide } from '#lib/base/process-wide.ts'

export interface SigningKey {
  id: string
  number: number
  /** Coordinate x of the public key, in base64url. */
  publicKey: string
  privateKey: KeyObject
}

/** How long a process goes on with a key that another process replaced or withdrew. */
const CURRENT_MS = 30_000
const KEY_ID_LENGTH = 16
/** Start of an Ed25519 private key in PKCS #8, before its 32 bytes (RFC 8410). */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex')

const cache = processWide('payment receipt keys', () => ({
  derived: new Map<string, SigningKey>(),
  current: null as SigningKey | null,
  readAt: 0,
}))

/**
 * Derives a key pair from the server key, PUBLIC_URL and the number of the rotation: a copy of an
 * installation at another address has other keys, and a restored one the same.
 */
export function deriveSigningKey(number: number): SigningKey {
  const { PUBLIC_URL, TROCO_SECRET } = env()
  const name = `${number} ${PUBLIC_URL} ${TROCO_SECRET}`
  const known = cache.derived.get(name)
  if (known) return known
  const seed = hmac('payment-receipts', `${number} ${PUBLIC_URL}`)
  const der = Buffer.concat([PKCS8_START, seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x: publicKey = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const key = { id: keyIdOf(publicKey), number, publicKey, privateKey }
  cache.derived.set(name, key)
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

/** Returns the key that signs now. Publishes it before its first use. */
export async function readCurrentKey(): Promise<SigningKey> {
  const { current, readAt } = cache
  const isRecent = performance.now() < readAt + CURRENT_MS
  // Tests change the server key and PUBLIC_URL of their process.
  if (current && isRecent && deriveSigningKey(current.number) === current) return current
  const rows = await listReceiptKeys()
  const withdrawn = new Set(rows.filter(row => row.withdrawnAt).map(({ id }) => id))
  let key = deriveSigningKey(Math.max(1, ...rows.map(({ number }) => number)))
  while (withdrawn.has(key.id)) key = deriveSigningKey(key.number + 1)
  if (!rows.some(({ id }) => id === key.id)) await publishKey(db(), key)
  Object.assign(cache, { current: key, readAt: performance.now() })
  return key
}

/** Makes this process read the current key anew. */
export function forgetCurrentKey(): void {
  cache.current = null
}

/** Returns false if the key was published before. */
export async function publishKey(
  tx: Pick<Tx, 'paymentReceiptKey'>,
  { id, publicKey, number }: SigningKey,
): Promise<boolean> {
  const data = [{ id, publicKey, number }]
  const { count } = await tx.paymentReceiptKey.createMany({ data, skipDuplicates: true })
  return count > 0
}

/** Returns all keys that ever signed here, the newest first. */
export function listReceiptKeys() {
  return db().paymentReceiptKey.findMany({ orderBy: [{ createdAt: 'desc' }, { id: 'asc' }] })
}

/**
 * Finds the public key with this id. A database that was restored may lack the row of a key: those of
 * TROCO_SECRET are recognized all the same. Not those of TROCO_SECRET_BEFORE, which may have leaked:
 * withdrawing the keys that it signed with must suffice.
 */
export async function findReceiptKey(
  id: string,
): Promise<{ publicKey: string; isWithdrawn: boolean } | null> {
  const row = await db().paymentReceiptKey.findUnique({ where: { id } })
  if (row) return { publicKey: row.publicKey, isWithdrawn: row.withdrawnAt !== null }
  const { number } = await readCurrentKey()
  // One more: the backup may be older than the last rotation.
  const keys = Array.from({ length: number + 1 }, (_, index) => deriveSigningKey(index + 1))
  const found = keys.find(key => key.id === id)
  return found ? { publicKey: found.publicKey, isWithdrawn: false } : null
}
