'use client'

import { Check, type LucideIcon, TimerOff, X } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useEffect, useRef } from 'react'
import type { Outcome, PayableReading } from '#app/[mode]/bank/confirm-payment.tsx'
import { moneyText } from '#components/format/format.tsx'
import { Button, buttonClass } from '#components/ui/button.tsx'

const OUTCOME_STYLES: Record<Outcome, { tone: string; icon: LucideIcon }> = {
  paid: { tone: 'bg-ok-soft text-ok', icon: Check },
  failed: { tone: 'bg-bad-soft text-bad', icon: X },
  expired: { tone: 'bg-off-soft text-off', icon: TimerOff },
}

interface PaymentOutcomeProps {
  charge: PayableReading['charge']
  outcome: Outcome
  restart: () => void
}

export function PaymentOutcome({ charge, outcome, restart }: PaymentOutcomeProps) {
  const t = useTranslations('bank')
  const locale = useLocale()
  const title = useRef<HTMLHeadingElement>(null)
  // The pressed button is gone: focusing the title makes screen readers announce the outcome.
  useEffect(() => title.current?.focus(), [])
  const { tone, icon: Icon } = OUTCOME_STYLES[outcome]
  const values = { amount: moneyText(charge.amount, locale) }
  return (
    <div className="text-center">
      <span className={`inline-flex size-14 items-center justify-center rounded-full ${tone}`}>
        <Icon size={28} aria-hidden />
      </span>
      <h2 ref={title} tabIndex={-1} className="mt-4 text-[22px] leading-tight outline-none">
        {t(`done.${outcome}`)}
      </h2>
      <p className="mx-auto mt-2 mb-6 max-w-[40ch] text-muted">{t(`after.${outcome}`, values)}</p>
      <div className="grid gap-3">
        <Link
          href={`/test/charges/${charge.id}`}
          prefetch={false}
          className={buttonClass('primary')}
        >
          {t('seeCharge')}
        </Link>
        <Link
          href={`/test/webhooks?reference=${encodeURIComponent(charge.external_id)}`}
          prefetch={false}
          className={buttonClass('quiet')}
        >
          {t('seeEvents')}
        </Link>
        <Button variant="plain" className="justify-center" onClick={restart}>
          {t('another')}
        </Button>
      </div>
    </div>
  )
}
