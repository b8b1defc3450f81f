import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'

const DayRangeDialog = dynamic(() =>
  import('#app/[mode]/home/day-range-dialog.tsx').then(module => module.DayRangeDialog),
)

const PERIODS = ['7d', '30d', '90d', 'custom'] as const

interface RangePickerProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
}

export function RangePicker({ get, set }: RangePickerProps) {
  const t = useTranslations('chart')
  const [isChoosing, setChoosing] = useState(false)
  const chosen = PERIODS.find(known => known === get('period')) ?? '30d'
  const choose = (period: (typeof PERIODS)[number]) =>
    period === 'custom' ? setChoosing(true) : set({ period, from: null, to: null })
  return (
    <fieldset className="flex shrink-0 rounded-control bg-sunk p-[3px]">
      <legend className="sr-only">{t('range')}</legend>
      {PERIODS.map(period => (
        <button
          key={period}
          type="button"
          aria-pressed={period === chosen}
          aria-label={period === 'custom' ? undefined : t(`long.${period}`)}
          onClick={() => choose(period)}
          className="h-8 flex-1 whitespace-nowrap rounded-[8px] px-3 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:bg-surface aria-pressed:font-semibold aria-pressed:text-ink aria-pressed:shadow-[0_1px_2px_var(--lift)] md:h-[30px]"
        >
          {t(period)}
        </button>
      ))}
      {isChoosing ? (
        <DayRangeDialog
          from={get('from')}
          to={get('to')}
          onClose={() => setChoosing(false)}
          onChoose={(from, to) => {
            setChoosing(false)
            set({ period: 'custom', from, to })
          }}
        />
      ) : null}
    </fieldset>
  )
}
