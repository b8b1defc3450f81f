import { createHash, randomBytes } from 'node:crypto'

const SECRET_BYTES = 32

/** What the cookie holds: 256 random bits that mean nothing outside the session table. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** What the table holds. A fast hash is enough: a random secret cannot be guessed from it. */
export function hashSecret(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest())
}
