import * as z from 'zod'
import { type ReasonOf, reasonParams } from '#lib/core/reason.ts'

/**
 * Why the last call of a trial did not succeed. bank_says: with the bank's own text. no_answer:
 * `text` is the status or the error of the connection. other: a text stored before there were codes.
 */
export const TRIAL_PROBLEMS = {
  bank_says: 'The bank says: {text}',
  no_balance: 'The balance at the bank does not cover the payout',
  no_answer: 'No usable response from the bank: {text}',
  timed_out: 'No response from the bank in time',
  resting: 'No call yet: the connection pauses after failed calls',
  no_slot: 'No call yet: other payouts hold all slots at the bank',
  unserved: 'This server cannot call the bank: `bank check` says why',
  other: '{text}',
} as const

export type TrialProblem = ReasonOf<typeof TRIAL_PROBLEMS>
export type TrialProblemCode = TrialProblem['code']

export const ShownProblem = z.object({
  code: z.enum(Object.keys(TRIAL_PROBLEMS) as TrialProblemCode[]),
  params: reasonParams,
})
