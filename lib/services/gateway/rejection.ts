import { Prisma } from '#lib/base/db/client.ts'
import { formatReason, type ReasonOf } from '#lib/base/reason.ts'

/** CHECKs on withdrawals, refunds, simulator_orders list these codes; `other` quotes the bank. */
export const REJECTIONS = {
  key_refused: 'The receiving bank refused the key',
  simulated: 'Rejected at the simulated bank',
  unspecified: 'Refused',
  other: '{text}',
} as const

export type Rejection = ReasonOf<typeof REJECTIONS>
export type RejectionCode = Rejection['code']
export const REJECTION_CODES = Object.keys(REJECTIONS) as RejectionCode[]

/** A reason with a code, or the text of the bank. */
export type BankReason = Rejection | string

/** Returns the assignments of an UPDATE that rejects an order: code, parameters and sentence. */
export function rejectionAssignments(reason: BankReason): Prisma.Sql {
  const rejection = toRejection(reason)
  return Prisma.sql`rejection_code = ${rejection.code},
    rejection_params = ${JSON.stringify(rejection.params)}::json,
    rejection_reason = ${rejectionText(rejection)}`
}

export function rejectionText(reason: BankReason): string {
  return formatReason(REJECTIONS, toRejection(reason))
}

function toRejection(reason: BankReason): Rejection {
  return typeof reason === 'string' ? { code: 'other', params: { text: reason } } : reason
}
