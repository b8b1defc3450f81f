'use client'

import { useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { MonthForm } from '#components/filters/month-form.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'

interface PeriodDialogProps {
  what: 'month' | 'custom'
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
  onClose: () => void
}

/** Asks for a month or for two days. */
export function PeriodDialog({ what, get, set, onClose }: PeriodDialogProps) {
  const t = useTranslations('period')
  const choose = (period: string, from: string | null, to: string | null) => {
    onClose()
    set({ period, from, to })
  }
  return (
    <Dialog isOpen onClose={onClose} title={t(what)}>
      {what === 'month' ? (
        <MonthForm chosen={get('period')} onChoose={month => choose(month, null, null)} />
      ) : (
        <DayRangeForm
          from={get('from')}
          to={get('to')}
          onChoose={(from, to) => choose('custom', from, to)}
        />
      )}
    </Dialog>
  )
}

interface DayRangeFormProps {
  from: string
  to: string
  onChoose: (from: string, to: string) => void
}

function DayRangeForm({ from, to, onChoose }: DayRangeFormProps) {
  const t = useTranslations()
  const [start, setStart] = useState(from)
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    onChoose(String(data.get('from')), String(data.get('to')))
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-5">
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
