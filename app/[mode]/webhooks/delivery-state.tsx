'use client'

import { Ban, Check, Clock, Hourglass, type LucideIcon, Pause, Send, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useDurations, useSecondsTo } from '#components/format/format.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { Delivery } from '#lib/webhooks/schema.ts'

const STATE_STYLES = {
  sending: { tone: 'wait', icon: Send },
  queued: { tone: 'wait', icon: Hourglass },
  paused: { tone: 'off', icon: Pause },
  delivered: { tone: 'ok', icon: Check },
  exhausted: { tone: 'bad', icon: X },
  stopped: { tone: 'off', icon: Ban },
} as const satisfies Record<string, { tone: Tone; icon: LucideIcon }>

type DeliveryProgress = Pick<
  Delivery,
  'status' | 'is_under_way' | 'attempt_count' | 'next_attempt_at'
>

export function DeliveryState({ delivery }: { delivery: DeliveryProgress }) {
  const t = useTranslations('deliveries')
  const { status, is_under_way, attempt_count, next_attempt_at } = delivery
  if (status === 'pending' && !is_under_way && attempt_count > 0 && next_attempt_at) {
    return <NextAttempt at={next_attempt_at} />
  }
  const state = status !== 'pending' ? status : is_under_way ? 'sending' : 'queued'
  return <Chip {...STATE_STYLES[state]}>{t(`status.${state}`)}</Chip>
}

function NextAttempt({ at }: { at: string }) {
  const t = useTranslations('deliveries')
  const { delay } = useDurations()
  const seconds = useSecondsTo(at)
  if (seconds <= 0) return <Chip {...STATE_STYLES.queued}>{t('status.queued')}</Chip>
  return (
    <Chip tone="wait" icon={Clock}>
      {t('nextIn', { time: delay(seconds) })}
    </Chip>
  )
}
