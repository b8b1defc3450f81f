import { createHmac, randomInt } from 'node:crypto'
import { deriveKey } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import type { Tx } from '#lib/db/client.ts'

const CODE_COUNT = 10
/** Characters that are not confused with each other. A code of ten has 49 bits. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const CODE_LENGTH = 10

/** Replaces all recovery codes of a user. Only hashes are stored. */
export async function makeRecoveryCodes(tx: Tx, userId: string): Promise<string[]> {
  const codes = Array.from({ length: CODE_COUNT }, makeCode)
  await tx.recoveryCode.deleteMany({ where: { userId } })
  const data = codes.map(code => ({ userId, hash: hashCode(userId, normalizeCode(code)) }))
  await tx.recoveryCode.createMany({ data })
  return codes.map(code => `${code.slice(0, 5)}-${code.slice(5)}`)
}

/** Consumes a recovery code. Returns false if the code is wrong or was used before. */
export async function consumeRecoveryCode(tx: Tx, userId: string, text: string): Promise<boolean> {
  const code = normalizeCode(text)
  if (code.length !== CODE_LENGTH) return false
  const { TROCO_SECRET, TROCO_SECRET_BEFORE } = env()
  const hashes = [hashCode(userId, code, TROCO_SECRET)]
  if (TROCO_SECRET_BEFORE) hashes.push(hashCode(userId, code, TROCO_SECRET_BEFORE))
  const { count } = await tx.recoveryCode.updateMany({
    where: { userId, hash: { in: hashes }, usedAt: null },
    data: { usedAt: new Date() },
  })
  return count === 1
}

function makeCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
}

function normalizeCode(text: string): string {
  return text.toLowerCase().replace(/[\s-]/g, '')
}

/** Hashes with a server key: 49 bits alone could be searched by anyone with a copy of the table. */
function hashCode(userId: string, code: string, secret?: string): Uint8Array<ArrayBuffer> {
  const mac = createHmac('sha256', deriveKey('recovery-codes', secret))
  return new Uint8Array(mac.update(`${userId} ${code}`).digest())
}
