'use client'

import { useLocale, useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { FilterChip } from '#components/filters/filter-chip.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { MenuChoice } from '#components/ui/menu.tsx'
import { dateFormat } from '#lib/base/formatters.ts'
import { PERIODS } from '#lib/views/dashboard/schema.ts'

interface PeriodFilterProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
}

/** Filters by days in the merchant's time zone. */
export function PeriodFilter({ get, set }: PeriodFilterProps) {
  const t = useTranslations('period')
  const [isChoosing, setChoosing] = useState(false)
  const period = PERIODS.find(known => known === get('period'))
  const range = useRangeText(get('from'), get('to'))
  const clear = () => set({ period: null, from: null, to: null })
  const choices = PERIODS.map(value => ({ value, label: t(value) }))
  function choose(value: string) {
    if (value === 'custom') setChoosing(true)
    else if (value === '') clear()
    else set({ period: value, from: null, to: null })
  }
  const text = period === undefined ? null : period === 'custom' ? range : t(period)
  return (
    <>
      <FilterChip label={t('label')} value={text} onClear={clear} anyLabel={t('all')}>
        <MenuChoice
          value={period ?? ''}
          choices={[{ value: '', label: t('all') }, ...choices]}
          onChoose={choose}
        />
      </FilterChip>
      <Dialog isOpen={isChoosing} onClose={() => setChoosing(false)} title={t('custom')}>
        <DayRangeForm
          from={get('from')}
          to={get('to')}
          onChoose={(from, to) => {
            setChoosing(false)
            set({ period: 'custom', from, to })
          }}
        />
      </Dialog>
    </>
  )
}

interface DayRangeFormProps {
  from: string
  to: string
  onChoose: (from: string, to: string) => void
}

export function DayRangeForm({ from, to, onChoose }: DayRangeFormProps) {
  const t = useTranslations()
  const [start, setStart] = useState(from)
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    onChoose(String(data.get('from')), String(data.get('to')))
  }
  return (
    <form onSubmit={submit} className="grid gap-5">
      <div className="grid grid-cols-2 gap-4">
        <Field
          label={t('period.from')}
          name="from"
          type="date"
          required
          defaultValue={from}
          onChange={event => setStart(event.currentTarget.value)}
        />
        <Field
          label={t('period.to')}
          name="to"
          type="date"
          required
          min={start}
          defaultValue={to}
        />
      </div>
      <Button variant="primary" type="submit">
        {t('ui.apply')}
      </Button>
    </form>
  )
}

function useRangeText(from: string, to: string): string {
  const t = useTranslations('period')
  const locale = useLocale()
  const formatDay = (day: string) => {
    const date = new Date(`${day}T00:00:00Z`)
    if (Number.isNaN(date.getTime())) return '…'
    return dateFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(date)
  }
  return t('range', { from: formatDay(from), to: formatDay(to) })
}
