'use client'

import { Clock } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { ChargeTimelineStep } from '#app/[mode]/charges/[id]/timeline-step.tsx'
import { Timeline, TimelineStep } from '#components/ui/details.tsx'
import { Sheet } from '#components/ui/sheet.tsx'

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
