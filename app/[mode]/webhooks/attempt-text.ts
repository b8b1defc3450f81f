import { useDurations } from '#components/format/duration.ts'
import { useDeliveryProblem } from '#components/status/problem-text.ts'
import type { Attempt } from '#lib/webhooks/schema.ts'

type AttemptResult = Pick<Attempt, 'response_status' | 'problem_code' | 'problem_params'>

export function useAttemptText() {
  const problem = useDeliveryProblem()
  const { callDuration } = useDurations()
  const brief = (attempt: AttemptResult) =>
    attempt.response_status === null ? (problem.brief(attempt) ?? '') : `${attempt.response_status}`
  return {
    brief,
    withTime: (attempt: AttemptResult, ms: number | null) =>
      ms === null ? '—' : `${brief(attempt)} · ${callDuration(ms)}`,
    /** Explains a failure to the operator of the receiver; null after a success. */
    meaning: problem.meaning,
  }
}
