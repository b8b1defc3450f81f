import * as z from 'zod'
import { MODES } from '#lib/base/mode.ts'
import { ShownProblem } from '#lib/services/tries/problems.ts'
import { STEP_CODES, STEP_STATES, TRY_STATUSES, TRY_STEPS } from '#lib/services/tries/states.ts'

export const BeginTry = z.strictObject({
  pix_key: z.string().trim().max(100).nullish().meta({
    description:
      'Pix key of yours at another bank. It gets one cent, and is needed if the connection pays out.',
  }),
})

/** Amounts in cents. */
export const Try = z.object({
  id: z.uuid(),
  mode: z.enum(MODES),
  status: z.enum(TRY_STATUSES),
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
      step: z.enum(TRY_STEPS),
      state: z.enum(STEP_STATES),
      code: z.enum(STEP_CODES).nullable(),
      text: z.string().nullable().meta({ description: 'Why the bank refused it' }),
    }),
  ),
})
export type Try = z.infer<typeof Try>

/** The latest try of a connection; null: there was none. */
const TryState = z.object({ needs_key: z.boolean(), latest: Try.nullable() })
export type TryState = z.infer<typeof TryState>
export const TryRead = z.object({ data: TryState })
