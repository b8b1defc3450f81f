import * as z from 'zod'
import { ANSWER_MAX } from '#lib/charges/disputes/schema.ts'
import { longText, must } from '#lib/core/fields.ts'
import type { DisputeBasics } from '#lib/dashboard/disputes/schema.ts'

export const answerRequest = z.object({
  text: longText(1, ANSWER_MAX).regex(/^[\n\P{C}]+$/u, must('contain no control characters')),
})

export interface DisputeLine extends DisputeBasics {
  account: { id: string; name: string }
}

/** What Troco's records say about the payment, for the defence. */
export interface DisputeEvidence {
  charge_id: string
  end_to_end_id: string
  reference: string
  charged: number
  created_at: string
  paid_at: string
  /** First time that the payment page was opened; null: never. */
  viewed_at: string | null
  payer: string
  /** Attempts to deliver events of the charge, the oldest first. */
  attempts: { at: string; type: string; host: string; response_status: number | null }[]
  refunds: { at: string; amount: number; status: 'pending' | 'completed' | 'rejected' }[]
}

export interface DisputeDetail extends DisputeLine {
  bank_id: string
  connection: string
  lost_amount: number | null
  closed_at: string | null
  answer: string | null
  answered_at: string | null
  answered_by: string | null
  /** What the bank said to the last answer. */
  bank_text: string | null
  evidence: DisputeEvidence
}
