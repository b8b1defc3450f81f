import { useTranslations } from 'next-intl'
import { HeroMoney, Money } from '#components/format.tsx'

interface BalanceProps {
  available: number
  outbound: number
}

/** The hero of the page: what can be withdrawn now, and beside it what is already on its way. */
export function Balance({ available, outbound }: BalanceProps) {
  const t = useTranslations('balance')
  return (
    <section
      aria-label={t('title')}
      className="rounded-sheet border-line md:grid md:grid-cols-[minmax(0,5fr)_minmax(0,4fr)] md:border md:bg-surface md:shadow-sheet"
    >
      <div className="md:px-7 md:py-7">
        <p className="text-muted text-small">{t('available')}</p>
        <p className="mt-2.5 text-[42px] leading-none md:text-[50px]">
          <HeroMoney cents={available} testId="balance" />
        </p>
        <p className="mt-2.5 text-muted text-small md:hidden">
          {outbound > 0
            ? t.rich('plusHeld', { amount: () => <Money cents={outbound} /> })
            : t('nothingHeld')}
        </p>
      </div>
      <div className="hidden border-line border-l px-7 py-7 md:block">
        <p className="text-muted text-small">{t('held')}</p>
        <p className="mt-2.5 text-[28px] leading-none">
          <HeroMoney cents={outbound} testId="held" />
        </p>
        <p className="mt-3 max-w-[42ch] text-muted text-small">
          {outbound > 0 ? t('heldWhy') : t('nothingHeld')}
        </p>
      </div>
    </section>
  )
}
