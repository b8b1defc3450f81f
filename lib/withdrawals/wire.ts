import * as z from 'zod'
import { instant } from '#lib/fields.ts'
import { MODES } from '#lib/mode.ts'
import { cents } from '#lib/money.ts'
import { PIX_KEY_TYPES } from '#lib/pix/pix-key.ts'
import { WITHDRAWAL_STATUSES, type WithdrawalRow } from '#lib/withdrawals/schema.ts'

const created = {
  id: z.uuid(),
  amount: z.int(),
  status: z.enum(WITHDRAWAL_STATUSES),
  pix_key_type: z.enum(PIX_KEY_TYPES),
  pix_key: z.string(),
  created_at: instant,
}

export const WithdrawalCreated = z.object({ message: z.string(), data: z.object(created) })

export const WithdrawalDetail = z.object({
  ...created,
  external_id: z.string().nullable(),
  mode: z.enum(MODES),
  webhook_url: z.string().nullable(),
  rejection_reason: z.string().nullable(),
  end_to_end_id: z.string().nullable(),
  approved_at: instant.nullable(),
  rejected_at: instant.nullable(),
  updated_at: instant,
})
export type WithdrawalDetail = z.infer<typeof WithdrawalDetail>

export const WithdrawalRead = z.object({ data: WithdrawalDetail })
export const WithdrawalPage = z.object({
  data: z.array(WithdrawalDetail),
  next_cursor: z.string().nullable(),
})

export function createdWithdrawalToWire(withdrawal: WithdrawalRow) {
  return {
    id: withdrawal.id,
    amount: cents(withdrawal.amount),
    status: withdrawal.status,
    pix_key_type: withdrawal.pix_key_type,
    pix_key: withdrawal.pix_key,
    created_at: withdrawal.created_at,
  }
}

export function withdrawalToWire(withdrawal: WithdrawalRow): WithdrawalDetail {
  return {
    ...createdWithdrawalToWire(withdrawal),
    external_id: withdrawal.external_id,
    mode: withdrawal.mode,
    webhook_url: withdrawal.webhook_url,
    rejection_reason: withdrawal.rejection_reason,
    end_to_end_id: withdrawal.end_to_end_id,
    approved_at: withdrawal.approved_at,
    rejected_at: withdrawal.rejected_at,
    updated_at: withdrawal.updated_at,
  }
}
