import { Prisma } from '#lib/base/db/client.ts'
import { formatReason, type ReasonOf } from '#lib/base/reason.ts'

/** CHECKs on withdrawals, refunds, simulator_orders list these codes; `other` quotes the bank. */
export const REJECTIONS = {
  key_refused: 'The receiving bank refused the key',
  simulated: 'Rejected at the simulated bank',
  unspecified: 'Refused',
  other: '{text}',
} as const

/** Reasons of the account itself, which only a withdrawal may have. */
export const APPROVAL_REJECTIONS = {
  approval_declined: 'Declined by a member of the account',
  approval_expired: 'Not approved by a second member in time',
} as const
const ALL_REJECTIONS = { ...REJECTIONS, ...APPROVAL_REJECTIONS }

export type Rejection = ReasonOf<typeof ALL_REJECTIONS>
export type RejectionCode = Rejection['code']
export const REJECTION_CODES = Object.keys(ALL_REJECTIONS) as RejectionCode[]

/** A reason with a code, or the text of the bank. */
export type BankReason = ReasonOf<typeof REJECTIONS> | string

/** Returns the assignments of an UPDATE that rejects an order: code, parameters and sentence. */
export function rejectionAssignments(reason: Rejection | string): Prisma.Sql {
  const rejection = toRejection(reason)
  return Prisma.sql`rejection_code = ${rejection.code},
    rejection_params = ${JSON.stringify(rejection.params)}::json,
    rejection_reason = ${rejectionText(rejection)}`
}

export function rejectionText(reason: Rejection | string): string {
  return formatReason(ALL_REJECTIONS, toRejection(reason))
}

function toRejection(reason: Rejection | string): Rejection {
  return typeof reason === 'string' ? { code: 'other', params: { text: reason } } : reason
}
