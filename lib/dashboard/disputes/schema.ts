import * as z from 'zod'
import type { AnswerState } from '#lib/charges/disputes/schema.ts'
import type { Mode } from '#lib/core/mode.ts'
import { DISPUTE_FILTERS } from '#lib/dashboard/disputes/states.ts'

export const disputesPageQuery = z.object({
  status: z.enum(DISPUTE_FILTERS).optional(),
  cursor: z.uuid().optional(),
})
export type DisputesQuery = z.infer<typeof disputesPageQuery>

export interface DisputeBasics {
  id: string
  mode: Mode
  amount: number
  status: 'open' | 'won' | 'lost'
  answer_state: AnswerState | null
  respond_by: string | null
  created_at: string
}

/** A dispute in the list of the account whose charge it is about. */
export interface OwnDispute extends DisputeBasics {
  charge_id: string
  external_id: string
  client_name: string
}
