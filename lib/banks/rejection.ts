import * as z from 'zod'
import { openApiMeta } from '#lib/core/fields.ts'
import { formatReason, type ReasonOf } from '#lib/core/reason.ts'
import { Prisma } from '#lib/db/client.ts'

/**
 * Reasons of a bank, as merchants see them. CHECKs on withdrawals and refunds list these codes.
 * `other` quotes what a member entered at the simulated bank, never a bank.
 */
export const REJECTIONS = {
  key_refused: 'The receiving bank refused the key',
  owner_differs: 'The key belongs to another person or company',
  account_unknown: 'The receiving account does not exist',
  account_blocked: 'The receiving account is blocked',
  account_closed: 'The receiving account is closed',
  not_supported: 'The receiving account cannot receive this payment',
  above_limit: 'The amount is above a limit of the bank',
  amount_refused: 'The bank refused the amount',
  receiver_refused: 'The receiving bank refused the payment',
  not_in_pix: 'The receiving bank does not take part in PIX',
  regulation: 'Refused for a legal or regulatory reason',
  denied: 'The bank denied the payment after an analysis',
  try_later: 'The bank could not make the payment: try again later',
  simulated: 'Rejected at the simulated bank',
  unspecified: 'Refused',
  other: '{text}',
} as const

/** Reasons of the account itself, which only a withdrawal may have. */
export const APPROVAL_REJECTIONS = {
  approval_declined: 'Declined by a member of the account',
  approval_expired: 'Not approved by a second member in time',
} as const
/** Reason of the operator, who ended an order that the bank never answered. */
const END_REJECTIONS = {
  ended_unsent: 'The bank never answered, and the operator found that the payment was not sent',
} as const
const ALL_REJECTIONS = { ...REJECTIONS, ...APPROVAL_REJECTIONS, ...END_REJECTIONS }

export type Rejection = ReasonOf<typeof ALL_REJECTIONS>
export const ENDED_UNSENT = { code: 'ended_unsent', params: {} } as const satisfies Rejection
export type RejectionCode = Rejection['code']
export const REJECTION_CODES = Object.keys(ALL_REJECTIONS) as RejectionCode[]

/** Field of a response. A string, not an enumeration: a later version may add codes. */
export const rejectionCodeField = z
  .string()
  .nullable()
  .meta(
    openApiMeta(
      'Code of the reason, for programs, or null. `other`: the reason was typed in at the simulated bank.',
      null,
    ),
  )

/** Why a bank refused: a reason for the merchant, and the bank's own text, which only staff sees. */
export type BankRefusal = ReasonOf<typeof REJECTIONS> & { bankText: string | null }

/** Reasons of the payment system (SPI) by their codes, which every bank passes on. */
const SPI_REJECTIONS: Record<string, Exclude<keyof typeof REJECTIONS, 'other'>> = {
  AC03: 'account_unknown',
  AC06: 'account_blocked',
  AC07: 'account_closed',
  AG03: 'not_supported',
  AM02: 'above_limit',
  // The balance that is short belongs to the operator, which is no merchant's business.
  AM04: 'try_later',
  AM09: 'amount_refused',
  BE01: 'owner_differs',
  DS04: 'receiver_refused',
  DS27: 'not_in_pix',
  RR04: 'regulation',
  AB03: 'try_later',
  AB09: 'try_later',
}

/** Returns the refusal for a code of the payment system; an unknown code gets a general sentence. */
export function spiRefusal(spiCode: string, bankText: string | null): BankRefusal {
  const known = Object.hasOwn(SPI_REJECTIONS, spiCode) ? SPI_REJECTIONS[spiCode] : undefined
  return { code: known ?? 'unspecified', params: {}, bankText }
}

const BANK_TEXT_MAX = 500

/** Returns the assignments of an UPDATE that rejects an order: reason, sentence and bank's text. */
export function rejectionAssignments(reason: Rejection | BankRefusal): Prisma.Sql {
  const { code, params } = reason
  const bankText = 'bankText' in reason ? reason.bankText : null
  return Prisma.sql`rejection_code = ${code}, rejection_params = ${JSON.stringify(params)}::json,
    rejection_reason = ${formatReason(ALL_REJECTIONS, reason)},
    bank_text = ${bankText?.replaceAll('\0', '').slice(0, BANK_TEXT_MAX) ?? null}`
}
