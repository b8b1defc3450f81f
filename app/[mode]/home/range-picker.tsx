import { ChevronDown } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Menu } from '#components/ui/menu.tsx'
import { MONTH } from '#lib/dashboard/schema.ts'

const PeriodDialog = dynamic(() =>
  import('#components/filters/period-dialogs.tsx').then(module => module.PeriodDialog),
)

const DAYS = ['7d', '30d', '90d'] as const
const OTHERS = ['this_month', 'last_month', 'month', 'custom'] as const

const SEGMENT_CLASS =
  'inline-flex h-8 flex-1 items-center justify-center gap-1 whitespace-nowrap rounded-[8px] px-3 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:bg-surface aria-pressed:font-semibold aria-pressed:text-ink aria-pressed:shadow-[0_1px_2px_var(--lift)] md:h-[30px]'

interface RangePickerProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
}

export function RangePicker({ get, set }: RangePickerProps) {
  const t = useTranslations()
  const [dialog, setDialog] = useState<'month' | 'custom' | null>(null)
  const period = MONTH.test(get('period')) ? 'month' : get('period')
  const other = OTHERS.find(known => known === period)
  const days = other ? null : (DAYS.find(known => known === period) ?? '30d')
  const choose = (value: string) => {
    if (value === 'month' || value === 'custom') setDialog(value)
    else set({ period: value, from: null, to: null })
  }
  return (
    <fieldset className="flex shrink-0 rounded-control bg-sunk p-[3px]">
      <legend className="sr-only">{t('chart.range')}</legend>
      {DAYS.map(value => (
        <button
          key={value}
          type="button"
          aria-pressed={value === days}
          aria-label={t(`chart.long.${value}`)}
          onClick={() => choose(value)}
          className={SEGMENT_CLASS}
        >
          {t(`chart.${value}`)}
        </button>
      ))}
      <Menu
        value={other ?? ''}
        choices={OTHERS.map(value => ({ value, label: t(`period.${value}`) }))}
        onChoose={choose}
        trigger={
          <button type="button" aria-pressed={other !== undefined} className={SEGMENT_CLASS}>
            {t('chart.other')}
            <ChevronDown size={14} aria-hidden />
          </button>
        }
      />
      {dialog ? (
        <PeriodDialog what={dialog} get={get} set={set} onClose={() => setDialog(null)} />
      ) : null}
    </fieldset>
  )
}
