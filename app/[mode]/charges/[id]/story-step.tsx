'use client'

import {
  ArrowDownLeft,
  Check,
  Clock,
  Eye,
  Landmark,
  type LucideIcon,
  Plus,
  Send,
  TimerOff,
  Undo2,
  Webhook,
  X,
} from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ExactTime } from '#components/format/exact-time.tsx'
import { moneyText } from '#components/format/format.tsx'
import { useDeliveryProblem, useRejection } from '#components/status/problem-text.ts'
import type { Tone } from '#components/ui/chip.tsx'
import { Step } from '#components/ui/timeline.tsx'
import type { ChargeStep } from '#lib/views/dashboard/schema.ts'

interface Said {
  tone: Tone
  icon: LucideIcon
  title: string
  more?: ReactNode
}

interface StoryStepProps {
  step: ChargeStep
  created: string
}

export function StoryStep({ step, created }: StoryStepProps) {
  const t = useTranslations('chargeTimeline')
  const say = useWords(created)
  const { tone, icon, title, more } = say(step)
  const aside = step.at === null ? t('now') : <ExactTime at={step.at} look="millisecond" />
  return (
    <Step tone={tone} icon={icon} title={title} aside={aside}>
      {more}
    </Step>
  )
}

function useWords(created: string): (step: ChargeStep) => Said {
  const t = useTranslations('chargeTimeline')
  const locale = useLocale()
  const took = useDuration()
  const problem = useDeliveryProblem()
  const rejection = useRejection()
  const money = (amount: number) => moneyText(Math.abs(amount), locale)
  return step => {
    switch (step.what) {
      case 'created': {
        const more = step.ip ? t('from', { ip: step.ip }) : null
        return { tone: 'ok', icon: Plus, title: t('created'), more }
      }
      case 'viewed':
        return { tone: 'ok', icon: Eye, title: t('viewed') }
      case 'expired':
        return { tone: 'off', icon: TimerOff, title: t('expired') }
      case 'failed':
        return { tone: 'bad', icon: X, title: t('failed') }
      case 'paid': {
        const more = (
          <>
            {took(created, step.at)} · <span className="break-all">{step.end_to_end_id}</span>
          </>
        )
        return { tone: 'ok', icon: Check, title: t('paid'), more }
      }
      case 'entry': {
        const isIn = step.amount > 0
        return {
          tone: isIn ? 'ok' : 'off',
          icon: isIn ? ArrowDownLeft : Landmark,
          title: t(`entry.${step.kind}`, { amount: money(step.amount) }),
          more: t('balance', { amount: money(step.balance_after) }),
        }
      }
      case 'told': {
        const isThere = step.problem === null
        const status = step.response_status ? t('status', { status: step.response_status }) : null
        const words = [
          t('try', { host: step.host, number: step.number }),
          status ?? problem.brief(step),
          t('duration', { ms: step.duration_ms }),
        ]
        return {
          tone: isThere ? 'ok' : 'bad',
          icon: Webhook,
          title: isThere ? t('delivered') : t('undelivered'),
          more: words.filter(Boolean).join(' · '),
        }
      }
      case 'refund': {
        const looks = {
          pending: { tone: 'wait', icon: Undo2 },
          completed: { tone: 'ok', icon: Check },
          rejected: { tone: 'bad', icon: X },
        } as const
        const title = t(`refund.${step.status}`, { amount: money(step.amount) })
        return { ...looks[step.status], title, more: rejection(step) ?? step.reason }
      }
      case 'next_try':
        return {
          tone: 'wait',
          icon: step.at ? Clock : Send,
          title: step.at ? t('nextTry') : t('trying'),
          more: t('try', { host: step.host, number: step.number }),
        }
    }
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

function useDuration(): (from: string, to: string) => string {
  const t = useTranslations('chargeTimeline')
  return (from, to) => {
    const ms = Math.max(0, Date.parse(to) - Date.parse(from))
    if (ms < MINUTE_MS) return t('tookSeconds', { count: Math.floor(ms / 1_000) })
    if (ms < HOUR_MS) return t('tookMinutes', { count: Math.floor(ms / MINUTE_MS) })
    if (ms < DAY_MS) return t('tookHours', { count: Math.floor(ms / HOUR_MS) })
    return t('tookDays', { count: Math.floor(ms / DAY_MS) })
  }
}
