import * as z from 'zod'
import { about, must, text } from '#lib/base/fields.ts'
import { isPermission, PERMISSIONS, type Permission } from '#lib/services/people/roles.ts'

export { isPermission, PERMISSIONS, type Permission }

/**
 * active: works. expiring: works for another week at most. replaced: works until another one has
 * taken its place. expired, revoked: refused.
 */
export const TOKEN_STATUSES = ['active', 'expiring', 'replaced', 'expired', 'revoked'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/** Whether a token of this status is accepted; in SQL: `isTokenActive` of status.ts. */
export function isActiveStatus(status: TokenStatus): boolean {
  return status !== 'expired' && status !== 'revoked'
}

/** A row as the queries of this room select it: never the token itself, nor its hash. */
export interface TokenRow {
  id: string
  name: string
  prefix: string
  last_four: string
  permissions: Permission[]
  status: TokenStatus
  created_at: string
  last_used_at: string | null
  expires_at: string | null
  revoked_at: string | null
  revoked_reason: string | null
  /** Who ended it, where a person did: one of the account's, or the operator's staff. */
  revoked_by: 'member' | 'operator' | null
  /** The member's name; staff is not named. */
  revoker: string | null
  replaced_by: string | null
}

/** Maximum active tokens of an account and mode: more are forgotten ones. */
export const TOKENS_MAX = 100
const LIFE_DAYS_MAX = 3_650
/** How long a replaced token may go on working: until every program has the new one. */
export const OVERLAP_HOURS = [0, 1, 24, 168] as const

const PERMISSION = `be one or more of: ${PERMISSIONS.join(', ')}`
const LIFE = `be a whole number of days from 1 to ${LIFE_DAYS_MAX}`

const TokenRequest = z.object({
  name: text(1, 100).regex(/^[^\p{C}]+$/u, must('be on one line')),
  permissions: z
    .array(z.enum(PERMISSIONS, must(PERMISSION)), must(PERMISSION))
    .min(1, must(PERMISSION))
    .transform(given => PERMISSIONS.filter(name => given.includes(name))),
  expires_in_days: z.int(must(LIFE)).min(1, must(LIFE)).max(LIFE_DAYS_MAX, must(LIFE)).optional(),
  expires_on: z.iso
    .date(must('be a date such as 2027-03-31'))
    .optional()
    .meta(about('The last day on which it works, where the account is.')),
})
export type TokenRequest = z.infer<typeof TokenRequest>
export const tokenRequest = { test: TokenRequest, live: TokenRequest }

const RevokeRequest = z.object({
  reason: text(1, 200).optional().meta(about('Why, for whoever reads it later.')),
})
export const revokeRequest = { test: RevokeRequest, live: RevokeRequest }

const OVERLAP = `be ${OVERLAP_HOURS.join(', ')} hours`
const RotateRequest = z.object({
  overlap_hours: z.literal(OVERLAP_HOURS, must(OVERLAP)),
})
export const rotateRequest = { test: RotateRequest, live: RotateRequest }
