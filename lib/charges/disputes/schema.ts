import * as z from 'zod'
import { DISPUTE_FILTERS } from '#lib/charges/states.ts'
import { must, openApiMeta, wholeCents } from '#lib/core/fields.ts'
import type { Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import type { Prisma } from '#lib/db/client.ts'

/** A dispute as a bank reports it. */
export interface DisputeReport {
  connectionId: string
  /** The bank's id of the dispute. */
  bankId: string
  /** The payment that is disputed. */
  endToEndId: string
  /** Disputed amount. At the end of a lost dispute: the amount that leaves, which may be less. */
  amount: number
  /** Until when the merchant's defence can be sent. */
  respondBy?: Date | null
}

export type DisputeRow = NonNullable<Awaited<ReturnType<Prisma.DisputeDelegate['findUnique']>>>

/** Characters of a defence; Efí documents no limit. */
export const ANSWER_MAX = 2_000

/**
 * State of the defence. pending: the bank has not confirmed it. taken: the bank has it. late: the bank takes
 * none any more. refused: the bank refused its text. unsent: it did not reach the bank.
 */
export const ANSWER_STATES = ['pending', 'taken', 'late', 'refused', 'unsent'] as const
export type AnswerState = (typeof ANSWER_STATES)[number]

const DisputeOpening = z
  .strictObject({
    amount: wholeCents(1, AMOUNT_MAX)
      .optional()
      .meta(
        openApiMeta('Disputed amount, in cents. Default: all that is left of the charge.', 1500),
      ),
  })
  .meta({ id: 'DisputeOpening', examples: [{}] })
export const disputeOpening = { test: DisputeOpening, live: DisputeOpening }

const DisputeEnd = z
  .strictObject({
    outcome: z
      .enum(['won', 'lost'], must('be won or lost'))
      .meta(openApiMeta('Decision of the bank.', 'lost')),
    amount: wholeCents(1, AMOUNT_MAX)
      .optional()
      .meta(
        openApiMeta(
          'Amount that goes to the payer, in cents. Only with `lost`. Default: the whole disputed amount.',
          1500,
        ),
      ),
  })
  .meta({ id: 'DisputeOutcome' })
export type DisputeEnd = z.infer<typeof DisputeEnd>
export const disputeEnd = { test: DisputeEnd, live: DisputeEnd }

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
