import * as z from 'zod'
import { about, instant } from '#lib/base/fields.ts'
import { PERMISSIONS, TOKEN_STATUSES } from '#lib/rooms/tokens/schema.ts'

const Token = z.object({
  id: z.uuid(),
  name: z.string(),
  prefix: z.string().meta(about('How it begins.')),
  last_four: z.string(),
  permissions: z.array(z.enum(PERMISSIONS)),
  status: z.enum(TOKEN_STATUSES),
  created_at: instant,
  last_used_at: instant.nullable(),
  expires_at: instant.nullable(),
  revoked_at: instant.nullable(),
  revoked_reason: z.string().nullable(),
  revoked_by: z.enum(['member', 'operator']).nullable(),
  revoker: z.string().nullable().meta(about('The name of the member who ended it.')),
  replaced_by: z.uuid().nullable(),
})

/** Those in force first, then the latest that ended; the newest first. */
export const TokenList = z.object({ data: z.array(Token) })
export const TokenRead = z.object({ data: Token })

export const TokenShown = z.object({
  data: Token.extend({
    token: z
      .string()
      .nullable()
      .meta(about('Told this once. Null when the same request is answered again.')),
  }),
})
