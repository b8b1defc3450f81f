'use client'

import { Check, Clock, Send, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAttemptText } from '#app/[mode]/webhooks/attempt-text.ts'
import { useDurations, useSecondsTo } from '#components/format/duration.ts'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Timeline, TimelineStep } from '#components/ui/timeline.tsx'
import type { DeliveryDetail } from '#lib/webhooks/schema.ts'

interface AttemptTimelineProps {
  delivery: DeliveryDetail
  shownNumber: number | null
  onChoose: (number: number) => void
}

export function AttemptTimeline({ delivery, shownNumber, onChoose }: AttemptTimelineProps) {
  const t = useTranslations('deliveries')
  const { brief } = useAttemptText()
  const { callDuration } = useDurations()
  const { attempts, is_under_way, next_attempt_at: nextAttemptAt, later_pauses_s } = delivery
  const number = attempts.length + 1
  return (
    <section className="mt-5">
      <h3 className="mb-3.5 font-semibold text-small">{t('attempts')}</h3>
      <Timeline label={t('attempts')}>
        {attempts.map(attempt => {
          const { problem } = attempt
          return (
            <TimelineStep
              key={attempt.number}
              tone={problem === null ? 'ok' : 'off'}
              icon={problem === null ? Check : X}
              aside={attempt.number}
              title={
                <button
                  type="button"
                  aria-pressed={attempt.number === shownNumber}
                  onClick={() => onChoose(attempt.number)}
                  className="min-h-6 text-left hover:underline aria-pressed:text-accent"
                >
                  {brief(attempt)}
                </button>
              }
            >
              <ExactTime at={attempt.at} format="second" /> · {callDuration(attempt.duration_ms)}
            </TimelineStep>
          )
        })}
        {is_under_way ? (
          <TimelineStep tone="wait" icon={Send} title={t('status.sending')} aside={number} />
        ) : nextAttemptAt ? (
          <NextAttemptStep at={nextAttemptAt} number={number} laterPausesS={later_pauses_s} />
        ) : null}
      </Timeline>
    </section>
  )
}

interface NextAttemptStepProps {
  at: string
  number: number
  laterPausesS: number[]
}

function NextAttemptStep({ at, number, laterPausesS }: NextAttemptStepProps) {
  const t = useTranslations('deliveries')
  const { remaining, delay } = useDurations()
  const seconds = useSecondsTo(at)
  const pauses = laterPausesS.map(delay).join(', ')
  return (
    <TimelineStep
      tone="wait"
      icon={Clock}
      aside={number}
      title={seconds > 0 ? t('nextAttemptIn', { time: remaining(seconds) }) : t('nextAttemptNow')}
    >
      {pauses ? t('thenAfter', { pauses }) : t('lastAttempt')}
    </TimelineStep>
  )
}
