import type { ShownChargeStatus } from '#lib/charges/states.ts'
import type { WithdrawalStatus } from '#lib/withdrawals/states.ts'

/** A charge or withdrawal in a list for staff: nothing in it is a whole document or key. */
export interface PaymentLine {
  id: string
  /** The payer's masked document, or the masked Pix key of a withdrawal. */
  subject: string
  external_id: string | null
  status: ShownChargeStatus | WithdrawalStatus
  amount: number
  created_at: string
}
