import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { SignedMoney } from '#app/[mode]/statement/signed-money.tsx'
import { HeroMoney, Money } from '#components/format/format.tsx'
import { Sheet, Skeleton } from '#components/ui/sheet.tsx'

interface StatementSummaryProps {
  opening: number
  closing: number
  children: ReactNode
}

export function StatementSummary({ opening, closing, children }: StatementSummaryProps) {
  const t = useTranslations('statement')
  return (
    <Sheet className="mb-6 px-4 py-4 md:px-[18px] md:py-5">
      <dl
        aria-label={t('summary')}
        className="grid grid-cols-2 gap-x-4 gap-y-4 md:grid-cols-[1fr_1fr_1fr_auto] md:items-end"
      >
        <Sum name={t('opening')} className="max-md:col-span-2">
          <Money cents={opening} />
        </Sum>
        {children}
        <div className="max-md:order-first max-md:col-span-2 md:border-line md:border-l md:pl-8">
          <dt className="text-muted text-small">{t('closing')}</dt>
          <dd className="mt-1.5 text-[28px] leading-none">
            <HeroMoney cents={closing} testId="closing" />
          </dd>
        </div>
      </dl>
    </Sheet>
  )
}

interface SumProps {
  name: string
  className?: string
  children: ReactNode
}

function Sum({ name, className = '', children }: SumProps) {
  return (
    <div className={`min-w-0 ${className}`}>
      <dt className="text-muted text-small">{name}</dt>
      <dd className="mt-1 min-h-[26px] font-semibold text-[17px]">{children}</dd>
    </div>
  )
}

/** Sums of credits and debits; `totals` is null if reading them failed. */
export function CreditDebitTotals({ totals }: { totals: { in: number; out: number } | null }) {
  const t = useTranslations('statement')
  if (!totals) {
    return (
      <Sum name={`${t('in')} · ${t('out')}`}>
        <span className="font-medium text-bad text-small">{t('notAdded')}</span>
      </Sum>
    )
  }
  return (
    <>
      <Sum name={t('in')}>
        <SignedMoney cents={totals.in} />
      </Sum>
      <Sum name={t('out')}>
        <SignedMoney cents={-totals.out} />
      </Sum>
    </>
  )
}

export function CreditDebitTotalsLoading() {
  const t = useTranslations('statement')
  return (
    <>
      {[t('in'), t('out')].map(name => (
        <Sum key={name} name={name}>
          <span className="sr-only">{t('adding')}</span>
          <Skeleton className="h-[22px] w-28" />
        </Sum>
      ))}
    </>
  )
}
