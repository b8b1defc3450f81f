'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { Money, moneyText } from '#components/format/format.tsx'
import { Deadline, DisputeState, stateOf } from '#components/status/dispute-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'

type Dispute = ChargeTimelineData['disputes'][number]

export function Disputes() {
  const t = useTranslations('disputes')
  const { charge, disputes } = useLiveCharge().timeline
  if (disputes.length === 0) return null
  return (
    <Sheet className="px-5 py-5 md:px-6">
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 className="text-title">{t('title')}</h2>
        <Link
          href={`/${charge.mode}/disputes`}
          prefetch={false}
          className="font-medium text-accent text-small hover:underline"
        >
          {t('all')}
        </Link>
      </div>
      <ul>
        {disputes.map(dispute => (
          <li
            key={dispute.id}
            className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 border-line py-2.5 not-first:border-t last:pb-0"
          >
            <span className="font-semibold">
              <Money cents={dispute.amount} />
            </span>
            <DisputeState dispute={dispute} />
            <DisputeNext dispute={dispute} />
          </li>
        ))}
      </ul>
    </Sheet>
  )
}

/** What the merchant can do about the dispute, or how it ended. */
function DisputeNext({ dispute }: { dispute: Dispute }) {
  const t = useTranslations('disputes')
  const locale = useLocale()
  const { amount, lost_amount: lost } = dispute
  const state = stateOf(dispute)
  return (
    <div className="col-span-2 text-small">
      {state === 'open' ? (
        <p>
          <span className="text-muted">{t('deadline')}: </span>
          <Deadline dispute={dispute} />
        </p>
      ) : null}
      <p className="text-muted">
        {t(`next.${state}`, { amount: moneyText(lost ?? amount, locale) })}
      </p>
    </div>
  )
}
