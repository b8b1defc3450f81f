import type { Mode } from '#lib/mode.ts'
import type { PixKeyType } from '#lib/pix/pix-key.ts'

/**
 * pending: the amount is held; the bank may have been asked. approved: the money has left.
 * rejected: it never will, and the merchant has the amount again. The last two are final.
 */
export const WITHDRAWAL_STATUSES = ['pending', 'approved', 'rejected'] as const
export type WithdrawalStatus = (typeof WITHDRAWAL_STATUSES)[number]

/** A row as the queries of this room select it. */
export interface WithdrawalRow {
  id: string
  external_id: string | null
  mode: Mode
  status: WithdrawalStatus
  amount: bigint | number
  pix_key_type: PixKeyType
  pix_key: string
  webhook_url: string | null
  rejection_reason: string | null
  end_to_end_id: string | null
  approved_at: string | null
  rejected_at: string | null
  created_at: string
  updated_at: string
}
