'use client'

import { useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { ChoiceFilter, ClearOnlyFilter } from '#components/filters/filter-chip.tsx'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import type { useFilters } from '#components/filters/use-filters.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { ACTION_GROUPS } from '#lib/audit/actions.ts'

const EXACT_FILTERS = {
  account: 'accountFilter',
  actor: 'personFilter',
  target: 'targetFilter',
} as const
type ExactFilter = keyof typeof EXACT_FILTERS

export const CLEARED_FILTERS = Object.fromEntries(
  [...Object.keys(EXACT_FILTERS), 'action', 'q', 'period', 'from', 'to'].map(name => [name, null]),
)

/** Groups of actions that only the operator's log contains. */
const STAFF_GROUPS = ['connection', 'demo', 'merchant', 'receipt_key', 'user']

interface FiltersProps extends Pick<ReturnType<typeof useFilters>, 'get' | 'set'> {
  isStaff: boolean
}

export function AuditFilters({ isStaff, get, set }: FiltersProps) {
  const t = useTranslations('audit')
  const translateGroup = useTranslations('auditGroup')
  const [isOpen, setOpen] = useState(false)
  const groups = ACTION_GROUPS.filter(group => isStaff || !STAFF_GROUPS.includes(group))
  const choices = groups
    .map(group => ({ value: `${group}.*`, label: groupLabel(translateGroup, group) }))
    .toSorted((one, other) => one.label.localeCompare(other.label))
  const activeExactFilters = (Object.keys(EXACT_FILTERS) as ExactFilter[]).filter(
    name => get(name) !== '',
  )
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchFilter label={t('search')} value={get('q')} onSearch={q => set({ q }, true)} />
      <PeriodFilter get={get} set={set} />
      <ChoiceFilter
        label={t('action')}
        anyLabel={t('every')}
        value={get('action')}
        choices={choices}
        onChoose={action => set({ action })}
      />
      {activeExactFilters.map(name => (
        <ClearOnlyFilter
          key={name}
          label={t(EXACT_FILTERS[name])}
          value={get(name)}
          onClear={() => set({ [name]: null })}
        />
      ))}
      <Button
        variant="plain"
        onClick={() => setOpen(true)}
        className="min-h-9 text-small max-md:-ml-2.5 md:-mr-2.5"
      >
        {t('more')}
      </Button>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t('more')}>
        <ExactForm
          names={isStaff ? ['actor', 'account', 'target'] : ['actor', 'target']}
          get={get}
          onApply={changes => {
            setOpen(false)
            set(changes)
          }}
        />
      </Dialog>
    </div>
  )
}

type GroupTranslator = ReturnType<typeof useTranslations<'auditGroup'>>

function groupLabel(t: GroupTranslator, group: (typeof ACTION_GROUPS)[number]): string {
  return t(group)
}

interface ExactFormProps {
  names: ExactFilter[]
  get: (name: string) => string
  onApply: (changes: Record<string, string | null>) => void
}

function ExactForm({ names, get, onApply }: ExactFormProps) {
  const t = useTranslations('audit')
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    onApply(Object.fromEntries(names.map(name => [name, String(data.get(name)).trim() || null])))
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-5">
      {names.map(name => (
        <Field
          key={name}
          label={t(EXACT_FILTERS[name])}
          name={name}
          maxLength={255}
          defaultValue={get(name)}
        />
      ))}
      <Button variant="primary" type="submit">
        {t('apply')}
      </Button>
    </form>
  )
}
