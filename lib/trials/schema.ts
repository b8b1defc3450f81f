import * as z from 'zod'
import { MODES } from '#lib/core/mode.ts'
import { ShownProblem } from '#lib/trials/problems.ts'
import { STEP_CODES, STEP_STATES, TRIAL_STATUSES, TRIAL_STEPS } from '#lib/trials/states.ts'

export const BeginTrial = z.strictObject({
  pix_key: z.string().trim().max(100).nullish().meta({
    description:
      'Pix key of yours at another bank. It gets one cent, and is needed if the connection pays out.',
  }),
})

/** Amounts in cents. */
export const Trial = z.object({
  id: z.uuid(),
  mode: z.enum(MODES),
  status: z.enum(TRIAL_STATUSES),
  amount: z.int(),
  payout_amount: z.int(),
  br_code: z.string().nullable(),
  key: z.string().nullable().meta({ description: 'The Pix key, masked' }),
  problems: z.array(ShownProblem).meta({ description: 'Why the last calls did not succeed' }),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  steps: z.array(
    z.object({
      step: z.enum(TRIAL_STEPS),
      state: z.enum(STEP_STATES),
      code: z.enum(STEP_CODES).nullable(),
      text: z.string().nullable().meta({ description: 'Why the bank refused it' }),
    }),
  ),
})
export type Trial = z.infer<typeof Trial>

/** The latest trial of a connection; null: there was none. */
const TrialState = z.object({ needs_key: z.boolean(), latest: Trial.nullable() })
export type TrialState = z.infer<typeof TrialState>
export const TrialRead = z.object({ data: TrialState })
