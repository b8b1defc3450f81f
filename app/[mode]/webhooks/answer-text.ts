import { useDurations } from '#components/format/duration.ts'
import { useDeliveryProblem } from '#components/status/problem-text.ts'
import type { Attempt } from '#lib/services/webhooks/schema.ts'

type Answered = Pick<Attempt, 'response_status' | 'problem_code' | 'problem_params'>

/** What an attempt brought: its status, or why there was none, and how long that took. */
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
    /** What it means for whoever runs the receiver; null after a success. */
    meaning: problem.meaning,
  }
}
