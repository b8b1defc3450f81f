import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { transaction } from '#lib/db/transaction.ts'
import { newId } from '#lib/ids.ts'
import { hmac } from '#lib/keys.ts'
import type { Mode } from '#lib/mode.ts'
import type { Permission } from '#lib/tokens/schema.ts'
import { makeToken } from '#lib/tokens/token-text.ts'

const PREFIX_LENGTH = 20

interface NewToken {
  accountId: string
  mode: Mode
  name: string
  permissions: Permission[]
  expiresAt?: Date
}

/** Makes a token and tells it this once: only its HMAC, its beginning and its end are kept. */
export function issueToken(wanted: NewToken, actor: Actor): Promise<{ id: string; token: string }> {
  const token = makeToken(wanted.mode)
  return transaction(async tx => {
    const { id, accountId } = await tx.token.create({
      data: {
        ...wanted,
        id: newId(),
        hash: hashToken(token),
        prefix: token.slice(0, PREFIX_LENGTH),
        lastFour: token.slice(-4),
      },
    })
    const after = { name: wanted.name, mode: wanted.mode, permissions: wanted.permissions }
    await recordAudit(tx, { actor, action: 'token.issued', accountId, target: id, after })
    return { id, token }
  })
}

export function hashToken(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hmac('api-tokens', token))
}
