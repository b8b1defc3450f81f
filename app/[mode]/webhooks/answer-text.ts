import { useDurations } from '#components/format/duration.ts'
import { useDeliveryProblem } from '#components/status/problem-text.ts'
import type { Attempt } from '#lib/services/webhooks/schema.ts'

type Answered = Pick<Attempt, 'response_status' | 'problem_code' | 'problem_params'>

/** Describes the result of an attempt: its status or why it has none, and its duration. */
export function useAnswerText() {
  const problem = useDeliveryProblem()
  const { took } = useDurations()
  const brief = (answered: Answered) =>
    answered.response_status === null
      ? (problem.brief(answered) ?? '')
      : `${answered.response_status}`
  return {
    brief,
    withTime: (answered: Answered, ms: number | null) =>
      ms === null ? '—' : `${brief(answered)} · ${took(ms)}`,
    /** What the failure means for the operator of the receiver; null after a success. */
    meaning: problem.meaning,
  }
}
