import * as z from 'zod'
import { REJECTION_CODES } from '#lib/banks/rejection.ts'
import { ANSWER_STATES } from '#lib/charges/disputes/schema.ts'
import { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import { ChargeDetail } from '#lib/charges/wire.ts'
import { instant } from '#lib/core/fields.ts'
import { PIX_KEY_TYPES } from '#lib/core/pix/pix-key.ts'
import { reasonParams } from '#lib/core/reason.ts'
import { Attempt } from '#lib/webhooks/wire.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

const { problem, problem_code, problem_params, response_status } = Attempt.shape

const attemptStep = z.object({
  what: z.literal('told'),
  at: instant,
  host: z.string(),
  number: z.int(),
  ...{ response_status, problem, problem_code, problem_params },
})
export type AttemptStep = z.infer<typeof attemptStep>

const RejectionFields = z.object({
  rejection_code: z.enum(REJECTION_CODES).nullable(),
  rejection_params: reasonParams.nullable(),
})
export type RejectionFields = z.infer<typeof RejectionFields>
const { rejection_code } = RejectionFields.shape

/** Steps of a charge, oldest first; pending webhook attempts are last. */
const chargeStep = z.union([
  z.object({ what: z.literal('created'), at: instant, ip: z.string().nullable() }),
  z.object({ what: z.enum(['viewed', 'expired', 'failed']), at: instant }),
  z.object({ what: z.literal('paid'), at: instant, end_to_end_id: z.string() }),
  z.object({
    what: z.literal('entry'),
    at: instant,
    kind: z.enum([
      ...['charge_paid', 'refund_held', 'refund_returned', 'dispute_held', 'dispute_won'],
      'payment_returned',
    ] as const),
    amount: z.int(),
    balance_after: z.int(),
  }),
  attemptStep.extend({ duration_ms: z.int() }),
  /** `amount`: what is disputed; at the end of a lost dispute, what went to the payer. */
  z.object({
    what: z.literal('dispute'),
    at: instant,
    status: z.enum(['open', 'won', 'lost']),
    amount: z.int(),
  }),
  /** The bank gave money back by itself; `nature` is its reason. */
  z.object({
    what: z.literal('returned'),
    ...{ at: instant, amount: z.int(), nature: z.string().nullable() },
  }),
  /** A payment of another amount than the charge's, which did not pay it, and what was decided about it. */
  z.object({
    what: z.literal('mismatch'),
    at: instant,
    amount: z.int(),
    state: z.enum(['open', 'returning', 'returned', 'credited', 'kept']),
  }),
  z.object({
    what: z.literal('refund'),
    at: instant,
    status: z.enum(['pending', 'completed', 'rejected']),
    amount: z.int(),
    reason: z.string().nullable(),
    ...RejectionFields.shape,
  }),
  /** Webhook attempt that is in progress (`at` is null) or scheduled. */
  z.object({
    what: z.literal('next_try'),
    at: instant.nullable(),
    host: z.string(),
    number: z.int(),
  }),
])
export type ChargeStep = z.infer<typeof chargeStep>

const ChargeDispute = DisputeDetail.omit({ transaction_id: true, updated_at: true }).extend({
  answer_state: z.enum(ANSWER_STATES).nullable(),
})
export type ChargeDispute = z.infer<typeof ChargeDispute>

/** In cents. */
export const RefundLimits = z.object({
  /** Amount that can still be refunded. */
  refundable: z.int(),
  /** Amount that could be refunded until the payment was too old. */
  late: z.int(),
  /** Amount of open disputes, which cannot be refunded meanwhile. */
  disputed: z.int(),
  /** Amount that went to the payer by lost disputes. */
  lost: z.int(),
})
export type RefundLimits = z.infer<typeof RefundLimits>

/** Charge as its page shows it: the payer's document is masked. */
const ChargeTimelineData = z.object({
  charge: ChargeDetail,
  steps: z.array(chargeStep),
  receipt_url: z.string().nullable(),
  refunds: z.array(
    RefundDetail.extend({
      ...RejectionFields.shape,
      /** Whether the bank has taken longer than usual to confirm it. */
      is_late: z.boolean(),
    }),
  ),
  disputes: z.array(ChargeDispute),
  ...RefundLimits.shape,
})
export type ChargeTimelineData = z.infer<typeof ChargeTimelineData>
export const ChargeTimelineRead = z.object({ data: ChargeTimelineData })

/**
 * Why a withdrawal needs a second member: it is above the account's amount, its day is above that of a
 * day, or no withdrawal to its key was paid before.
 */
const ApprovalReason = z.enum(['amount', 'day_amount', 'new_key'])
export type ApprovalReason = z.infer<typeof ApprovalReason>

/** Steps of a withdrawal, oldest first; `at` is null where no time was recorded. */
const withdrawalStep = z.union([
  /** `ended_sent`: the bank never answered, and the operator found that the payment was sent. */
  z.object({ what: z.enum(['requested', 'sent', 'approved', 'ended_sent']), at: instant }),
  z.object({ what: z.literal('approval_needed'), at: instant, reason: ApprovalReason }),
  z.object({ what: z.literal('approval_given'), at: instant, by: z.string() }),
  z.object({ what: z.enum(['held', 'returned']), at: instant, balance_after: z.int() }),
  /** The receiver's bank has sent the money back, or a part of it. */
  z.object({
    what: z.literal('sent_back'),
    ...{ at: instant, amount: z.int(), balance_after: z.int() },
  }),
  z.object({ what: z.literal('asked_again'), at: z.null(), times: z.int() }),
  z.object({
    what: z.literal('rejected'),
    ...{ at: instant, reason: z.string(), ...RejectionFields.shape },
  }),
  z.object({
    what: z.literal('call'),
    at: instant,
    operation: z.string(),
    /** Null while in progress, or if the end of the call was never recorded. */
    outcome: z.enum(['ok', 'rejected', 'retryable', 'unknown']).nullable(),
    /** State that the bank reported; null if it does not have the order. */
    said: z.enum(['taken', 'done', 'refused']).nullable(),
    /** Why the bank rejected the call. Its own text is for staff. */
    rejection_code,
    /** Number of consecutive equal calls; the last call was at `last_at`. */
    times: z.int(),
    last_at: instant,
  }),
  attemptStep,
])
export type WithdrawalStep = z.infer<typeof withdrawalStep>

const WithdrawalTimelineData = z.object({
  withdrawal: WithdrawalDetail,
  /** The key as the bank's directory stores it. */
  dict_key: z.string(),
  /** The receiver as the bank names it; null as long as it has not. */
  payee: z
    .object({ name: z.string(), masked_doc: z.string().nullable(), bank: z.string().nullable() })
    .nullable(),
  steps: z.array(withdrawalStep),
  has_receipt: z.boolean(),
  /** Set while the withdrawal waits for approval. */
  approval: z
    .object({ requester: z.string().nullable(), expires_at: instant, can_approve: z.boolean() })
    .nullable(),
})
export type WithdrawalTimelineData = z.infer<typeof WithdrawalTimelineData>
export const WithdrawalTimelineRead = z.object({ data: WithdrawalTimelineData })

const WaitingWithdrawal = z.object({
  id: z.uuid(),
  amount: z.int(),
  pix_key_type: z.enum(PIX_KEY_TYPES),
  dict_key: z.string(),
  reason: ApprovalReason,
  /** Member who answers for the request; null: a token of the operator. */
  requester: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
  can_approve: z.boolean(),
})
export type WaitingWithdrawal = z.infer<typeof WaitingWithdrawal>
export const WaitingList = z.object({ data: z.array(WaitingWithdrawal) })
