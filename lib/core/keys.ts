import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { refuse, setupError } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'

/** Purposes of the keys derived from TROCO_SECRET. Each purpose has its own key. */
export const PURPOSES = [
  'api-tokens',
  'webhook-secrets',
  'next-auth',
  'payment-pages',
  'sign-in',
  'second-factors',
  'recovery-codes',
  'mails',
  'known-devices',
  'bank-credentials',
  'bank-notices',
  'payment-receipts',
  'access-tokens',
] as const
type Purpose = (typeof PURPOSES)[number]
type SealPurpose = Extract<
  Purpose,
  'webhook-secrets' | 'second-factors' | 'mails' | 'bank-credentials'
>

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Derived keys by purpose and secret, cached because deriving a key costs more than using it. */
const derivedKeys = new Map<string, KeyObject>()

export function deriveKey(purpose: Purpose, secret = env().TROCO_SECRET): KeyObject {
  if (!secret) throw setupError('TROCO_SECRET is not set: start with `npm start`')
  const name = `${purpose} ${secret}`
  const cachedKey = derivedKeys.get(name)
  if (cachedKey) return cachedKey
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, 'troco', purpose, 32)))
  derivedKeys.set(name, key)
  return key
}

/** Fingerprint of the key that encrypts webhook secrets; it reveals nothing of the key. */
export function keyId(secret?: string): string {
  return createHash('sha256')
    .update(deriveKey('webhook-secrets', secret).export())
    .digest('hex')
    .slice(0, 12)
}

const textsOfKeys = new WeakMap<KeyObject, string>()

/**
 * Returns the hash of key and text, for texts that nobody can guess: one call, a quarter of the time of an HMAC. From a
 * SHA-512/256 hash, unlike a SHA-256 hash, nobody can compute the hash of a longer text.
 */
export function keyedHash(purpose: Purpose, text: string, secret?: string): string {
  const key = deriveKey(purpose, secret)
  const textOfKey = textsOfKeys.get(key) ?? key.export().toString('hex')
  textsOfKeys.set(key, textOfKey)
  return hash('sha512-256', textOfKey + text, 'hex')
}

export function hmac(purpose: Purpose, text: string, secret?: string): Buffer {
  return createHmac('sha256', deriveKey(purpose, secret)).update(text).digest()
}

/** Compares texts or bytes in constant time; those of different length are unequal. */
export function isEqual<T extends string | Uint8Array>(actual: T, expected: T): boolean {
  const [left, right] = [Buffer.from(actual), Buffer.from(expected)]
  return left.byteLength === right.byteLength && timingSafeEqual(left, right)
}

/** AES-256-GCM. `context` names the row; the result cannot be decrypted in another row. */
export function seal(
  text: string,
  context: string,
  purpose: SealPurpose = 'webhook-secrets',
): Uint8Array<ArrayBuffer> {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(purpose), nonce)
  cipher.setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), body]))
}

/** Decrypts text that `seal` encrypted under TROCO_SECRET or TROCO_SECRET_BEFORE. */
export function unseal(
  sealed: Uint8Array,
  context: string,
  purpose: SealPurpose = 'webhook-secrets',
): string {
  const { TROCO_SECRET, TROCO_SECRET_BEFORE } = env()
  let cause: unknown
  for (const secret of [TROCO_SECRET, TROCO_SECRET_BEFORE].filter(Boolean)) {
    try {
      return decrypt(Buffer.from(sealed), context, deriveKey(purpose, secret))
    } catch (error) {
      cause = error
    }
  }
  const message =
    'This secret was encrypted with another TROCO_SECRET: set TROCO_SECRET_BEFORE to that one'
  throw refuse('setup_failed', message, { cause })
}

function decrypt(bytes: Buffer, context: string, key: KeyObject): string {
  const options = { authTagLength: TAG_BYTES }
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), options)
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const body = bytes.subarray(NONCE_BYTES + TAG_BYTES)
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
}

const SECRET_BYTES = 32

export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** Hashes a secret for storage. A fast hash is enough, because 256 random bits cannot be guessed. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest())
}
