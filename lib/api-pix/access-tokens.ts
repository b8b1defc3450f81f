import * as z from 'zod'
import { hmac, isEqual } from '#lib/core/keys.ts'
import type { Permission } from '#lib/tokens/schema.ts'

/** Scopes of API Pix, each with the permission of an API token without which it is not granted. */
const PERMISSION_OF = {
  'cob.write': 'transactions:write',
  'cob.read': 'transactions:read',
  'pix.write': 'refunds:write',
  'pix.read': 'transactions:read',
  'webhook.write': 'webhooks:write',
  'webhook.read': 'webhooks:read',
} as const satisfies Record<string, Permission>
export type Scope = keyof typeof PERMISSION_OF
const SCOPES = Object.keys(PERMISSION_OF) as Scope[]

const LIFETIME_S = 3_600
const HASH_BYTES = 32
const EXPIRY_AT = HASH_BYTES
const SCOPES_AT = EXPIRY_AT + 4
const MAC_AT = SCOPES_AT + 1
const MAC_BYTES = 16
const ACCESS_TOKEN = /^[\w-]{71}$/

export const accessTokenRequest = z.object({
  grant_type: z.literal('client_credentials', { error: 'deve ser client_credentials' }),
  scope: z.string({ error: 'deve ser um texto' }).optional(),
})

interface ApiToken {
  /** Hash by which the API token is looked up, in hexadecimal digits. */
  hash: string
  permissions: readonly string[]
}

/**
 * Makes an access token for an hour, which is stored nowhere: it names the API token and the scopes, of those asked for, that
 * its permissions allow. Null if they allow none.
 */
export function makeAccessToken({ hash, permissions }: ApiToken, wanted?: string) {
  const asked = wanted?.split(' ')
  const granted = SCOPES.filter(
    scope => permissions.includes(PERMISSION_OF[scope]) && (asked?.includes(scope) ?? true),
  )
  if (granted.length === 0) return null
  const content = Buffer.alloc(MAC_AT)
  content.write(hash, 'hex')
  content.writeUInt32BE(nowS() + LIFETIME_S, EXPIRY_AT)
  content.writeUInt8(
    SCOPES.reduce((bits, scope, bit) => bits | (granted.includes(scope) ? 1 << bit : 0), 0),
    SCOPES_AT,
  )
  const access_token = Buffer.concat([content, macOf(content)]).toString('base64url')
  return { access_token, token_type: 'Bearer', expires_in: LIFETIME_S, scope: granted.join(' ') }
}

/** Returns the hash of the API token behind an access token, and its scopes; null if it is not genuine or has expired. */
export function readAccessToken(text: string): { hash: string; scopes: Scope[] } | null {
  if (!ACCESS_TOKEN.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  // The last character has bits that no byte uses.
  if (bytes.toString('base64url') !== text) return null
  const content = bytes.subarray(0, MAC_AT)
  if (!isEqual(bytes.subarray(MAC_AT), macOf(content))) return null
  if (content.readUInt32BE(EXPIRY_AT) <= nowS()) return null
  const bits = content.readUInt8(SCOPES_AT)
  return {
    hash: content.toString('hex', 0, HASH_BYTES),
    scopes: SCOPES.filter((_, bit) => bits & (1 << bit)),
  }
}

function macOf(content: Buffer): Buffer {
  return hmac('access-tokens', content.toString('base64url')).subarray(0, MAC_BYTES)
}

function nowS(): number {
  return Math.floor(Date.now() / 1_000)
}
