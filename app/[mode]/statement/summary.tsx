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
    <Sheet className="mb-6 px-4 py-4 lg:px-[18px] lg:py-5">
      <dl
        aria-label={t('summary')}
        className="flex flex-wrap gap-4 xl:grid xl:grid-cols-[1fr_1fr_1fr_auto] xl:items-end"
      >
        <Sum name={t('opening')} className="max-xl:basis-full">
          <Money cents={opening} />
        </Sum>
        {children}
        <div className="max-xl:order-first max-xl:basis-full xl:border-line xl:border-l xl:pl-8">
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
    <div className={`grow basis-2/5 ${className}`}>
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
