'use client'

import { Check, Clock, Send, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAnswerText } from '#app/[mode]/webhooks/answer-text.ts'
import { useDurations, useSecondsTo } from '#components/format/duration.ts'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Step, Timeline } from '#components/ui/timeline.tsx'
import type { DeliveryDetail } from '#lib/services/webhooks/schema.ts'

interface AttemptStepsProps {
  delivery: DeliveryDetail
  /** Number of the selected attempt. */
  shown: number | null
  onChoose: (number: number) => void
}

/** Past attempts in order, then those still planned. */
export function AttemptSteps({ delivery, shown, onChoose }: AttemptStepsProps) {
  const t = useTranslations('deliveries')
  const { brief } = useAnswerText()
  const { took } = useDurations()
  const { attempts, is_under_way, next_attempt_at: next, later_pauses_s } = delivery
  const number = attempts.length + 1
  return (
    <section className="mt-5">
      <h3 className="mb-3.5 font-semibold text-small">{t('attempts')}</h3>
      <Timeline label={t('attempts')}>
        {attempts.map(attempt => {
          const { problem } = attempt
          return (
            <Step
              key={attempt.number}
              tone={problem === null ? 'ok' : 'off'}
              icon={problem === null ? Check : X}
              aside={attempt.number}
              title={
                <button
                  type="button"
                  aria-pressed={attempt.number === shown}
                  onClick={() => onChoose(attempt.number)}
                  className="min-h-6 text-left hover:underline aria-pressed:text-accent"
                >
                  {brief(attempt)}
                </button>
              }
            >
              <ExactTime at={attempt.at} look="second" /> · {took(attempt.duration_ms)}
            </Step>
          )
        })}
        {is_under_way ? (
          <Step tone="wait" icon={Send} title={t('status.sending')} aside={number} />
        ) : next ? (
          <NextStep at={next} number={number} later={later_pauses_s} />
        ) : null}
      </Timeline>
    </section>
  )
}

interface NextStepProps {
  at: string
  number: number
  later: number[]
}

function NextStep({ at, number, later }: NextStepProps) {
  const t = useTranslations('deliveries')
  const { left, pause } = useDurations()
  const seconds = useSecondsTo(at)
  const pauses = later.map(pause).join(', ')
  return (
    <Step
      tone="wait"
      icon={Clock}
      aside={number}
      title={seconds > 0 ? t('nextAttemptIn', { time: left(seconds) }) : t('nextAttemptNow')}
    >
      {pauses ? t('thenAfter', { pauses }) : t('lastAttempt')}
    </Step>
  )
}
