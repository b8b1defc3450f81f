import { useTranslations } from 'next-intl'
import { problemKind } from '#app/[mode]/webhooks/problem-kind.ts'
import { useDurations } from '#components/format/duration.ts'

interface Answered {
  status: number | null
  problem: string | null
}

/** What a try brought: its status, or why there was none, and how long that took. */
export function useAnswerText() {
  const t = useTranslations('deliveryProblem')
  const { took } = useDurations()
  const brief = ({ status, problem }: Answered) =>
    status === null ? t(`${problemKind(problem ?? '')}.brief`, { status: '' }) : `${status}`
  return {
    brief,
    withTime: (answered: Answered, ms: number | null) =>
      ms === null ? '—' : `${brief(answered)} · ${took(ms)}`,
    /** What it means for whoever runs the receiver; null after a success. */
    meaning: ({ status, problem }: Answered) =>
      problem === null ? null : t(`${problemKind(problem)}.meaning`, { status: status ?? '' }),
  }
}
