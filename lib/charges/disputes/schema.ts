import * as z from 'zod'
import { DISPUTE_FILTERS } from '#lib/charges/states.ts'
import { attachmentField } from '#lib/core/attachments.ts'
import { longText, must, openApiMeta, text, wholeCents } from '#lib/core/fields.ts'
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
  /** Until when the merchant's defense can be sent. */
  respondBy?: Date | null
}

export type DisputeRow = NonNullable<Awaited<ReturnType<Prisma.DisputeDelegate['findUnique']>>>

/** Characters of a defense; Efí documents no limit. */
export const ANSWER_MAX = 2_000

/**
 * State of the defense. pending: the bank has not confirmed it. taken: the bank has it. late: the bank takes
 * none any more. refused: the bank refused its text. unsent: it did not reach the bank.
 */
export const ANSWER_STATES = ['pending', 'taken', 'late', 'refused', 'unsent'] as const
export type AnswerState = (typeof ANSWER_STATES)[number]

/** States of a defense that the bank does not have, so that one can be sent. */
export const UNANSWERED: AnswerState[] = ['refused', 'unsent']

/** Whether a defense can be sent, and evidence for it. */
export function isAnswerable(status: string, answerState: AnswerState | null): boolean {
  return status === 'open' && (answerState === null || UNANSWERED.includes(answerState))
}

/** Pieces of evidence of one dispute. */
export const EVIDENCE_MAX = 10
const FILE_NAME_MAX = 100

/** A text that the bank gets, or that becomes a part of it. */
export const defenseText = longText(1, ANSWER_MAX).regex(
  /^[\n\P{C}]*$/u,
  must('contain no control characters'),
)

const EvidenceRequest = z
  .strictObject({
    text: defenseText
      .optional()
      .meta(
        openApiMeta(
          'What proves the sale or the delivery, in your words.',
          'Delivered on 20 November, tracking number BR123.',
        ),
      ),
    file: attachmentField
      .optional()
      .meta(openApiMeta('A PDF, PNG or JPEG in base64, of at most 5 MB.', 'JVBERi0xLjcKJSVFT0YK')),
    file_name: text(1, FILE_NAME_MAX)
      .optional()
      .meta(
        openApiMeta(
          'Name of the file, as your administrator reads it. Required with `file`.',
          'delivery.pdf',
        ),
      ),
  })
  .refine(({ text, file }) => text !== undefined || file !== undefined, {
    path: ['text'],
    ...must('be given, or a file'),
  })
  .refine(({ file, file_name }) => (file === undefined) === (file_name === undefined), {
    path: ['file_name'],
    ...must('be given with a file, and only then'),
  })
  .meta({ id: 'DisputeEvidenceRequest' })

export type { Evidence } from '#lib/charges/disputes/wire.ts'
export type EvidenceRequest = z.infer<typeof EvidenceRequest>
export const evidenceRequest = { test: EvidenceRequest, live: EvidenceRequest }

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

export interface ListedDispute extends DisputeBasics {
  /** Pieces of evidence that the merchant sent. */
  evidence_count: number
}

/** A dispute in the list of the account whose charge it is about. */
export interface OwnDispute extends ListedDispute {
  charge_id: string
  external_id: string
  client_name: string
}
