import { createHash, randomBytes } from 'node:crypto'

const SECRET_BYTES = 32

export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** Hashes a secret for storage. A fast hash is enough, because 256 random bits cannot be guessed. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest())
}
