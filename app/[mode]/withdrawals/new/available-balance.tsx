import { CircleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { HeroMoney, Money } from '#components/format/format.tsx'
import { Notice } from '#components/ui/sheet.tsx'

interface AvailableBalanceProps {
  balance: number
  /** Amount to withdraw; null if the input is invalid. */
  amount: number | null
}

export function AvailableBalance({ balance, amount }: AvailableBalanceProps) {
  const t = useTranslations('withdrawalRequest')
  const remaining = balance - (amount ?? 0)
  return (
    <aside
      aria-label={t('available')}
      className="xl:rounded-sheet xl:border xl:border-line xl:bg-surface xl:px-7 xl:py-7 xl:shadow-sheet"
    >
      <p className="text-muted text-small">{t('available')}</p>
      <p className="mt-2 text-[34px] leading-none">
        <HeroMoney cents={balance} testId="balance" />
      </p>
      <div className="mt-3 min-h-[46px] text-small xl:mt-5">
        {remaining < 0 ? (
          <Notice tone="wait" icon={CircleAlert} role="status">
            {t.rich('tooMuch', { amount: () => <Money cents={-remaining} /> })}
          </Notice>
        ) : (
          <p className="text-muted">
            {amount === null || amount === 0
              ? t('nothingYet')
              : t.rich('remains', { amount: () => <Money cents={remaining} /> })}
          </p>
        )}
      </div>
    </aside>
  )
}
