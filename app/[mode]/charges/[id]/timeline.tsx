'use client'

import {
  ArrowDownLeft,
  Ban,
  Check,
  CircleAlert,
  Clock,
  Eye,
  Landmark,
  type LucideIcon,
  Plus,
  Send,
  ShieldAlert,
  TimerOff,
  Undo2,
  Webhook,
  X,
} from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useDeliveryProblem, useRejectionText } from '#components/api/problem.tsx'
import { ExactTime, moneyText } from '#components/format/format.tsx'
import type { Tone } from '#components/ui/chip.tsx'
import { Timeline, TimelineStep } from '#components/ui/details.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ChargeStep, ChargeTimelineData } from '#lib/dashboard/schema.ts'

export function ChargeTimeline() {
  const t = useTranslations()
  const { charge, steps } = useLiveCharge().timeline
  const hasDeliveries = steps.some(({ what }) => what === 'told' || what === 'next_try')
  return (
    <Sheet className="px-5 py-5 md:px-6 md:py-6">
      <div className="mb-4 flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 className="text-title">{t('charge.timeline')}</h2>
        {hasDeliveries ? (
          <Link
            href={`/${charge.mode}/webhooks?reference=${charge.id}`}
            prefetch={false}
            className="font-medium text-accent text-small hover:underline"
          >
            {t('chargeTimeline.deliveries')}
          </Link>
        ) : null}
      </div>
      <Timeline label={t('charge.timeline')} hasDates>
        {steps.map((step, index) => (
          <ChargeTimelineStep
            // biome-ignore lint/suspicious/noArrayIndexKey: steps have no id and are only appended
            key={`${step.what} ${step.at} ${index}`}
            step={step}
            charge={charge}
          />
        ))}
        {charge.status === 'pending' ? <AwaitingPayment webhookUrl={charge.webhook_url} /> : null}
      </Timeline>
    </Sheet>
  )
}

function AwaitingPayment({ webhookUrl }: { webhookUrl: string | null }) {
  const t = useTranslations('chargeTimeline')
  return (
    <TimelineStep tone="wait" icon={Clock} title={t('waiting')} aside={t('now')}>
      {webhookUrl ? t('tells', { host: URL.parse(webhookUrl)?.host ?? webhookUrl }) : null}
    </TimelineStep>
  )
}

type Charge = ChargeTimelineData['charge']

interface StepText {
  tone: Tone
  icon: LucideIcon
  title: string
  detail?: ReactNode
}

interface ChargeTimelineStepProps {
  step: ChargeStep
  charge: Charge
}

function ChargeTimelineStep({ step, charge }: ChargeTimelineStepProps) {
  const t = useTranslations('chargeTimeline')
  const stepText = useStepText(charge)
  const { tone, icon, title, detail } = stepText(step)
  const aside = step.at === null ? t('now') : <ExactTime at={step.at} format="millisecond" />
  return (
    <TimelineStep tone={tone} icon={icon} title={title} aside={aside}>
      {detail}
    </TimelineStep>
  )
}

function useStepText(charge: Charge): (step: ChargeStep) => StepText {
  const t = useTranslations('chargeTimeline')
  const locale = useLocale()
  const durationText = useDurationText()
  const problem = useDeliveryProblem()
  const rejectionText = useRejectionText()
  const money = (amount: number) => moneyText(Math.abs(amount), locale)
  const natureText = (nature: string | null) => {
    if (nature?.startsWith('MED')) return t('forDispute')
    return nature === 'ORIGINAL' ? t('atBank') : nature
  }
  return step => {
    switch (step.what) {
      case 'created': {
        const detail = step.ip ? t('from', { ip: step.ip }) : null
        return { tone: 'ok', icon: Plus, title: t('created'), detail }
      }
      case 'viewed':
        return { tone: 'ok', icon: Eye, title: t('viewed') }
      case 'expired':
        return charge.cancelled_at
          ? { tone: 'off', icon: Ban, title: t('cancelled') }
          : { tone: 'off', icon: TimerOff, title: t('expired') }
      case 'failed':
        return { tone: 'bad', icon: X, title: t('failed') }
      case 'paid': {
        const detail = (
          <>
            {durationText(charge.created_at, step.at)} ·{' '}
            <span className="break-all">{step.end_to_end_id}</span>
          </>
        )
        return { tone: 'ok', icon: Check, title: t('paid'), detail }
      }
      case 'entry': {
        const isCredit = step.amount > 0
        return {
          tone: isCredit ? 'ok' : 'off',
          icon: isCredit ? ArrowDownLeft : Landmark,
          title: t(`entry.${step.kind}`, { amount: money(step.amount) }),
          detail: t('balance', { amount: money(step.balance_after) }),
        }
      }
      case 'told': {
        const isDelivered = step.problem === null
        const status = step.response_status ? t('status', { status: step.response_status }) : null
        const parts = [
          t('try', { host: step.host, number: step.number }),
          status ?? problem.brief(step),
          t('duration', { ms: step.duration_ms }),
        ]
        return {
          tone: isDelivered ? 'ok' : 'bad',
          icon: Webhook,
          title: isDelivered ? t('delivered') : t('undelivered'),
          detail: parts.filter(Boolean).join(' · '),
        }
      }
      case 'refund': {
        const styles = {
          pending: { tone: 'wait', icon: Undo2 },
          completed: { tone: 'ok', icon: Check },
          rejected: { tone: 'bad', icon: X },
        } as const
        const title = t(`refund.${step.status}`, { amount: money(step.amount) })
        return { ...styles[step.status], title, detail: rejectionText(step) ?? step.reason }
      }
      case 'dispute': {
        const styles = {
          open: { tone: 'wait', icon: ShieldAlert },
          won: { tone: 'ok', icon: Check },
          lost: { tone: 'bad', icon: X },
        } as const
        const title = t(`dispute.${step.status}`, { amount: money(step.amount) })
        return { ...styles[step.status], title }
      }
      case 'returned': {
        const title = t('returned', { amount: money(step.amount) })
        return { tone: 'bad', icon: Undo2, title, detail: natureText(step.nature) }
      }
      case 'mismatch': {
        const styles = {
          open: { tone: 'bad', icon: CircleAlert },
          returning: { tone: 'wait', icon: Undo2 },
          returned: { tone: 'off', icon: Undo2 },
          credited: { tone: 'ok', icon: Check },
          kept: { tone: 'off', icon: Check },
        } as const
        const amounts = { paid: money(step.amount), amount: money(charge.amount) }
        const title = t('mismatch.title', amounts)
        return { ...styles[step.state], title, detail: t(`mismatch.${step.state}`) }
      }
      case 'next_try':
        return {
          tone: 'wait',
          icon: step.at ? Clock : Send,
          title: step.at ? t('nextTry') : t('trying'),
          detail: t('try', { host: step.host, number: step.number }),
        }
    }
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

function useDurationText(): (from: string, to: string) => string {
  const t = useTranslations('chargeTimeline')
  return (from, to) => {
    const ms = Math.max(0, Date.parse(to) - Date.parse(from))
    if (ms < MINUTE_MS) return t('tookSeconds', { count: Math.floor(ms / 1_000) })
    if (ms < HOUR_MS) return t('tookMinutes', { count: Math.floor(ms / MINUTE_MS) })
    if (ms < DAY_MS) return t('tookHours', { count: Math.floor(ms / HOUR_MS) })
    return t('tookDays', { count: Math.floor(ms / DAY_MS) })
  }
}
