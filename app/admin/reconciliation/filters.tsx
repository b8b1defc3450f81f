'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useConnectionName, useKindName } from '#app/admin/reconciliation/names.ts'
import { ExportButton } from '#components/filters/export-button.tsx'
import { ChoiceFilter } from '#components/filters/filters.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import {
  DIFFERENCE_AGES,
  DIFFERENCE_STATES,
  type DifferenceLine,
} from '#lib/operator/differences/schema.ts'

interface DifferenceFiltersProps {
  connections: DifferenceLine['connection'][]
  kinds: string[]
}

export function DifferenceFilters({ connections, kinds }: DifferenceFiltersProps) {
  const t = useTranslations('differences')
  const kindName = useKindName()
  const connectionName = useConnectionName()
  const { get, set } = useFilters()
  const state = get('state') || 'open'
  const choices = {
    kind: kinds.map(value => ({ value, label: kindName(value) })),
    connection: connections.map(({ id, name }) => ({ value: id, label: connectionName(name) })),
    age: DIFFERENCE_AGES.map(value => ({ value, label: t(`age.${value}`) })),
  }
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <ChoiceFilter
        label={t('filter.state')}
        value={state === 'all' ? '' : state}
        choices={DIFFERENCE_STATES.map(value => ({ value, label: t(`state.${value}`) }))}
        onChoose={value => set({ state: value || 'all' })}
      />
      {(['kind', 'connection', 'age'] as const).map(name => (
        <ChoiceFilter
          key={name}
          label={t(`filter.${name}`)}
          value={get(name)}
          choices={choices[name]}
          onChoose={value => set({ [name]: value })}
        />
      ))}
    </div>
  )
}

export function ExportDifferences({ filters }: { filters: Record<string, string> }) {
  const t = useTranslations('differences')
  const locale = useLocale()
  return (
    <ExportButton
      path={`/admin/differences/export?${new URLSearchParams({ locale, ...filters })}`}
      labels={{
        save: t('export'),
        stop: t('stop'),
        broken: t('exportBroken'),
        saving: rows => t('exporting', { rows }),
        saved: rows => t('exported', { rows }),
      }}
    />
  )
}
