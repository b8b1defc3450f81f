import * as z from 'zod'
import { instant, must, openApiMeta, text } from '#lib/base/fields.ts'
import { MODES } from '#lib/base/mode.ts'
import { TOKEN_STATUSES } from '#lib/rooms/tokens/states.ts'
import {
  DEFAULT_PERMISSIONS,
  isPermission,
  PERMISSIONS,
  type Permission,
} from '#lib/services/people/roles.ts'

export { DEFAULT_PERMISSIONS, isPermission, PERMISSIONS, type Permission }

/** Row of a token. Never contains the token itself or its hash. */
export const Token = z.object({
  id: z.uuid(),
  name: z.string(),
  prefix: z.string().meta(openApiMeta('First characters of the token.')),
  last_four: z.string(),
  permissions: z.array(z.enum(PERMISSIONS)),
  status: z.enum(TOKEN_STATUSES),
  created_at: instant,
  last_used_at: instant.nullable(),
  expires_at: instant.nullable(),
  revoked_at: instant.nullable(),
  revoked_reason: z.string().nullable(),
  /** Kind of user who revoked the token, if any. `revoker` does not name operator staff. */
  revoked_by: z.enum(['member', 'operator']).nullable(),
  revoker: z.string().nullable().meta(openApiMeta('Name of the member who revoked it.')),
  replaced_by: z.uuid().nullable(),
  issuer: z
    .string()
    .nullable()
    .meta(openApiMeta('Name of the member who issued it; null for the administrator.')),
  exceeds_issuer: z
    .boolean()
    .meta(openApiMeta('Has a permission that the present role of its issuer lacks.')),
})
export type TokenRow = z.infer<typeof Token>

export const IssuedToken = Token.extend({ mode: z.enum(MODES) })
export type IssuedTokenRow = z.infer<typeof IssuedToken>

/** Maximum active tokens per account and mode: with more, some are probably unused. */
export const TOKENS_MAX = 100
const LIFETIME_DAYS_MAX = 3_650
/** Choices for the overlap, in which every program switches to the new token. */
export const OVERLAP_HOURS = [0, 1, 24, 168] as const

const PERMISSIONS_RULE = `be a list of one or more of: ${PERMISSIONS.join(', ')}`
const LIFETIME_RULE = `be a whole number of days from 1 to ${LIFETIME_DAYS_MAX}`

const TokenRequest = z.object({
  name: text(1, 100).regex(/^[^\p{C}]+$/u, must('contain no line breaks or control characters')),
  permissions: z
    .array(z.enum(PERMISSIONS, must(PERMISSIONS_RULE)), must(PERMISSIONS_RULE))
    .min(1, must(PERMISSIONS_RULE))
    .transform(requested => PERMISSIONS.filter(name => requested.includes(name))),
  expires_in_days: z
    .int(must(LIFETIME_RULE))
    .min(1, must(LIFETIME_RULE))
    .max(LIFETIME_DAYS_MAX, must(LIFETIME_RULE))
    .optional(),
  expires_on: z.iso
    .date(must('be a date such as 2027-03-31'))
    .optional()
    .meta(openApiMeta("Last day on which the token is valid, in the account's time zone.")),
})
export type TokenRequest = z.infer<typeof TokenRequest>
export const tokenRequest = { test: TokenRequest, live: TokenRequest }

const RevokeRequest = z.object({
  reason: text(1, 200).optional().meta(openApiMeta('Reason, for the audit log.')),
})
export const revokeRequest = { test: RevokeRequest, live: RevokeRequest }

const OVERLAP_RULE = `be one of ${OVERLAP_HOURS.join(', ')}`
const RotateRequest = z.object({
  overlap_hours: z.literal(OVERLAP_HOURS, must(OVERLAP_RULE)),
})
export const rotateRequest = { test: RotateRequest, live: RotateRequest }
