export const TRIAL_STATUSES = ['opening', 'open', 'paid', 'passed', 'failed'] as const
export type TrialStatus = (typeof TRIAL_STATUSES)[number]

/**
 * What a trial proves, in order. code: the bank makes one. payment: the bank names it when asked. notice: the
 * bank announced it. list: the bank's list has it. refund: it went back. payout: a cent reached the key.
 */
export const TRIAL_STEPS = ['code', 'payment', 'notice', 'list', 'refund', 'payout'] as const
export type TrialStep = (typeof TRIAL_STEPS)[number]

/** upcoming: another step comes first. skipped: this connection does not do it. */
export const STEP_STATES = ['upcoming', 'waiting', 'done', 'failed', 'skipped'] as const
export type StepState = (typeof STEP_STATES)[number]

/**
 * Why a step is as it is. refused, blocked: by the bank. no_code: it did not answer for an hour. not_paid: in
 * time. other_amount: paid with another one. not_noticed, not_listed: not within ten minutes of the payment.
 * not_sent: the bank took no order for an hour. sent_before: an earlier trial has paid the key.
 */
export const STEP_CODES = [
  ...(['refused', 'blocked', 'no_code', 'not_paid', 'other_amount'] as const),
  ...(['not_noticed', 'not_listed', 'not_sent', 'sent_before', 'no_payouts'] as const),
] as const
export type StepCode = (typeof STEP_CODES)[number]

export interface StepView {
  step: TrialStep
  state: StepState
  code: StepCode | null
  /** Why the bank refused it. */
  text: string | null
}

/** What the row of a trial says about its steps. */
export interface TrialFacts {
  status: TrialStatus
  hasCode: boolean
  failure: StepCode | null
  isPaid: boolean
  isNoticed: boolean
  isListed: boolean
  refundStatus: OrderStatus | null
  refundRejection: string | null
  hasKey: boolean
  payoutStatus: OrderStatus | null
  payoutRejection: string | null
  /** An earlier try has paid the key. */
  isPaidBefore: boolean
}

type OrderStatus = 'pending' | 'completed' | 'rejected'

/** Failures before there was a code to pay. */
const CODE_FAILURES: readonly (StepCode | null)[] = ['refused', 'blocked', 'no_code']

type Outcome = [StepState, (StepCode | null)?, string?]

export function stepsOf(facts: TrialFacts): StepView[] {
  const outcomes: Record<TrialStep, Outcome> = {
    code: codeStep(facts),
    payment: paymentStep(facts),
    notice: sightStep(facts, facts.isNoticed, 'not_noticed'),
    list: sightStep(facts, facts.isListed, 'not_listed'),
    refund: orderStep(facts, facts.refundStatus, facts.refundRejection),
    payout: payoutStep(facts),
  }
  return TRIAL_STEPS.map(step => {
    const [state, code = null, text = null] = outcomes[step]
    return { step, state, code, text }
  })
}

function isOver({ status }: TrialFacts): boolean {
  return status === 'passed' || status === 'failed'
}

function codeStep({ hasCode, isPaid, failure }: TrialFacts): Outcome {
  if (hasCode || isPaid) return ['done']
  return CODE_FAILURES.includes(failure) ? ['failed', failure] : ['waiting']
}

function paymentStep({ isPaid, failure, hasCode }: TrialFacts): Outcome {
  if (isPaid) return ['done']
  if (failure) return CODE_FAILURES.includes(failure) ? ['skipped'] : ['failed', failure]
  return [hasCode ? 'waiting' : 'upcoming']
}

function sightStep(facts: TrialFacts, isSeen: boolean, code: StepCode): Outcome {
  if (isSeen) return ['done']
  if (!facts.isPaid) return [isOver(facts) ? 'skipped' : 'upcoming']
  return isOver(facts) ? ['failed', code] : ['waiting']
}

function orderStep(
  facts: TrialFacts,
  status: OrderStatus | null,
  rejection: string | null,
): Outcome {
  if (status === 'completed') return ['done']
  if (rejection === 'not_sent') return ['failed', rejection]
  if (rejection !== null) return ['failed', 'refused', rejection]
  if (!facts.isPaid) return [isOver(facts) ? 'skipped' : 'upcoming']
  return ['waiting']
}

function payoutStep(facts: TrialFacts): Outcome {
  const { hasKey, isPaidBefore, payoutStatus, payoutRejection } = facts
  if (!hasKey) return ['skipped', 'no_payouts']
  if (isPaidBefore) return ['done', 'sent_before']
  return orderStep(facts, payoutStatus, payoutRejection)
}
