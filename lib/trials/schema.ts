import * as z from 'zod'
import { MODES } from '#lib/core/mode.ts'

/** In cents. Efí rejects a refund of one cent in homologation. */
export const REFUND_AMOUNT = 2
export const WITHDRAWAL_AMOUNT = 1

export const BeginTrial = z.strictObject({
  pix_key: z.string().trim().max(100).nullish().meta({
    description:
      'Pix key of yours at another bank. It gets one cent, and is needed if the connection pays out.',
  }),
})

/**
 * What a trial proves, in order. charge: the bank makes a code. payment: it reports the payment. notice: it announced
 * it. refund: a part went back. withdrawal: the rest reached the key.
 */
const TRIAL_STEPS = ['charge', 'payment', 'notice', 'refund', 'withdrawal'] as const

/** upcoming: another step comes first. skipped: a step before failed, or this connection does not do it. */
const STEP_STATES = ['upcoming', 'waiting', 'done', 'failed', 'skipped'] as const
export type StepState = (typeof STEP_STATES)[number]

/** not_noticed: no notice within ten minutes of the payment. */
const STEP_CODES = ['not_paid', 'other_amount', 'not_noticed', 'no_payouts'] as const
export type StepCode = (typeof STEP_CODES)[number]

const Step = z.object({
  step: z.enum(TRIAL_STEPS),
  state: z.enum(STEP_STATES),
  at: z.string().nullable().meta({ description: 'When it was done' }),
  bank_id: z.string().nullable().meta({
    description: 'The txid, end-to-end id or return id by which the bank knows it',
  }),
  code: z.enum(STEP_CODES).nullable(),
  text: z.string().nullable().meta({ description: 'What the bank answered, if it is not done' }),
  refusal: z.string().nullable().meta({
    description:
      'Error code with which Troco refused the refund or withdrawal last, if there is none',
  }),
})
export type StepView = z.infer<typeof Step>

/** Amounts in cents. */
export const Trial = z.object({
  /** Of the charge. */
  id: z.uuid(),
  mode: z.enum(MODES),
  status: z.enum(['running', 'passed', 'failed']),
  amount: z.int(),
  refund_amount: z.int(),
  withdrawal_amount: z.int(),
  br_code: z.string().nullable().meta({ description: 'The code to pay; null once it is paid' }),
  key: z.string().nullable().meta({ description: 'The Pix key, masked' }),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  steps: z.array(Step),
})
export type Trial = z.infer<typeof Trial>

/** The latest trial of a connection; null: there was none. */
const TrialState = z.object({ needs_key: z.boolean(), latest: Trial.nullable() })
export type TrialState = z.infer<typeof TrialState>
export const TrialRead = z.object({ data: TrialState })
