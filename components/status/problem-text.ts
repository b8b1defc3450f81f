import { useTranslations } from 'next-intl'
import type { RejectionFields } from '#lib/dashboard/schema.ts'
import type { Attempt } from '#lib/webhooks/schema.ts'

type AttemptProblem = Pick<Attempt, 'problem_code' | 'problem_params'>

/** Translates why a webhook attempt failed, in brief and in full; null after a success. */
export function useDeliveryProblem() {
  const t = useTranslations('deliveryProblem')
  return {
    brief: ({ problem_code: code, problem_params: params }: AttemptProblem) =>
      code && t(`${code}.brief`, params ?? {}),
    meaning: ({ problem_code: code, problem_params: params }: AttemptProblem) =>
      code && t(`${code}.meaning`, params ?? {}),
  }
}

/** Translates why the bank rejected a withdrawal or a refund; null if it was not rejected. */
export function useRejectionText() {
  const t = useTranslations('rejection')
  return ({ rejection_code: code, rejection_params: params }: RejectionFields) =>
    code && t(`${code}`, params ?? {})
}
